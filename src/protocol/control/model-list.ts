/** The models and plans of the catalogue in force, as lists to choose from. */
import { Schema } from "effect"
import { Plan } from "../catalogue/plan.ts"
import { ModelKind, RealtimeApi } from "../kinds/call-kind.ts"
import { Currency } from "../usage.ts"

const named = {
  /** The name that clients use. */
  handle: Schema.String,
  kind: ModelKind,
  /** The API of its sessions, for models of the kind `realtime`. */
  realtimeApi: Schema.optionalKey(RealtimeApi),
}

export const AdminModels = Schema.Struct({
  data: Schema.Array(
    Schema.Struct({
      ...named,
      contextWindow: Schema.optionalKey(Schema.Finite),
      maxOutput: Schema.optionalKey(Schema.Finite),
      /** In the order of the catalogue; `model` is the vendor's own name. */
      targets: Schema.Array(Schema.Struct({ vendor: Schema.String, model: Schema.String })),
      /** The number of organisations that may call it. */
      organisations: Schema.Int,
    }),
  ),
}).annotate({ identifier: "AdminModels" })
export type AdminModels = typeof AdminModels.Type

export const AdminPlans = Schema.Struct({ data: Schema.Array(Plan) }).annotate({ identifier: "AdminPlans" })
export type AdminPlans = typeof AdminPlans.Type

export const OwnModels = Schema.Struct({
  /** The currency in which the organisation pays. */
  currency: Currency,
  data: Schema.Array(Schema.Struct(named)),
}).annotate({ identifier: "OwnModels" })
export type OwnModels = typeof OwnModels.Type
