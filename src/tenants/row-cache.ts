/**
 * Rows of the tenants that are active, in memory: read when they are needed, many with one query, bounded by bytes, and removed
 * when they change. While the database does not answer, the last known rows are used.
 */
import { Array as Arr, Clock, Effect, Exit, Request, RequestResolver, Semaphore } from "effect"
import { WeirConfig } from "../config.ts"
import { ChangeFeed } from "../store/change-feed.ts"
import { CallQueries } from "../store/connections.ts"
import { queryDeadline } from "../store/database.ts"
import type { StoreUnavailable } from "../store/unavailable.ts"
import { recordTenantRead } from "../telemetry/metrics.ts"
import { readRows, type Subject, type TenantRow } from "./rows.ts"

export interface RowCache {
  /** Undefined if there is no such row. At once if it is known. */
  readonly get: (subject: Subject) => Effect.Effect<TenantRow | undefined, StoreUnavailable>
  readonly size: () => { readonly rows: number; readonly absent: number; readonly bytes: number }
}

interface Read extends Request.Request<TenantRow | undefined, StoreUnavailable> {
  readonly _tag: "Read"
  readonly subject: Subject
}
const Read = Request.tagged<Read>("Read")

/** Keys a query: decoding their rows, and those of their applications and organisations, takes some milliseconds. */
const batch = 50
/** Queries at a time: a flood of unknown ids must leave connections to others. */
const queries = 2
/** The share of the bytes that ids that do not exist may take. */
const absentShare = 8
const absentBytes = 200

export const makeRowCache = Effect.gen(function* () {
  const { authStaleMs, tenantCacheBytes } = yield* WeirConfig
  const { sql } = yield* CallQueries
  const feed = yield* ChangeFeed
  const clock = yield* Clock.Clock
  const bounded = yield* queryDeadline
  const context = yield* Effect.context<never>()
  const limited = (yield* Semaphore.make(queries)).withPermits(1)

  const rows = new BoundedMap<TenantRow>(tenantCacheBytes)
  const absent = new BoundedMap<true>(tenantCacheBytes / absentShare)
  /** The changes during each query that is under way: its rows may be older. */
  const underWay = new Set<{ readonly changed: Set<string>; isAll: boolean }>()

  yield* feed.subscribe((subjects) => {
    if (subjects === "all") {
      rows.clear()
      absent.clear()
      for (const query of underWay) query.isAll = true
      return
    }
    for (const subject of subjects) {
      rows.delete(subject)
      absent.delete(subject)
      for (const query of underWay) query.changed.add(subject)
    }
  })

  const read = Effect.fnUntraced(function* (subjects: ReadonlyArray<Subject>) {
    const query = { changed: new Set<string>(), isAll: false }
    underWay.add(query)
    return yield* bounded(readRows(sql, subjects)).pipe(
      Effect.map((found) => {
        const answers = new Map<Subject, TenantRow>()
        const mayKeep = (subject: Subject) => !query.isAll && !query.changed.has(subject)
        for (const { subject, row, bytes } of found) {
          answers.set(subject, row)
          if (mayKeep(subject)) rows.set(subject, row, bytes)
        }
        for (const subject of subjects) {
          if (!answers.has(subject) && mayKeep(subject)) absent.set(subject, true, absentBytes + 2 * subject.length)
        }
        recordTenantRead(context, rows.bytes + absent.bytes)
        return answers
      }),
      Effect.ensuring(Effect.sync(() => underWay.delete(query))),
    )
  })

  const resolver = RequestResolver.make<Read>((entries) => {
    const subjects = Arr.dedupe(entries.map(({ request }) => request.subject))
    return Effect.map(Effect.exit(limited(read(subjects))), (answers) => {
      for (const entry of entries) entry.completeUnsafe(Exit.map(answers, (rows) => rows.get(entry.request.subject)))
    })
  }).pipe(RequestResolver.batchN(batch))

  const isCurrent = () => clock.currentTimeMillisUnsafe() - feed.checkedAtMs() <= Math.max(authStaleMs, freshMs)

  return {
    get: (subject) =>
      Effect.suspend(() => {
        if (isCurrent()) {
          const row = rows.get(subject)
          if (row !== undefined || absent.get(subject) === true) return Effect.succeed(row)
        }
        return Effect.request(Read({ subject }), resolver)
      }),
    size: () => ({ rows: rows.size, absent: absent.size, bytes: rows.bytes + absent.bytes }),
  } satisfies RowCache
})

/** The feed looks at least this often. */
const freshMs = 4000

/** The most recently used entries that fit. */
class BoundedMap<A> {
  readonly #entries = new Map<string, { readonly value: A; readonly bytes: number }>()
  readonly #most: number
  bytes = 0

  constructor(most: number) {
    this.#most = most
  }

  get size(): number {
    return this.#entries.size
  }

  get(key: string): A | undefined {
    const entry = this.#entries.get(key)
    if (entry === undefined) return undefined
    this.#entries.delete(key)
    this.#entries.set(key, entry)
    return entry.value
  }

  set(key: string, value: A, bytes: number): void {
    this.delete(key)
    this.#entries.set(key, { value, bytes })
    this.bytes += bytes
    for (const oldest of this.#entries.keys()) {
      if (this.bytes <= this.#most) break
      this.delete(oldest)
    }
  }

  delete(key: string): void {
    const entry = this.#entries.get(key)
    if (entry === undefined) return
    this.bytes -= entry.bytes
    this.#entries.delete(key)
  }

  clear(): void {
    this.#entries.clear()
    this.bytes = 0
  }
}
