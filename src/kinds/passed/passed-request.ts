/** A request of a route that is passed through, and its reply. */
import { Schema } from "effect"
import type { CallRequest } from "../../calls/kind.ts"
import type { CallTarget } from "../../catalogue/snapshot.ts"
import type { IdSegment } from "../../pass-through/named-ids.ts"
import type { Route } from "../../pass-through/routes.ts"

export type PassedMethod = Route<unknown>["declared"]["methods"][number]

export interface PassedRequest extends CallRequest {
  readonly route: Route<CallTarget>
  readonly method: PassedMethod
  /** Below the vendor's base URL, with its query. */
  readonly path: string
  /** The headers that are passed on. */
  readonly headers: Readonly<Record<string, string>>
  readonly body: Uint8Array
  /** The value of a body in JSON. */
  readonly json: unknown
  /** The segments of its path that may be ids. */
  readonly ids: ReadonlyArray<IdSegment>
  /** Other texts of it that may be ids. */
  readonly named: ReadonlySet<string>
}

/** A reply that was read whole. */
export const PassedReply = Schema.Struct({ status: Schema.Int, contentType: Schema.String, body: Schema.String })
export type PassedReply = typeof PassedReply.Type
