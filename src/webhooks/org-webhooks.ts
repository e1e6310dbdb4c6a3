/** Webhooks that organisations set for themselves. Their secrets are sealed at rest, and shown once. */
import { randomBytes } from "node:crypto"
import { Context, Effect, Layer, Redacted } from "effect"
import { SqlClient } from "effect/sql"
import type { MadeWebhook, OwnWebhook, OwnWebhookTerms, RotationTerms } from "../protocol/control/webhook.ts"
import { type ServiceError, serviceError } from "../protocol/error.ts"
import type { Actor } from "../store/audit-log.ts"
import { queryDeadline } from "../store/database.ts"
import { Sealing } from "../store/seal.ts"
import { keepSealing } from "../store/seal-again.ts"
import type { StoreUnavailable } from "../store/unavailable.ts"
import { checkTarget, Egress } from "../upstream/egress.ts"
import { mintWebhookSecret } from "../upstream/webhook-signing.ts"

export interface OpenedWebhook {
  readonly url: string
  /** The secrets that sign, the former ones until their time is over. Empty if the master key that sealed the newest is gone. */
  readonly secrets: ReadonlyArray<Redacted.Redacted>
}

export class OrgWebhooks extends Context.Service<
  OrgWebhooks,
  {
    readonly list: (orgId?: string) => Effect.Effect<ReadonlyArray<OwnedWebhook>, StoreUnavailable>
    /** Its address must pass the egress guard, now and at every delivery. */
    readonly make: (
      orgId: string,
      terms: typeof OwnWebhookTerms.Type,
      by: Actor,
    ) => Effect.Effect<
      typeof MadeWebhook.Type,
      ServiceError<"egress_blocked" | "limit_exceeded" | "org_byok_not_available"> | StoreUnavailable
    >
    /** Replaces its secret; undefined if there is none. */
    readonly rotate: (
      orgId: string,
      id: string,
      terms: typeof RotationTerms.Type,
      by: Actor,
    ) => Effect.Effect<typeof MadeWebhook.Type | undefined, ServiceError<"org_byok_not_available"> | StoreUnavailable>
    /** Removes it with its deliveries; false if there is none. */
    readonly remove: (orgId: string, id: string, by: Actor) => Effect.Effect<boolean, StoreUnavailable>
    readonly open: (orgId: string, id: string) => Effect.Effect<OpenedWebhook | undefined, StoreUnavailable>
  }
>()("weir/webhooks/OrgWebhooks") {
  static readonly layer = Layer.effect(
    OrgWebhooks,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const egress = yield* Egress
      const bounded = yield* queryDeadline
      const { sealer, isDurable } = yield* Sealing

      yield* keepSealing<WebhookRow>("Sealing secrets of webhooks again", {
        read: (after, most) =>
          bounded(sql<WebhookRow>`
            select * from org_webhooks where (org_id, id) > (${after?.org_id ?? ""}, ${after?.id ?? ""})
            order by org_id, id limit ${most}::int`),
        sealedOf: ({ org_id, id, sealed_secret }) => ({ sealed: sealed_secret, context: contextOf(org_id, id) }),
        write: ({ org_id, id, sealed_secret }, sealed) =>
          bounded(sql`
            update org_webhooks set sealed_secret = ${sealed}
            where org_id = ${org_id} and id = ${id} and sealed_secret = ${sealed_secret}`),
      })

      yield* keepSealing<FormerSecretRow>("Sealing former secrets of webhooks again", {
        read: (after, most) =>
          bounded(sql<FormerSecretRow>`
            select * from org_webhook_former_secrets
            where (org_id, webhook, sealed_secret) >
              (${after?.org_id ?? ""}, ${after?.webhook ?? ""}, ${after?.sealed_secret ?? ""})
            order by org_id, webhook, sealed_secret limit ${most}::int`),
        sealedOf: ({ org_id, webhook, sealed_secret }) => ({
          sealed: sealed_secret,
          context: contextOf(org_id, webhook),
        }),
        write: ({ org_id, webhook, sealed_secret }, sealed) =>
          bounded(sql`
            update org_webhook_former_secrets set sealed_secret = ${sealed}
            where org_id = ${org_id} and webhook = ${webhook} and sealed_secret = ${sealed_secret}`),
      })

      const formerUntil = sql`(
        select max(f.valid_until) from org_webhook_former_secrets f
        where f.org_id = w.org_id and f.webhook = w.id and f.valid_until > now()) as former_until`

      return OrgWebhooks.of({
        list: (orgId) =>
          Effect.map(
            bounded(
              orgId === undefined
                ? sql<WebhookRow>`
                    select w.*, ${formerUntil} from org_webhooks w order by org_id, created_at, id limit ${mostListed}::int`
                : sql<WebhookRow>`
                    select w.*, ${formerUntil} from org_webhooks w where org_id = ${orgId} order by created_at, id`,
            ),
            (rows) => rows.map((row) => ({ owner: row.org_id, ...infoOf(row) })),
          ),
        make: Effect.fn("OrgWebhooks.make")(function* (orgId, { url, events }, by) {
          if (!isDurable) return yield* notAvailable
          yield* checkTarget(egress, withoutQuery(url))
          const id = `wh_${randomBytes(12).toString("hex")}`
          const secret = mintWebhookSecret()
          const [row] = yield* bounded(sql<WebhookRow>`
            select * from org_webhook_make(${orgId}, ${id}, ${url}, ${[...events]}::text[],
              ${sealer.seal(secret, contextOf(orgId, id))}, ${mostWebhooks}::int, ${by.type}, ${by.id})`)
          if (row === undefined) return yield* full
          return { ...infoOf(row), secret }
        }),
        rotate: Effect.fn("OrgWebhooks.rotate")(function* (orgId, id, { formerHours = usualFormerHours }, by) {
          if (!isDurable) return yield* notAvailable
          const secret = mintWebhookSecret()
          const [row] = yield* bounded(sql<ListedRow>`
            select * from org_webhook_rotate(${orgId}, ${id}, ${sealer.seal(secret, contextOf(orgId, id))},
              ${formerHours * hourMs}::double precision, ${mostFormerSecrets}::int, ${by.type}, ${by.id})`)
          return row === undefined ? undefined : { ...infoOf(row), secret }
        }),
        remove: (orgId, id, by) =>
          Effect.map(
            bounded(sql<{ removed: boolean }>`
              select org_webhook_remove(${orgId}, ${id}, ${by.type}, ${by.id}) as removed`),
            ([row]) => row?.removed === true,
          ),
        open: (orgId, id) =>
          Effect.map(
            bounded(sql<WebhookRow & { readonly former: ReadonlyArray<string> }>`
              select w.*, array(
                select f.sealed_secret from org_webhook_former_secrets f
                where f.org_id = w.org_id and f.webhook = w.id and f.valid_until > now()
                order by f.valid_until desc) as former
              from org_webhooks w where org_id = ${orgId} and id = ${id}`),
            ([row]) => {
              if (row === undefined) return undefined
              const opened = (sealed: string) => sealer.open(sealed, contextOf(orgId, id)) ?? []
              const newest = [opened(row.sealed_secret)].flat()
              const secrets = newest.length === 0 ? [] : [...newest, ...row.former.flatMap(opened)]
              return { url: row.url, secrets: secrets.map((secret) => Redacted.make(secret)) }
            },
          ),
      })
    }),
  )
}

export interface OwnedWebhook extends OwnWebhook {
  readonly owner: string
}

interface ListedRow {
  readonly id: string
  readonly url: string
  readonly events: OwnWebhook["events"]
  readonly created_at: Date
  /** The time until which a former secret signs too. */
  readonly former_until?: Date | null
}

interface WebhookRow extends ListedRow {
  readonly org_id: string
  readonly sealed_secret: string
}

interface FormerSecretRow {
  readonly org_id: string
  readonly webhook: string
  readonly sealed_secret: string
}

const mostWebhooks = 5
/** Former secrets that sign beside the newest: each is one more signature in a header. */
const mostFormerSecrets = 2
const usualFormerHours = 24
const hourMs = 3_600_000
/** The most webhooks of all organisations in one list. */
const mostListed = 1000

const full = serviceError("limit_exceeded", "An organisation may have 5 webhooks", { detail: { limit: mostWebhooks } })
const notAvailable = serviceError("org_byok_not_available", "Webhooks need a master key (SVC_MASTER_KEY)")

/** The sealing context: in another row, a secret cannot be opened. */
const contextOf = (orgId: string, id: string): string => JSON.stringify(["webhook", orgId, id])

/** The guard checks bases of addresses, which have no query; the part after the base may be a receiver's secret. */
export const withoutQuery = (url: string): string => url.replace(/\?[^#]*/, "")

const infoOf = ({ id, url, events, created_at, former_until }: ListedRow): OwnWebhook => ({
  id,
  url,
  events,
  createdAt: created_at.toISOString(),
  ...(former_until && { formerSecretUntil: former_until.toISOString() }),
})
