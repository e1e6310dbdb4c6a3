/**
 * Webhooks: events are moved from their shard to a list of deliveries, and sent from there, at least once, those of one
 * subject in their order. Any node does both; a delivery outlives every node.
 */
import { Cause, Clock, Context, Effect, Layer, Redacted, Semaphore } from "effect"
import { runEvery } from "../background.ts"
import { Catalogue } from "../catalogue/catalogue.ts"
import type { WebhookTarget } from "../catalogue/snapshot.ts"
import { WeirConfig } from "../config.ts"
import { isWebhookSecret, secretProblem, type WebhookEntry, type WebhookForm } from "../protocol/control/webhook.ts"
import type { StoreUnavailable } from "../store/unavailable.ts"
import { deliveryLagSeries, recordDelivery } from "../telemetry/metrics.ts"
import { fetchWhole, type UpstreamBroken, type UpstreamRequest, VendorClient } from "../upstream/client.ts"
import { type Answer, againAfter, answerOf, askedWaitMs, problemOf } from "./attempt.ts"
import { type Attempted, type DeliveryRow, DeliveryStore, type WebhookName } from "./delivery-store.ts"
import { forms } from "./forms/forms.ts"
import { pagerdutyUrl } from "./forms/pagerduty.ts"
import { OrgWebhooks, withoutQuery } from "./org-webhooks.ts"

/** The interval at which a node looks for new events, and for deliveries that are due. */
const lookEvery = "1 second"
/** Deliveries of one webhook that a node sends at once. */
const mostAtOnce = 16
/** Deliveries that a node sends at once, of all webhooks. */
const mostOfAll = 512
const replyMs = 15_000
const leaseMs = 2 * replyMs

/** The current address of a webhook's deliveries, or the reason why it has none. */
type Address = Pick<UpstreamRequest, "network" | "isGuarded"> & {
  readonly form: WebhookForm
  readonly url: string
  /** The secrets that sign; other forms have one, or none. */
  readonly secrets: ReadonlyArray<Redacted.Redacted>
}

/** The outcome of an attempt. */
interface Came extends Omit<Attempted, "againMs"> {
  /** The time that the receiver asks to wait. */
  readonly askedMs?: number
}

export class Webhooks extends Context.Service<
  Webhooks,
  {
    /** All known webhooks, with their pending deliveries. */
    readonly list: Effect.Effect<ReadonlyArray<WebhookEntry>, StoreUnavailable>
  }
>()("weir/webhooks/Webhooks") {
  static readonly layer = Layer.effect(
    Webhooks,
    Effect.gen(function* () {
      const catalogue = yield* Catalogue
      const store = yield* DeliveryStore
      const own = yield* OrgWebhooks
      const client = yield* VendorClient
      const { publicUrl, env } = yield* WeirConfig
      const source = publicUrl ?? `weir ${env}`
      const context = yield* Effect.context<never>()
      const scope = yield* Effect.scope
      /** Webhooks that this node sends to. */
      const busy = new Set<string>()
      const room = (yield* Semaphore.make(mostOfAll)).withPermits(1)

      const platform = () => catalogue.current().webhooks
      const platformTarget = (id: string) => platform().find((target) => target.id === id)

      const addressOf = ({
        owner,
        webhook,
      }: WebhookName): Effect.Effect<Address | string | undefined, StoreUnavailable> =>
        owner === ""
          ? Effect.sync(() => addressOfPlatform(platformTarget(webhook)))
          : Effect.map(own.open(owner, webhook), (found) => {
              if (found === undefined) return undefined
              const { url, secrets } = found
              return secrets.length === 0
                ? "its secret cannot be opened"
                : { form: "weir", url, secrets, isGuarded: true }
            })

      const attempt = Effect.fnUntraced(function* (row: DeliveryRow, address: Address | string) {
        if (typeof address === "string") return { outcome: "again", problem: address } as const
        const { form, secrets, url, ...way } = address
        const where = URL.parse(url)
        if (where === null || !/^https?:$/.test(where.protocol)) return { outcome: "again", problem: noUrl } as const
        const { requestOf, maxReplyBytes, judge } = forms[form]
        const seconds = Math.floor((yield* Clock.currentTimeMillis) / 1000)
        const request = {
          ...way,
          baseUrl: where.origin,
          path: where.pathname + where.search,
          ...requestOf(row, { secrets: secrets.map(Redacted.value), seconds, source }),
        }
        const answered: Effect.Effect<Answer & { readonly body?: string }, UpstreamBroken> =
          maxReplyBytes === 0 ? answerOf(client, request) : fetchWhole(client, request, maxReplyBytes)
        return yield* answered.pipe(
          Effect.timeout(replyMs),
          Effect.flatMap((answer) =>
            Effect.map(Clock.currentTimeMillis, (nowMs) => ({
              ...judge(answer.status, answer.body ?? ""),
              status: answer.status,
              askedMs: askedWaitMs(answer, row.gives_up_at, nowMs),
            })),
          ),
          Effect.catchTags({
            UpstreamBroken: (broken) => Effect.succeed({ outcome: "again" as const, problem: problemOf(broken) }),
            TimeoutError: () => Effect.succeed({ outcome: "again" as const, problem: "no answer in time" }),
          }),
        )
      })

      const deliver = Effect.fnUntraced(function* (row: DeliveryRow, address: Address | string) {
        const { askedMs = 0, ...came }: Came = yield* attempt(row, address)
        const againMs = Math.max(askedMs, againAfter(row.attempts, Math.random()))
        const state = yield* store.attempted(row, { ...came, againMs })
        if (state === undefined) return
        const label = row.owner === "" ? row.webhook : "organisation"
        recordDelivery(context, label, state === "pending" ? "again" : state)
        if (state === "failed") {
          const { webhook, owner, type, event_id: event } = row
          yield* Effect.logError("An event could not be delivered", { webhook, owner, type, event, ...came })
        }
      })

      /** Sends a webhook's deliveries, until none is due. */
      const sendTo = Effect.fnUntraced(function* (name: WebhookName) {
        while (true) {
          const address = yield* addressOf(name)
          if (address === undefined) return
          const rows = yield* store.take(name, mostAtOnce, leaseMs)
          if (rows.length === 0) return
          yield* Effect.forEach(rows, (row) => room(deliver(row, address)), {
            concurrency: mostAtOnce,
            discard: true,
          })
        }
      })

      /** A slow webhook delays only its own deliveries. */
      const start = (name: WebhookName) => {
        const key = `${name.owner} ${name.webhook}`
        if (busy.has(key)) return Effect.void
        busy.add(key)
        return sendTo(name).pipe(
          Effect.catchCause((cause) =>
            Cause.hasInterruptsOnly(cause) ? Effect.void : Effect.logWarning("Deliveries could not be sent", cause),
          ),
          Effect.ensuring(Effect.sync(() => busy.delete(key))),
          Effect.forkIn(scope),
        )
      }

      const send = Effect.gen(function* () {
        // A node that has an older catalogue does not know all webhooks.
        yield* store.fanOut(Effect.map(catalogue.refresh, platform))
        const due = yield* store.due(platform().map(({ id }) => id))
        yield* Effect.forEach(due, start, { discard: true })
      })

      const tellLags = yield* deliveryLagSeries
      const watch = Effect.map(store.counts, (counts) => {
        const known = new Map(platform().map(({ id }) => [id, 0]))
        let ofOrganisations = 0
        for (const { owner, webhook, age_s } of counts) {
          if (owner === "" && known.has(webhook)) known.set(webhook, age_s)
          if (owner !== "") ofOrganisations = Math.max(ofOrganisations, age_s)
        }
        tellLags([...known, ["organisation", ofOrganisations] as const].map(([webhook, age]) => [[webhook], age]))
      })

      yield* runEvery(lookEvery, "Webhooks", send)
      yield* runEvery("15 seconds", "Watching webhooks", watch)

      return Webhooks.of({
        list: Effect.gen(function* () {
          const counts = yield* store.counts
          const countOf = (owner: string, webhook: string) => {
            const found = counts.find((count) => count.owner === owner && count.webhook === webhook)
            return { pending: found?.pending ?? 0, failed: found?.failed ?? 0 }
          }
          const ofPlatform = platform().map((target): WebhookEntry => {
            const { id, form, url = pagerdutyUrl, events } = target
            const problem = addressOfPlatform(target)
            return { id, url, form, events, ...countOf("", id), ...(typeof problem === "string" && { problem }) }
          })
          const owned = (yield* own.list()).map(
            ({ owner, id, url, events }): WebhookEntry => ({
              id,
              owner,
              url: withoutQuery(url),
              form: "weir",
              events,
              ...countOf(owner, id),
            }),
          )
          return [...ofPlatform, ...owned]
        }),
      })
    }),
  )
}

const addressOfPlatform = (target: WebhookTarget | undefined): Address | string | undefined => {
  if (target === undefined) return undefined
  const { form, url, address, secret, formerSecret, network } = target
  if (network?.problem !== undefined) return network.problem
  if (url !== undefined && address === undefined) return "its address is not set here"
  const way = { form, url: address === undefined ? pagerdutyUrl : Redacted.value(address), network }
  if (form === "slack" || form === "teams") return { ...way, secrets: [] }
  if (secret === undefined) return "its secret is not set here"
  const problem = secretProblem(form, Redacted.value(secret))
  if (problem !== undefined) return problem
  const former = formerSecret !== undefined && isWebhookSecret(Redacted.value(formerSecret)) ? [formerSecret] : []
  return { ...way, secrets: [secret, ...former] }
}

const noUrl = "its address is no http(s) URL"
