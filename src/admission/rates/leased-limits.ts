/** Rates and calls at a time that this node counts itself: the part of {@link RateShares} and {@link CallSlots} that asks Redis. */
import { randomUUID } from "node:crypto"
import { Clock, Effect, type Scope } from "effect"
import { forAll, runEvery } from "../../background.ts"
import { makeScript, Redis } from "../../store/redis.ts"
import type { StoreUnavailable } from "../../store/unavailable.ts"
import type { Admission, AdmissionError, AdmitRequest, Counted, Limited, TokensUsed } from "../gate.ts"
import { CallSlots } from "./call-slots.ts"
import { tokensToCorrect } from "./ended.ts"
import { type Correction, RateShares } from "./rate-shares.ts"
import { correctScript, holdCallsScript } from "./window-script.ts"

const correct = makeScript(correctScript)
const holdCalls = makeScript(holdCallsScript)

/** The lease of the calls that a node holds: after a crash, they count for so long. */
export const slotLeaseMs = 15_000
const renewSlotsEvery = "5 seconds"
const giveBackEvery = "100 millis"
/** Corrections that wait for a store that does not answer; beyond it, the oldest are lost, and less is admitted. */
const mostCorrections = 100_000

/** The part of a question to the gate's script that asks for rates and calls at a time. */
export interface LimitsAsk {
  readonly keys: ReadonlyArray<string>
  readonly rates: ReadonlyArray<ReadonlyArray<number>>
  readonly slots: ReadonlyArray<ReadonlyArray<number>>
  /** Reads the grants of an answer that admits. */
  readonly granted: (grants: ReadonlyArray<unknown>, holdsCalls: boolean) => Counted
  /** The call was refused, or there was no answer. */
  readonly refused: () => void
}

export interface LeasedLimits {
  readonly node: string
  /** Counts a call here, if this node may. */
  readonly take: (request: Limited) => Counted | undefined
  /** Takes back what was just taken here. */
  readonly undo: (request: Limited, counted: Counted) => void
  /** Leaves the calls at a time only: the rates stay counted. */
  readonly leave: (request: Limited, counted: Counted) => void
  readonly ask: (request: Limited) => LimitsAsk
  /**
   * Asks for a call that is not covered; if another question about the same limits is on its way, and its share is worth it, waits for
   * that.
   */
  readonly askOnce: (
    request: AdmitRequest,
    ask: Effect.Effect<Admission, AdmissionError>,
  ) => Effect.Effect<Admission, AdmissionError>
  readonly ended: (request: Limited, counted: Counted, used: TokensUsed) => void
}

export const makeLeasedLimits: Effect.Effect<LeasedLimits, never, Redis | Scope.Scope> = Effect.gen(function* () {
  const redis = yield* Redis
  const clock = yield* Clock.Clock
  const shares = new RateShares()
  const slots = new CallSlots()
  const node = randomUUID()
  /** Calls that wait for the answer to a question about the same windows. */
  const waiting = new Map<string, Array<() => void>>()
  let corrections: Array<Correction> = []
  /** A monotonic clock, so that no jump of the machine's clock makes a share last longer. */
  const nowMs = () => Number(clock.currentTimeNanosUnsafe() / 1_000_000n)

  // One that takes back may have been done although its answer is lost: a second time it would take back what others counted.
  const send = (each: Correction) =>
    Effect.tapError(redis.run(correct, [each.key], [each.windowMs, each.amount, each.part]), ({ wasDone = true }) =>
      Effect.sync(() => {
        if (each.amount < 0 && wasDone) return
        if (corrections.length < mostCorrections) corrections.push(each)
      }),
    )
  const giveBack = (dueMs: number, why: "changes" | "renewal" | "stop") => {
    const due = [...corrections, ...shares.unused(dueMs)]
    corrections = []
    const sent = forAll(due, send, { concurrency: 16 })
    const told = forAll(
      slots.reports(why),
      ({ key, held, isLeast }) => redis.run(holdCalls, [key], [node, held, slotLeaseMs, isLeast ? "atLeast" : "exact"]),
      { concurrency: 16 },
    )
    // If one fails, the others are sent.
    return forAll<Effect.Effect<unknown, StoreUnavailable>, unknown, StoreUnavailable, never>(
      [told, sent],
      (each) => each,
    )
  }
  yield* Effect.addFinalizer(() => Effect.ignore(Effect.suspend(() => giveBack(Number.POSITIVE_INFINITY, "stop"))))
  yield* runEvery(
    giveBackEvery,
    "Giving back rates",
    Effect.suspend(() => giveBack(nowMs(), "changes")),
  )
  yield* runEvery(
    renewSlotsEvery,
    "Renewing calls at a time",
    Effect.suspend(() => giveBack(nowMs(), "renewal")),
  )

  const take = (request: Limited): Counted | undefined => {
    const slotKeys = slotKeysOf(request)
    if (slotKeys.length > 0 && !slots.take(slotKeys)) return undefined
    const taken = shares.take(rateKeysOf(request), request.rates, nowMs())
    if (taken !== undefined) return { rates: taken, holdsCalls: slotKeys.length > 0 }
    slots.leave(slotKeys)
    return undefined
  }

  const wait = (id: string) =>
    Effect.callback<void>((resume) => {
      const others = waiting.get(id)
      if (others === undefined) resume(Effect.void)
      else others.push(() => resume(Effect.void))
    })

  return {
    node,
    take,
    undo: (request, { rates, holdsCalls }) => {
      shares.undo(rateKeysOf(request), request.rates, rates)
      if (holdsCalls) slots.leave(slotKeysOf(request))
    },
    leave: (request, { holdsCalls }) => {
      if (holdsCalls) slots.leave(slotKeysOf(request))
    },
    ask: (request) => {
      const [keys, slotKeys, askedMs] = [rateKeysOf(request), slotKeysOf(request), nowMs()]
      const rates = shares.ask(keys, request.rates, askedMs)
      const limits = (request.slots ?? []).map(({ limit }) => limit)
      const calls = slots.ask(slotKeys, limits)
      return {
        keys: [...keys, ...slotKeys],
        rates: rates.map(({ limit, windowMs, amount, want, back, backPart }) => [
          limit,
          windowMs,
          amount,
          want,
          back,
          backPart,
        ]),
        slots: calls.map(({ limit, need, want }) => [limit, need, want]),
        granted: (grants, holdsCalls) => {
          const numbers = grants.map(Number)
          const given = rates.map((_, at) => {
            const [share = 0, room = 0, atMs = 0, part = 0] = numbers.slice(4 * at, 4 * at + 4)
            return { share, room, atMs, part }
          })
          shares.grant(rates, given, askedMs)
          slots.answered(calls, holdsCalls ? numbers.slice(4 * rates.length) : undefined)
          return { rates: given, holdsCalls: holdsCalls && slotKeys.length > 0 }
        },
        refused: () => slots.answered(calls, undefined),
      }
    },
    askOnce: (request, ask) =>
      Effect.suspend((): typeof ask => {
        const keys = rateKeysOf(request)
        const id = keys.join(" ")
        if (keys.length > 0 && waiting.has(id) && shares.isBusy(keys, nowMs())) {
          return Effect.flatMap(wait(id), (): typeof ask => {
            const counted = take(request)
            return counted === undefined ? ask : Effect.succeed({ _tag: "Admitted", counted })
          })
        }
        if (waiting.has(id)) return ask
        const others: Array<() => void> = []
        waiting.set(id, others)
        return Effect.ensuring(
          ask,
          Effect.sync(() => {
            waiting.delete(id)
            for (const resume of others) resume()
          }),
        )
      }),
    ended: (request, counted, used) => {
      if (counted.holdsCalls) slots.leave(slotKeysOf(request))
      const keys = rateKeysOf(request)
      for (const { at, amount, part } of tokensToCorrect(request.rates, counted, used)) {
        if (corrections.length === mostCorrections) corrections.shift()
        corrections.push({ key: keys[at] ?? "", windowMs: request.rates[at]?.windowMs ?? 0, amount, part })
      }
    },
  }
})

export const rateKeysOf = ({ owner, rates }: Pick<AdmitRequest, "owner" | "rates">): ReadonlyArray<string> =>
  rates.length === 0 ? none : rates.map(({ bucket, windowMs }) => `weir:{${owner}}:rates:${bucket}:${windowMs}`)

const slotKeysOf = ({ owner, slots = none }: Pick<AdmitRequest, "owner" | "slots">): ReadonlyArray<string> =>
  slots.length === 0 ? none : slots.map(({ bucket }) => `weir:{${owner}}:calls:${bucket}`)

const none: ReadonlyArray<never> = []
