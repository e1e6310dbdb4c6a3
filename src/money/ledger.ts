/**
 * The ledger: a hold is made before the vendor is called and is closed exactly once, by a settlement or a release.
 *
 * Money is moved to a node's allotment ahead of need, and holds are made against it in the node's memory: while the
 * allotment covers a hold, nothing waits for the database. Source: interface.md "Fail-closed billing", exchange rules
 * 1, 2 and 7.
 */
import { Clock, Context, Deferred, Effect, Exit, FiberSet, Layer, Queue, type Scope } from "effect"
import { WeirConfig } from "../config.ts"
import { type ServiceError, serviceError } from "../protocol/error.ts"
import { dayOf, nextDayMs } from "../protocol/utc8.ts"
import type { StoreUnavailable } from "../store/unavailable.ts"
import { recordHoldWait, recordLedgerEvent } from "../telemetry/metrics.ts"
import type { Allotment, Need } from "./allotments.ts"
import { type Amount, wholeAmount } from "./amount.ts"
import { layerPostgres } from "./ledger-postgres.ts"
import { type Granted, LedgerStore } from "./ledger-store.ts"
import { Node, Nodes } from "./node.ts"
import type { Counts } from "./pricing.ts"
import { makeRecalls, RecallChannel } from "./recalls.ts"
import type { HoldFacts, OpenHold, Settlement } from "./settlement.ts"

export interface HoldRequest {
  /** The gateway's own request id. */
  readonly ref: string
  readonly orgId: string
  readonly currency: string
  readonly keyId: string
  /** The caller's idempotency key, if there is one. */
  readonly requestId?: string | undefined
  /** Whether the request id cannot have been used before: then the books are not asked. */
  readonly isNewRequestId?: boolean | undefined
  readonly amount: Amount
  /** Tokens to reserve of the organisation's day, and the day's limit; undefined is unlimited. */
  readonly quota: { readonly tokens: number; readonly limit: number | undefined }
}

export interface Hold extends HoldFacts {
  /** What the organisation has, as last told to this node. */
  readonly balance: Amount
}

export type Checkpoint = Omit<OpenHold, "isFirst">

export type HoldError =
  | ServiceError<"insufficient_balance" | "idempotency_conflict" | "quota_exceeded">
  | StoreUnavailable

export class Ledger extends Context.Service<
  Ledger,
  {
    /** Reserves an amount; fails closed. Completes at once while this node's allotment covers it. */
    readonly hold: (request: HoldRequest) => Effect.Effect<Hold, HoldError>
    /**
     * Closes a hold at its cost, which may exceed the hold, and writes the usage record. Idempotent. Returns what the
     * organisation has: available and allotted, after this charge.
     */
    readonly settle: (settlement: Settlement) => Effect.Effect<Amount, StoreUnavailable>
    /** Closes a hold without a charge. Idempotent. */
    readonly release: (hold: HoldFacts) => Effect.Effect<void, StoreUnavailable>
    /** Writes what running exchanges would settle if this node died now. */
    readonly checkpoint: (checkpoints: ReadonlyArray<Checkpoint>) => Effect.Effect<void, StoreUnavailable>
    /** Renews this node's lease. */
    readonly renew: Effect.Effect<void, StoreUnavailable>
    /** Closes what dead nodes left, at its last checkpoint. Returns how many holds. */
    readonly reap: Effect.Effect<number, StoreUnavailable>
    /** Gives back what is at hand and not used; runs every second. */
    readonly returnIdle: Effect.Effect<void, StoreUnavailable>
    /** What this node has at hand and holds, by organisation and counter. */
    readonly allotments: Effect.Effect<ReadonlyArray<Pick<Allotment, "orgId" | "counter" | "free" | "held">>>
    readonly topup: LedgerStore["Service"]["topup"]
    readonly balance: LedgerStore["Service"]["balance"]
  }
>()("weir/money/Ledger") {
  /** The rules, over any {@link LedgerStore}. */
  static readonly layerRules = Layer.effect(
    Ledger,
    Effect.suspend(() => makeLedger),
  )

  static readonly layer = Ledger.layerRules.pipe(Layer.provide(Layer.mergeAll(layerPostgres, RecallChannel.layer)))
}

type Answer =
  | { readonly _tag: "Held"; readonly hold: Hold }
  | (Extract<Granted, { readonly _tag: "Short" }> & {
      /** Whether this node had some at hand, and gave it back. */
      readonly gaveBack: boolean
    })
  | Extract<Granted, { readonly _tag: "Lapsed" }>

/** A hold that has not ended. */
interface Running {
  readonly node: Node
  readonly needs: ReadonlyArray<Need>
  /** Whether an open hold may have been written, and whether it has. */
  mayBeOpen: boolean
  isWritten: boolean
  /** Whether it is not known what became of a first checkpoint: it may come late. */
  isUncertain: boolean
  /** A checkpoint that is under way. */
  writing: Deferred.Deferred<void> | undefined
  /** Whether it is being settled or released: no checkpoint may follow. */
  isEnding: boolean
}

const makeLedger = Effect.gen(function* () {
  const store = yield* LedgerStore
  const { leaseMs } = yield* WeirConfig
  const clock = yield* Clock.Clock
  const context = yield* Effect.context<never>()
  const nodes = new Nodes(store, leaseMs, clock)
  const running = new Map<string, Running>()
  /** Allotments with something at hand although there is too little for all. */
  const scarce = new Set<Allotment>()
  const wake = yield* Queue.sliding<void>(1)
  // At the end, refills that are under way finish first; then everything goes back.
  yield* Effect.addFinalizer(() =>
    Effect.catch(nodes.end, (cause) => Effect.logWarning("Allotments could not be given back; leases end them", cause)),
  )
  const refills = yield* FiberSet.make<void>()
  const runRefill = yield* FiberSet.runtime(refills)()
  yield* Effect.addFinalizer(() => FiberSet.awaitEmpty(refills))

  /** Gives back parts of allotments. If it is not known whether they came back, the node is left. */
  const giveBack = (node: Node, parts: ReadonlyArray<readonly [Allotment, Amount]>) => {
    if (parts.length === 0 || node.isLeft) return Effect.void
    for (const [allotment, amount] of parts) allotment.free -= amount
    const items = parts.map(([{ orgId, counter, free, held, isRefilling }, amount]) => {
      return { node: node.id, orgId, counter, amount, isLast: free === 0n && held === 0n && !isRefilling }
    })
    return Effect.uninterruptible(Effect.tapError(store.giveBack(items), () => Effect.sync(() => nodes.leave(node))))
  }

  const recalls = yield* makeRecalls(new Node(0).id, (orgId, counter) =>
    Effect.suspend(() => {
      const node = nodes.current(nodes.nowMs())
      const allotment = node?.allotments.find(orgId, counter)
      if (node === undefined || allotment === undefined) return Effect.succeed(false)
      recordLedgerEvent(context, "recalled")
      const giveFree = Effect.suspend(() => giveBack(node, allotment.free > 0n ? [[allotment, allotment.free]] : []))
      return Effect.as(Effect.ignore(Effect.andThen(refilled(allotment), giveFree)), true)
    }),
  )

  // What is at hand where money is scarce goes back at once; many in one statement.
  const returnScarce = Effect.suspend(() => {
    const node = nodes.current(nodes.nowMs())
    const parts = [...scarce].flatMap((each) => (each.isScarce && each.free > 0n ? [[each, each.free] as const] : []))
    scarce.clear()
    return node === undefined ? Effect.void : giveBack(node, parts)
  })
  yield* Effect.forkScoped(Effect.forever(Effect.andThen(Queue.take(wake), Effect.ignore(returnScarce))))

  const needsOf = ({ currency, amount, quota }: HoldRequest, day: string): ReadonlyArray<Need> => {
    const money = { counter: currency, amount }
    if (quota.limit === undefined) return [money]
    return [money, { counter: tokensOf(day), amount: wholeAmount(quota.tokens), limit: wholeAmount(quota.limit) }]
  }

  const begin = (request: HoldRequest, node: Node, needs: ReadonlyArray<Need>, day: string): Hold => {
    const { ref, orgId, currency, keyId, requestId, amount } = request
    node.holds++
    running.set(ref, {
      node,
      needs,
      mayBeOpen: false,
      isWritten: false,
      isUncertain: false,
      writing: undefined,
      isEnding: false,
    })
    const balance = node.allotments.find(orgId, currency)?.balance ?? 0n
    return { ref, orgId, currency, keyId, requestId, day, node: node.id, amount, balance }
  }

  /** Ends a hold in this node's memory, at what it cost and used. */
  const end = (hold: HoldFacts, cost: Amount, tokens: Amount) => {
    const ended = running.get(hold.ref)
    if (ended === undefined) return
    running.delete(hold.ref)
    const { node, needs } = ended
    node.holds--
    const nowMs = nodes.nowMs()
    for (const [counter, charge] of [
      [hold.currency, cost],
      [tokensOf(hold.day), tokens],
    ] as const) {
      const allotment = node.allotments.of(hold.orgId, counter, nowMs)
      allotment.end(needs.find((need) => need.counter === counter)?.amount ?? 0n, charge, nowMs)
      if (allotment.isScarce && allotment.free > 0n && !node.isLeft) {
        scarce.add(allotment)
        Queue.offerUnsafe(wake, undefined)
      }
    }
  }

  /** Moves money here before it is needed, so that holds need not wait. */
  const refill = (node: Node, { orgId, currency }: HoldRequest, { counter, limit }: Need, nowMs: number) => {
    const allotment = node.allotments.find(orgId, counter)
    if (allotment === undefined || allotment.isRefilling || allotment.isScarce) return undefined
    const chunk = allotment.chunk(nowMs)
    if (allotment.free >= chunk / 2n) return undefined
    allotment.isRefilling = true
    recordLedgerEvent(context, "refill")
    return store.allot({ node: node.id, orgId, currency, counters: [{ counter, need: 0n, want: chunk, limit }] }).pipe(
      Effect.tap((answer) =>
        Effect.sync(() => {
          if (answer._tag === "Granted") allotment.receive(answer, limit, 0n)
          if (answer._tag === "Lapsed") nodes.leave(node)
        }),
      ),
      Effect.tapError(() => Effect.sync(() => nodes.leave(node))),
      Effect.ensuring(
        Effect.sync(() => {
          allotment.isRefilling = false
        }),
      ),
      Effect.ignore,
    )
  }

  /** Asks the store for what is missing. */
  const ask = Effect.fnUntraced(function* (
    request: HoldRequest,
    needs: ReadonlyArray<Need>,
    day: string,
  ): Effect.fn.Return<Answer, StoreUnavailable> {
    const node = yield* nodes.enter
    const { orgId, currency } = request
    const held = (): Answer => ({ _tag: "Held", hold: begin(request, node, needs, day) })
    if (node.allotments.hold(orgId, needs, nodes.nowMs())) return held()
    const reservation = node.allotments.reserve(orgId, needs, nodes.nowMs())
    const granted = yield* Effect.onError(
      store.allot({ node: node.id, orgId, currency, counters: reservation.counters }),
      // It may have been granted all the same: the node is left, and all that it was given goes back.
      () =>
        Effect.sync(() => {
          reservation.undo(nodes.nowMs())
          nodes.leave(node)
        }),
    )
    if (granted._tag === "Granted") {
      reservation.grant(granted)
      return held()
    }
    reservation.undo(nodes.nowMs())
    if (granted._tag === "Lapsed") {
      nodes.leave(node)
      return granted
    }
    // What is at hand here is too little by itself: all parts must meet in the store.
    const allotment = node.allotments.of(orgId, granted.counter, nodes.nowMs())
    const { free } = allotment
    allotment.isScarce = true
    if (free > 0n) yield* giveBack(node, [[allotment, free]])
    return { ...granted, available: granted.available + free, gaveBack: free > 0n }
  })

  const holdSlowly = Effect.fnUntraced(function* (
    request: HoldRequest,
    needs: ReadonlyArray<Need>,
    day: string,
  ): Effect.fn.Return<Hold, HoldError> {
    const beganMs = nodes.nowMs()
    const { orgId, currency, quota } = request
    let answer = yield* ask(request, needs, day)
    if (answer._tag === "Lapsed") answer = yield* ask(request, needs, day)
    if (answer._tag === "Short") {
      if (answer.others > 0) {
        recordLedgerEvent(context, "recall")
        yield* recalls.recall(orgId, answer.counter, answer.others)
      }
      if (answer.others > 0 || answer.gaveBack) {
        answer = yield* ask(request, needs, day)
      } else {
        // Another hold of this node may have been granted more than it needed.
        const node = nodes.current(nodes.nowMs())
        if (node?.allotments.hold(orgId, needs, nodes.nowMs()) === true) return begin(request, node, needs, day)
      }
    }
    recordHoldWait(context, nodes.nowMs() - beganMs)
    if (answer._tag === "Held") return answer.hold
    if (answer._tag === "Short" && answer.counter !== currency) {
      const limit = quota.limit ?? 0
      const used = limit - Number(answer.available / wholeAmount(1))
      return yield* quotaExceeded(limit, used, clock.currentTimeMillisUnsafe())
    }
    return yield* serviceError("insufficient_balance", "The balance does not cover this request")
  })

  const hold = (request: HoldRequest): Effect.Effect<Hold, HoldError> =>
    Effect.suspend(() => {
      const day = dayOf(clock.currentTimeMillisUnsafe())
      const needs = needsOf(request, day)
      const reserve = Effect.suspend(() => {
        const nowMs = nodes.nowMs()
        const node = nodes.current(nowMs)
        if (node === undefined || !node.allotments.hold(request.orgId, needs, nowMs))
          return holdSlowly(request, needs, day)
        const held = begin(request, node, needs, day)
        for (const need of needs) {
          const refilling = refill(node, request, need, nowMs)
          if (refilling !== undefined) runRefill(refilling)
        }
        return Effect.succeed(held)
      })
      const { orgId, keyId, requestId, isNewRequestId } = request
      if (requestId === undefined || isNewRequestId === true) return reserve
      return Effect.andThen(
        Effect.flatMap(store.stateOf(orgId, keyId, requestId), (state) => {
          if (state === "billed") {
            return serviceError("idempotency_conflict", "This requestId has already been billed", {
              detail: { replayable: false },
            })
          }
          if (state === "running") {
            return serviceError("idempotency_conflict", "This requestId is held by another call", { retryAfterMs })
          }
          return Effect.void
        }),
        reserve,
      )
    })

  /** Before a hold is closed: no checkpoint of it may come later. */
  const noCheckpointFollows = Effect.fnUntraced(function* (
    hold: HoldFacts,
  ): Effect.fn.Return<boolean, StoreUnavailable> {
    const each = running.get(hold.ref)
    if (each === undefined) return true
    each.isEnding = true
    if (each.writing !== undefined) yield* Deferred.await(each.writing)
    if (each.isUncertain && hold.requestId === undefined) yield* store.forbidCheckpoint(hold)
    return each.mayBeOpen
  })

  const settle = Effect.fnUntraced(function* (settlement: Settlement): Effect.fn.Return<Amount, StoreUnavailable> {
    const { cost, record } = settlement
    const facts = settlement.hold.orgId === "" ? yield* store.find(settlement.hold.ref) : settlement.hold
    if (facts === undefined) return 0n
    const mayBeOpen = yield* noCheckpointFollows(facts)
    const { outcome, balance } = yield* store.settle({ ...settlement, hold: facts }, mayBeOpen)
    if (outcome === "duplicate") {
      recordLedgerEvent(context, "duplicate")
      yield* Effect.logError("A request id was spent by another exchange; this one is not billed", { ref: facts.ref })
    }
    const isBilled = outcome === "settled"
    end(facts, isBilled ? cost : 0n, isBilled ? tokensOfCounts(record.counts) : 0n)
    return balance
  })

  const release = Effect.fnUntraced(function* (facts: HoldFacts): Effect.fn.Return<void, StoreUnavailable> {
    if (!running.has(facts.ref)) return
    const mayBeOpen = yield* noCheckpointFollows(facts)
    if (mayBeOpen) yield* store.release(facts)
    end(facts, 0n, 0n)
  })

  const checkpoint = (checkpoints: ReadonlyArray<Checkpoint>) =>
    Effect.suspend(() => {
      const written = Deferred.makeUnsafe<void>()
      const open = checkpoints.flatMap((each) => {
        const state = running.get(each.hold.ref)
        return state === undefined || state.isEnding || state.writing !== undefined ? [] : [{ each, state }]
      })
      if (open.length === 0) return Effect.void
      const holds = open.map(({ each, state }) => ({ ...each, isFirst: !state.isWritten }))
      for (const { state } of open) {
        state.mayBeOpen = true
        state.writing = written
      }
      return Effect.onExit(Effect.uninterruptible(store.checkpoint(holds)), (exit) =>
        Effect.suspend(() => {
          for (const { state } of open) {
            state.isUncertain ||= Exit.isFailure(exit) && !state.isWritten
            state.isWritten ||= Exit.isSuccess(exit)
            state.writing = undefined
          }
          return Deferred.succeed(written, undefined)
        }),
      )
    })

  const returnIdle = Effect.suspend(() => {
    const nowMs = nodes.nowMs()
    const node = nodes.current(nowMs)
    if (node === undefined) return Effect.void
    const idle: Array<readonly [Allotment, Amount]> = []
    for (const allotment of node.allotments.all()) {
      const amount = allotment.isRefilling ? 0n : allotment.idle(nowMs)
      if (amount !== 0n) idle.push([allotment, amount])
      else if (allotment.isForgotten(nowMs)) node.allotments.forget(allotment)
    }
    return giveBack(node, idle)
  })

  return Ledger.of({
    hold,
    settle,
    release,
    checkpoint,
    renew: Effect.uninterruptible(nodes.renew),
    reap: Effect.uninterruptible(store.reap).pipe(
      Effect.tap((rows) =>
        rows.length === 0
          ? Effect.void
          : Effect.logWarning("Holds of lost exchanges were settled or released", { rows }),
      ),
      Effect.map((rows) => rows.length),
    ),
    returnIdle,
    allotments: Effect.sync(() => [...(nodes.current(nodes.nowMs())?.allotments.all() ?? [])]),
    topup: store.topup,
    balance: store.balance,
  })
}) satisfies Effect.Effect<Ledger["Service"], never, LedgerStore | RecallChannel | WeirConfig | Scope.Scope>

/** Waits until a grant that is under way has come: more may be at hand then. */
const refilled = (allotment: Allotment): Effect.Effect<void> =>
  Effect.suspend(() => (allotment.isRefilling ? Effect.delay(refilled(allotment), "5 millis") : Effect.void))

/** When a caller may retry with a request id that is in use. */
const retryAfterMs = 1000

const tokensOf = (day: string): string => `tokens:${day}`

const tokensOfCounts = ({ inTokens, outTokens, cacheReadTokens, cacheWriteTokens }: Counts): Amount =>
  wholeAmount(inTokens + outTokens + cacheReadTokens + cacheWriteTokens)

export const quotaExceeded = (limit: number, used: number, nowMs: number): ServiceError<"quota_exceeded"> => {
  const resetAtMs = nextDayMs(nowMs)
  return serviceError("quota_exceeded", "The daily token quota is used up", {
    detail: { limit, used, resetAt: new Date(resetAtMs).toISOString() },
    retryAfterMs: resetAtMs - nowMs,
  })
}
