/** The gate of several nodes: its state is in Redis; one script call admits, one completes. */
import { Clock, Effect, Layer, Schedule } from "effect"
import { WeirConfig } from "../config.ts"
import { beforeSeparator } from "../identity/caller.ts"
import { dayOf, hourOf } from "../protocol/values/utc8.ts"
import { makeScript, Redis } from "../store/redis.ts"
import { StoreUnavailable } from "../store/unavailable.ts"
import {
  activeSessionsScript,
  admitScript,
  completeScript,
  endSessionScript,
  giveBackScript,
  peaksScript,
  renewScript,
  withdrawScript,
} from "./admit-script.ts"
import {
  type Admission,
  type AdmissionError,
  type AdmitRequest,
  admittedSession,
  type Counted,
  concurrencyExceeded,
  type DailyCount,
  dailyQuotaExceeded,
  Gate,
  isEntry,
  nonceReplayed,
  nonceWindowMs,
  notReplayable,
  payloadConflict,
  type RateWindow,
  type Registration,
  rateLimited,
  readPeaks,
  sessionArchived,
  slotRetryAfterMs,
  unknownSession,
} from "./gate.ts"
import { withGateMode } from "./gate-mode.ts"
import { type LimitsAsk, makeLeasedLimits, rateKeysOf, slotLeaseMs } from "./rates/leased-limits.ts"
import { lookScript } from "./rates/window-script.ts"

const admit = makeScript(admitScript)
const looks = makeScript(lookScript)
const complete = makeScript(completeScript)
const renew = makeScript(renewScript)
const withdraw = makeScript(withdrawScript)
const giveBackCounts = makeScript(giveBackScript)
const endSession = makeScript(endSessionScript)
const activeSessions = makeScript(activeSessionsScript)
const peaks = makeScript(peaksScript)

/** The time that the gate remembers a session; after that it is read from the database. */
const sessionRetentionMs = 86_400_000
/** The time after which the start of the records is removed and set again: until then, ids are looked up more often. */
const sinceKeepMs = 30 * 86_400_000
/** A day's peaks are written to the database on the following day. */
const peaksKeepMs = 3 * 86_400_000

/** The Redis key of an entry whose id a client of an application key has chosen. */
const sentKey = (owner: string, what: "request" | "nonce", keyId: string, sent: string) =>
  `weir:{${owner}}:${what}:${beforeSeparator(keyId, ":")}:${sent}`

const recordKey = ({ owner, keyId, requestId }: Omit<Registration, "claim">) =>
  sentKey(owner, "request", keyId, requestId)

export const layerRedis = Layer.effect(
  Gate,
  Effect.gen(function* () {
    const { idempotencyTtlS } = yield* WeirConfig
    const redis = yield* Redis
    const clock = yield* Clock.Clock
    const leased = yield* makeLeasedLimits
    const withdrawClaim = (registration: Registration) =>
      Effect.asVoid(redis.run(withdraw, [recordKey(registration)], [registration.claim]))

    /** One script call for everything that is limited, claimed or counted. @param own the limits that were counted here */
    const register = (request: AdmitRequest, own: Counted | undefined): Effect.Effect<Admission, AdmissionError> =>
      Effect.suspend(() => {
        const nowMs = clock.currentTimeMillisUnsafe()
        const limits = own === undefined ? leased.ask(request) : undefined
        const asked = redis.run(admit, keysOf(request, limits, nowMs), [askOf(request, limits, leased.node, nowMs)])
        const claimed = registrationOf(request)
        const answered =
          claimed === undefined
            ? asked
            : // The reply is lost but the claim may exist: release it, so that a retry with the same request id is not refused.
              Effect.tapError(asked, () => Effect.forkDetach(Effect.retry(withdrawClaim(claimed), giveBack)))
        const read = Effect.flatMap(answered, (reply) => readAdmission(request, reply, limits))
        return limits === undefined ? read : Effect.tapError(read, () => Effect.sync(limits.refused))
      })

    const registerOwn = (request: AdmitRequest, own: Counted): Effect.Effect<Admission, AdmissionError> =>
      Effect.matchEffect(register(request, own), {
        // A conflict is counted, as any call that is answered from what is known; it does not run.
        onFailure: (error) => {
          if (isConflict(error)) leased.leave(request, own)
          else leased.undo(request, own)
          return Effect.fail(error)
        },
        onSuccess: (admission): Effect.Effect<Admission> => {
          if (admission._tag === "Admitted") return Effect.succeed({ ...admission, counted: own })
          if (admission._tag === "UnknownSession") {
            leased.undo(request, own)
            return Effect.succeed(admission)
          }
          leased.leave(request, own)
          return Effect.succeed({ ...admission, counted: { ...own, holdsCalls: false } })
        },
      })

    return Gate.of({
      admit: (request) =>
        Effect.suspend((): Effect.Effect<Admission, AdmissionError> => {
          const hasLimits = request.rates.length > 0 || (request.slots?.length ?? 0) > 0
          const isOfLimits = hasOnlyLimits(request)
          if (!hasLimits) return isOfLimits ? admitted : register(request, nothingCounted)
          const own = leased.take(request)
          if (own !== undefined) {
            return isOfLimits ? Effect.succeed({ _tag: "Admitted", counted: own }) : registerOwn(request, own)
          }
          const asked = register(request, undefined)
          return isOfLimits ? leased.askOnce(request, asked) : asked
        }),
      look: ({ owner, rates }) =>
        Effect.suspend((): Effect.Effect<void, AdmissionError> => {
          if (rates.length === 0) return Effect.void
          const own = leased.take({ owner, rates })
          if (own !== undefined) return Effect.sync(() => leased.undo({ owner, rates }, own))
          const limits = rates.flatMap(({ limit, windowMs, amount = 1 }) => [limit, windowMs, amount])
          return Effect.flatMap(redis.run(looks, rateKeysOf({ owner, rates }), limits), (reply) => {
            const [at, waitMs, used]: ReadonlyArray<unknown> = Array.isArray(reply) ? reply : []
            const rate = at === undefined ? undefined : rates[Number(at)]
            return rate === undefined ? Effect.void : refusedRate(rate, Number(waitMs), Number(used))
          })
        }),
      ended: (request, counted, used) => Effect.sync(() => leased.ended(request, counted, used)),
      complete: (registration, payloadHash, isReplayable) => {
        const state = isReplayable ? "completed" : "not_replayable"
        const record = [state, payloadHash, idempotencyTtlS * 1000]
        return Effect.asVoid(redis.run(complete, [recordKey(registration)], record))
      },
      withdraw: withdrawClaim,
      renew: (registrations, leaseMs) =>
        Effect.forEach(
          registrations,
          (registration) => redis.run(renew, [recordKey(registration)], [registration.claim, leaseMs]),
          {
            concurrency: 64,
            discard: true,
          },
        ),
      giveBack: (owner, counts) =>
        Effect.asVoid(
          redis.run(
            giveBackCounts,
            counts.map((count) => countKey(owner, count)),
            [],
          ),
        ),
      endSession: (owner, id, caller, how) =>
        Effect.asVoid(
          redis.run(endSession, [sessionKey(owner, id), activeKey(owner)], [id, caller, how, sessionRetentionMs]),
        ),
      activeSessions: (owner, windowMs) =>
        Effect.map(redis.run(activeSessions, [activeKey(owner)], [windowMs]), Number),
      peaks: (owner, day) => Effect.map(redis.run(peaks, [peaksKey(owner, day)], []), readPeaks),
      ping: redis.ping,
    })
  }),
).pipe(withGateMode)

/** Whether there are only limits, which this node may count itself. */
const hasOnlyLimits = ({ nonce, counts = [], register, session }: AdmitRequest): boolean =>
  nonce === undefined && counts.length === 0 && register === undefined && session === undefined

const nothingCounted: Counted = { rates: [], holdsCalls: false }

const isConflict = (error: AdmissionError): boolean =>
  error._tag === "ServiceError" && error.code === "idempotency_conflict"

const admitted: Effect.Effect<Admission> = Effect.succeed({ _tag: "Admitted" })

/** Retries for about a minute with growing pauses. */
const giveBack = Schedule.exponential("200 millis").pipe(Schedule.upTo({ times: 8 }))

const registrationOf = ({ owner, keyId, register }: AdmitRequest): Registration | undefined =>
  register && { owner, keyId, requestId: register.requestId, claim: register.claim }

const sessionKey = (owner: string, id: string) => `weir:{${owner}}:session:${id}`
const activeKey = (owner: string) => `weir:{${owner}}:active`
const peaksKey = (owner: string, day: string) => `weir:{${owner}}:peaks:${day}`
const countKey = (owner: string, { bucket, day }: DailyCount) => `weir:{${owner}}:count:${bucket}:${day}`

const keysOf = (request: AdmitRequest, limits: LimitsAsk | undefined, nowMs: number): ReadonlyArray<string> => {
  const { owner, keyId, nonce, counts = [], register, session } = request
  return [
    ...(nonce === undefined ? [] : [sentKey(owner, "nonce", keyId, nonce)]),
    ...(limits?.keys ?? []),
    ...counts.map((count) => countKey(owner, count)),
    ...(register === undefined ? [] : [recordKey({ owner, keyId, ...register }), `weir:{${owner}}:requests-since`]),
    ...(session === undefined ? [] : [sessionKey(owner, session.id), activeKey(owner), peaksKey(owner, dayOf(nowMs))]),
  ]
}

const askOf = (
  { nonce, counts = [], register, session }: AdmitRequest,
  limits: LimitsAsk | undefined,
  node: string,
  nowMs: number,
): string =>
  JSON.stringify({
    ...(nonce !== undefined && { nonceMs: nonceWindowMs }),
    ...(limits !== undefined && { node, slotMs: slotLeaseMs }),
    rates: limits?.rates ?? [],
    slots: limits?.slots ?? [],
    counts: counts.map(({ limit }) => limit),
    ...(register !== undefined && {
      register: { hash: register.payloadHash, leaseMs: register.leaseMs, claim: register.claim, sinceMs: sinceKeepMs },
    }),
    ...(session !== undefined && {
      session: {
        id: session.id,
        caller: session.caller,
        windowMs: session.windowMs,
        cap: session.cap,
        enforces: session.enforces,
        register: session.ifUnknown === "register",
        lastSeenMs: session.lastSeenMs,
        retentionMs: sessionRetentionMs,
        hour: String(hourOf(nowMs)),
        peaksMs: peaksKeepMs,
      },
    }),
  })

function readAdmission(
  request: AdmitRequest,
  reply: unknown,
  limits: LimitsAsk | undefined,
): Effect.Effect<Admission, AdmissionError> {
  const values: ReadonlyArray<unknown> = Array.isArray(reply) ? reply : []
  const [outcome, first, second, third] = values
  switch (outcome) {
    case "admitted":
      return Effect.succeed({
        ...(isEntry(first) ? admittedSession(first, Number(second) === 1) : { _tag: "Admitted" }),
        ...(request.register !== undefined && { remembersSinceMs: Number(third) }),
        ...(limits !== undefined && { counted: limits.granted(values.slice(4), true) }),
      })
    case "count": {
      const count = request.counts?.[Number(first)]
      return count === undefined ? unknownReply : Effect.fail(dailyQuotaExceeded(count, Number(second)))
    }
    case "full":
      return Effect.fail(concurrencyExceeded())
    case "archived":
      return Effect.fail(sessionArchived(request.session?.id ?? ""))
    case "foreign":
      return Effect.fail(unknownSession())
    case "unknown":
      limits?.refused()
      return Effect.succeed({ _tag: "UnknownSession" })
    case "nonce":
      return Effect.fail(nonceReplayed())
    case "rate": {
      const rate = request.rates[Number(first)]
      const waitMs = Number(second)
      return rate === undefined ? unknownReply : refusedRate(rate, waitMs, Number(third))
    }
    case "slot": {
      const slot = request.slots?.[Number(first)]
      return slot === undefined
        ? unknownReply
        : Effect.fail(rateLimited({ ...slot, unit: "concurrent" }, slotRetryAfterMs, Number(second)))
    }
    case "conflict":
      return Effect.fail(payloadConflict())
    case "in_progress":
      return Effect.succeed({ _tag: "InProgress", ...repeated(values, limits) })
    case "not_replayable":
      return Effect.fail(notReplayable())
    case "completed":
      return Effect.succeed({ _tag: "Completed", ...repeated(values, limits) })
    default:
      return unknownReply
  }
}

const refusedRate = (rate: RateWindow, waitMs: number, used: number) =>
  Effect.fail(rateLimited(rate, waitMs < 0 ? undefined : waitMs, used))

/** A call that is answered from what is known counts in its rates, and does not run. */
const repeated = (values: ReadonlyArray<unknown>, limits: LimitsAsk | undefined) =>
  limits === undefined ? {} : { counted: limits.granted(values.slice(1), false) }

const unknownReply = Effect.fail(new StoreUnavailable({ store: "redis", cause: "the gate gave an unknown reply" }))
