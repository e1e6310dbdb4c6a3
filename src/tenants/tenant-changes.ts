/**
 * Changes of tenants: each is checked against the platform, written with an audit record, and in force here at once, on
 * other nodes within two seconds.
 */
import { Context, Effect, Layer, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { Catalogue } from "../catalogue/catalogue.ts"
import { BatchItem, type TenantBatchReply, TenantKind, TenantStatus } from "../protocol/control/tenants.ts"
import { ErrorCode, ErrorDetail, errorStatus, ServiceError, serviceError } from "../protocol/error.ts"
import { invalidInput } from "../protocol/json/issues.ts"
import { toStorable } from "../protocol/values/text.ts"
import { mintSecret } from "../secrets.ts"
import type { Actor } from "../store/audit-log.ts"
import { ChangeFeed } from "../store/change-feed.ts"
import { LongQueries } from "../store/connections.ts"
import { queryDeadline, withDeadline } from "../store/database.ts"
import type { StoreUnavailable } from "../store/unavailable.ts"
import { inTurns } from "./in-turns.ts"
import { problemsOf } from "./tenant-problems.ts"
import { Tenants } from "./tenants.ts"

/** A tenant as the database has it. */
export const StoredTenant = Schema.Struct({
  kind: TenantKind,
  id: Schema.String,
  document: Schema.JsonObject,
  declared: Schema.Boolean,
  status: TenantStatus,
  /** A person who has not accepted the organisation's invitation. */
  invited: Schema.optionalKey(Schema.Boolean),
  revision: Schema.String,
  createdAt: Schema.String,
  changedAt: Schema.String,
})
export type StoredTenant = typeof StoredTenant.Type

/** One change; items of a batch have this form. */
export type TenantChange = BatchItem & {
  /** The tenant must be this organisation's; others are not found. */
  readonly within?: string | undefined
}

export class TenantChanges extends Context.Service<
  TenantChanges,
  {
    readonly find: (kind: TenantKind, id: string) => Effect.Effect<StoredTenant | undefined, StoreUnavailable>
    /** Makes one change. Returns the tenant after it; a deleted one as it was. */
    readonly change: (
      change: TenantChange,
      actor: Actor,
    ) => Effect.Effect<StoredTenant, ServiceError | StoreUnavailable>
    /** Makes each of many changes, in their order; those that were refused before have their error. */
    readonly batch: (
      items: ReadonlyArray<BatchItem | ServiceError>,
      actor: Actor,
      /** The same payload again under the same key changes nothing, and returns the same. */
      idempotency: { readonly key: string; readonly payloadSha256: Buffer } | undefined,
    ) => Effect.Effect<TenantBatchReply, ServiceError<"idempotency_conflict"> | StoreUnavailable>
  }
>()("weir/tenants/TenantChanges") {
  static readonly layer = Layer.effect(
    TenantChanges,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const { sql: longSql } = yield* LongQueries
      const feed = yield* ChangeFeed
      const catalogue = yield* Catalogue
      const tenants = yield* Tenants
      const bounded = yield* queryDeadline

      /** The number of tenants of a kind that the plan of an organisation allows. */
      const mostOf = Effect.fnUntraced(function* (kind: TenantKind, orgId: string, made: ReadonlyMap<string, string>) {
        if (kind !== "user" && kind !== "app") return undefined
        const planId = made.get(orgId)
        const plan = planId === undefined ? (yield* tenants.org(orgId))?.plan : catalogue.current().plan(planId)
        return kind === "user" ? plan?.maxMembers : plan?.maxApps
      })

      /** The change that the database is asked to make, or the reason why it is not asked. */
      const planOf = Effect.fnUntraced(function* (
        change: TenantChange | ServiceError,
        made: Map<string, string>,
      ): Effect.fn.Return<PlannedChange, StoreUnavailable> {
        if (change instanceof ServiceError) return refused(change)
        const { op, kind } = change
        if (op === "delete") return change
        const problems = problemsOf(change.value, catalogue.current())
        if (problems.length > 0) {
          const issues = problems.map(({ path, message }) => ({ path: path.map(String).join("."), message }))
          return refused(invalidInput(issues))
        }
        if (op === "update") {
          const { status, ...patch } = sentOf(change)
          return { ...change, status: change.value.status, patch }
        }
        const { id = newId(kind), ...value } = change.value
        const org = "org" in value ? value.org : id
        if ("plan" in value && value.plan !== undefined) made.set(id, value.plan)
        // Organisations invite, and need the person's consent; operators do not.
        const invited = kind === "user" && change.within !== undefined
        const document = { ...sentOf(change), id }
        return { op, kind, id, org, document, invited, most: yield* mostOf(kind, org, made) }
      })

      const planned = (changes: ReadonlyArray<TenantChange | ServiceError>) => {
        /** Plans of the organisations that the same batch creates. */
        const made = new Map<string, string>()
        return inTurns(changes, (change) => planOf(change, made))
      }

      const write = (changes: ReadonlyArray<PlannedChange>, actor: Actor) =>
        Effect.map(
          bounded(sql<{ answers: unknown }>`
            select tenants_change(${JSON.stringify(changes)}::text::jsonb, ${actor.type}, ${actor.id}) as answers`),
          ([row]) => decodeAnswers(row?.answers),
        )

      const change = Effect.fnUntraced(function* (
        asked: TenantChange,
        actor: Actor,
      ): Effect.fn.Return<StoredTenant, ServiceError | StoreUnavailable> {
        const [answer] = yield* write(yield* planned([asked]), actor)
        yield* feed.catchUp
        if (answer === undefined) return yield* Effect.die("a change has no answer")
        return isDone(answer) ? answer.row : yield* errorOf(answer, asked.kind)
      })

      return TenantChanges.of({
        find: (kind, id) =>
          Effect.map(
            bounded(sql<{ row: unknown }>`
              select tenant_row(t) as row from tenants t where kind = ${kind} and id = ${id}`),
            ([found]) => found && decodeRow(found.row),
          ),
        change,
        batch: Effect.fn("TenantChanges.batch")(function* (items, actor, idempotency) {
          const changes = JSON.stringify(yield* planned(items))
          const [row] = yield* (
            idempotency === undefined
              ? longSql<{ answers: unknown }>`
                  select tenants_change(${changes}::text::jsonb, ${actor.type}, ${actor.id}) as answers`
              : longSql<{ answers: unknown }>`
                  select tenants_batch(${idempotency.key}, ${idempotency.payloadSha256}, ${changes}::text::jsonb, ${actor.type}, ${actor.id}) as answers`
          ).pipe(withDeadline(batchDeadline))
          if (row === undefined || row.answers === null) {
            return yield* serviceError("idempotency_conflict", "This key was used for another batch")
          }
          yield* feed.catchUp
          const data = yield* inTurns(decodeList(row.answers), (given, at) => {
            const item = items[at]
            return Effect.sync(() =>
              replyOf(decodeAnswer(given), item !== undefined && "kind" in item ? item.kind : "org"),
            )
          })
          return { data }
        }),
      })
    }),
  )
}

/** A batch of 1,000 writes an audit record for each. */
const batchDeadline = "30 seconds"

/** A change in the form that `tenant_change` takes, or the outcome of a change that was refused before. */
type PlannedChange =
  | {
      readonly op: BatchItem["op"]
      readonly kind: TenantKind
      readonly id: string
      readonly org?: string
      readonly document?: Schema.JsonObject
      /** A patch of the document; null removes a member. RFC 7396, one level deep. */
      readonly patch?: Schema.JsonObject
      readonly status?: string | undefined
      readonly revision?: string
      readonly most?: number | undefined
      readonly invited?: boolean
      readonly within?: string | undefined
    }
  | { readonly outcome: "refused"; readonly error: Refusal }

const Refusal = Schema.Struct({
  code: ErrorCode,
  message: Schema.String,
  detail: Schema.optionalKey(ErrorDetail),
})
type Refusal = typeof Refusal.Type
const decodeRefusal = Schema.decodeUnknownSync(Refusal)

const encodeItem = Schema.encodeSync(BatchItem)

/** The tenant of a change as it was sent: rows have that form, and not the values that it was decoded to. */
const sentOf = (change: BatchItem) => {
  const item = encodeItem(change)
  return "value" in item ? toJson(item.value) : {}
}

/** The database keeps refusals of batches: what they quote must be storable. */
const refused = ({ code, message, detail }: ServiceError): PlannedChange => {
  const error = { code, message, ...(detail !== undefined && { detail }) }
  const storable = (_: string, value: unknown) => (typeof value === "string" ? toStorable(value) : value)
  return { outcome: "refused", error: decodeRefusal(JSON.parse(JSON.stringify(error, storable))) }
}

const Done = Schema.Struct({ outcome: Schema.Literals(["created", "updated", "deleted"]), row: StoredTenant })
const Answer = Schema.Union([
  Done,
  Schema.Struct({ outcome: Schema.Literal("refused"), error: Refusal }),
  Schema.Struct({ outcome: Schema.Literal("stale"), row: StoredTenant }),
  Schema.Struct({
    outcome: Schema.Literals(["exists", "absent", "declared", "no_org", "no_member", "full", "last_owner"]),
  }),
])
type Answer = typeof Answer.Type
const decodeAnswer = Schema.decodeUnknownSync(Answer)
const decodeAnswers = Schema.decodeUnknownSync(Schema.Array(Answer))
const decodeList = Schema.decodeUnknownSync(Schema.Array(Schema.Unknown))
const decodeRow = Schema.decodeUnknownSync(StoredTenant)
const isDone = Schema.is(Done)

/** An item of a batch's reply. */
const replyOf = (answer: Answer, kind: TenantKind): TenantBatchReply["data"][number] => {
  if (isDone(answer)) return { status: 200, id: answer.row.id, revision: answer.row.revision }
  const { code, message, detail } = errorOf(answer, kind)
  return { status: errorStatus[code], error: { code, message, ...(detail !== undefined && { detail }) } }
}

const errorOf = (answer: Exclude<Answer, typeof Done.Type>, kind: TenantKind): ServiceError => {
  switch (answer.outcome) {
    case "refused":
      return new ServiceError(answer.error)
    case "stale":
      return serviceError("conflict", "Somebody else has changed it", { detail: { revision: answer.row.revision } })
    case "exists":
      return serviceError("conflict", kind === "user" ? "The person is a member already" : "This id already exists")
    case "absent":
      return serviceError("not_found", `The ${names[kind]} does not exist`)
    case "declared":
      return serviceError("conflict", "The catalogue file declares it; change it there")
    case "no_org":
      return serviceError("not_found", "The organisation does not exist")
    case "no_member":
      return serviceError("bad_request", "members: each must be a member of the organisation")
    case "full":
      return kind === "user"
        ? serviceError("plan_members_exceeded", "The plan allows no further members")
        : serviceError("plan_apps_exceeded", "The plan allows no further applications")
    case "last_owner":
      return serviceError("conflict", "The last owner cannot leave")
  }
}

const names: Readonly<Record<TenantKind, string>> = {
  org: "organisation",
  team: "team",
  user: "member",
  app: "application",
}

const newId = (kind: TenantKind): string => mintSecret(kind === "user" ? "mem" : kind).slice(0, 20)

const toJson = Schema.decodeUnknownSync(Schema.JsonObject)
