/**
 * Cached content at vendors: it belongs to the subject that made it, and is charged for the time that it lived when it is removed
 * or its time is over.
 */
import { Clock, Context, Effect, Layer } from "effect"
import { runEvery } from "../background.ts"
import { makeEarlierTargets } from "../calls/vendor/earlier-target.ts"
import { CallDeadlines } from "../deadlines.ts"
import type { WireRequest } from "../dialects/wire.ts"
import type { Caller } from "../identity/caller.ts"
import { ownerOf } from "../kept-responses/kept-response.ts"
import { cacheKind, tokenHours } from "../kinds/cached-content/cached-content.ts"
import { formatAmount, parseAmount } from "../money/amount.ts"
import { type ServiceError, serviceError } from "../protocol/error.ts"
import type { CachedContent } from "../protocol/kinds/cached-content.ts"
import type { StoreUnavailable } from "../store/unavailable.ts"
import { fetchWhole, VendorClient } from "../upstream/client.ts"
import { type Job, JobStore } from "./job-store.ts"

/** The interval at which content is looked for whose time is over. */
const lookEvery = "5 seconds"
const mostAtOnce = 100
const replyMs = 20_000
const maxReplyBytes = 64 * 1024

const idForm = /^job_[\w-]{1,64}$/

export interface CachePage {
  readonly after: string | undefined
  readonly most: number
}

export class Caches extends Context.Service<
  Caches,
  {
    /** Content that the caller made and that is still kept. @error not_found */
    readonly find: (caller: Caller, id: string) => Effect.Effect<Job, ServiceError | StoreUnavailable>
    /** The newest first, and the id from which the next page goes on. */
    readonly list: (
      caller: Caller,
      page: CachePage,
    ) => Effect.Effect<{ readonly jobs: ReadonlyArray<Job>; readonly next: string | undefined }, StoreUnavailable>
    /** Ends it sooner. @error bad_request after the time for which money is held */
    readonly shorten: (job: Job, seconds: number) => Effect.Effect<void, ServiceError | StoreUnavailable>
    /** Removes it at its vendor, and charges the time that it lived. @error upstream_error if the vendor does not answer */
    readonly remove: (job: Job) => Effect.Effect<void, ServiceError | StoreUnavailable>
  }
>()("weir/jobs/Caches") {
  static readonly layer = Layer.effect(
    Caches,
    Effect.gen(function* () {
      const store = yield* JobStore
      const client = yield* VendorClient
      const deadlines = yield* CallDeadlines
      const targetOf = yield* makeEarlierTargets
      const clock = yield* Clock.Clock

      /** The status of the vendor's answer; undefined if there is none. */
      const ask = Effect.fnUntraced(function* (
        job: Job,
        wireOf: "remove" | number,
      ): Effect.fn.Return<number | undefined> {
        const found = yield* Effect.orElseSucceed(targetOf(job), () => undefined)
        const dialect = found?.target.dialect.cache
        if (found === undefined || dialect === undefined) return undefined
        const wire: WireRequest =
          wireOf === "remove" ? dialect.remove(job.vendorJob) : dialect.shorten(job.vendorJob, wireOf)
        const sent = Effect.flatMap(found.request(wire), (request) =>
          fetchWhole(client, request, maxReplyBytes, { deadlines, timeoutMs: replyMs }),
        )
        return yield* Effect.orElseSucceed(
          Effect.map(sent, ({ status }) => status),
          () => undefined,
        )
      })

      const end = (job: Job): Effect.Effect<boolean, StoreUnavailable> =>
        store.end(job, { state: "done", ...livedUntil(job, clock.currentTimeMillisUnsafe()) })

      const isMade = (caller: Caller, job: Job): boolean =>
        job.kind === cacheKind && job.view["owner"] === JSON.stringify(ownerOf(caller))
      const isKept = ({ endedAt, endsAt }: Job): boolean =>
        endedAt === undefined && endsAt.getTime() > clock.currentTimeMillisUnsafe()

      const look = Effect.flatMap(store.over(cacheKind, mostAtOnce), (jobs) =>
        Effect.forEach(jobs, end, { discard: true }),
      )
      yield* runEvery(lookEvery, "Caches", look)

      return Caches.of({
        find: Effect.fnUntraced(function* (caller, id) {
          const job = idForm.test(id) ? yield* store.find(caller.org.id, id) : undefined
          return job !== undefined && isMade(caller, job) && isKept(job) ? job : yield* unknownCache
        }),
        list: Effect.fnUntraced(function* (caller, { after, most }) {
          const asked = { kind: cacheKind, endUserId: caller.endUserId, isOldestFirst: false, most: mostAtOnce }
          const found: Array<Job> = []
          let last = after
          let isWhole = true
          while (isWhole && found.length <= most) {
            const page = yield* store.page(caller.org.id, { ...asked, after: last })
            found.push(...page.filter((job) => isMade(caller, job) && isKept(job)))
            last = page.at(-1)?.id
            isWhole = page.length === mostAtOnce
          }
          const jobs = found.slice(0, most)
          return { jobs, next: found.length > most ? jobs.at(-1)?.id : undefined }
        }),
        shorten: Effect.fnUntraced(function* (job, seconds) {
          const endsAtMs = clock.currentTimeMillisUnsafe() + seconds * 1000
          if (endsAtMs > job.endsAt.getTime()) return yield* tooLong
          const status = yield* ask(job, seconds)
          if (status !== 200) return yield* notReached
          yield* store.endsSooner(job, new Date(endsAtMs))
        }),
        remove: Effect.fnUntraced(function* (job) {
          // A vendor that has it still bills it.
          if (!gone.has((yield* ask(job, "remove")) ?? 0)) return yield* notReached
          yield* end(job)
        }),
      })
    }),
  )
}

/** Answers to a removal after which there is nothing: Gemini forbids content that it does not know. */
const gone: ReadonlySet<number> = new Set([200, 204, 403, 404])

const unknownCache = serviceError("not_found", "There is no such cached content")
const tooLong = serviceError("bad_request", "Cached content lives at most for the time of its creation: create another")
const notReached = serviceError("upstream_error", "The vendor could not be asked for it now")

const numberIn = (view: Job["view"], name: string): number => {
  const value = view[name]
  return typeof value === "number" ? value : 0
}

/** The cost of the time until a moment: that of writing, and a share of the hours. */
export const livedUntil = ({ held, view, createdAt, endsAt }: Job, nowMs: number) => {
  const seconds = Math.max(1, numberIn(view, "seconds"))
  const untilMs = Math.min(nowMs, endsAt.getTime())
  const livedS = Math.min(seconds, Math.max(0, Math.ceil((untilMs - createdAt.getTime()) / 1000)))
  const hours = parseAmount(String(view["hours"] ?? "0")) ?? 0n
  const unused = (hours * BigInt(seconds - livedS)) / BigInt(seconds)
  const cost = (parseAmount(held) ?? 0n) - unused
  return {
    cost: formatAmount(cost < 0n ? 0n : cost),
    dims: { cache_hours: tokenHours(numberIn(view, "tokens"), livedS) },
  }
}

/** The content as its owner sees it. */
export const cachedContentOf = ({ id, model, view, createdAt, endsAt }: Job): CachedContent => ({
  id,
  model,
  ...(typeof view["displayName"] === "string" && { displayName: view["displayName"] }),
  tokens: numberIn(view, "tokens"),
  createdAt: createdAt.toISOString(),
  expiresAt: endsAt.toISOString(),
})
