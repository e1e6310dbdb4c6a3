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
  concurrencyExceeded,
  type DailyCount,
  dailyQuotaExceeded,
  Gate,
  isEntry,
  nonceReplayed,
  nonceWindowMs,
  notReplayable,
  payloadConflict,
  type Registration,
  rateLimited,
  readPeaks,
  sessionArchived,
  unknownSession,
} from "./gate.ts"
import { withGateMode } from "./gate-mode.ts"
import { makeLeasedRates, rateKeysOf } from "./leased-rates.ts"

const admit = makeScript(admitScript)
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
    const leased = yield* makeLeasedRates
    const withdrawClaim = (registration: Registration) =>
      Effect.asVoid(redis.run(withdraw, [recordKey(registration)], [registration.claim]))
    /** One script call for everything that is limited, claimed or counted. */
    const register = (request: AdmitRequest): Effect.Effect<Admission, AdmissionError> =>
      Effect.suspend(() => {
        const nowMs = clock.currentTimeMillisUnsafe()
        const asked = redis.run(admit, keysOf(request, nowMs), [askOf(request, nowMs)])
        const claimed = registrationOf(request)
        if (claimed === undefined) return Effect.flatMap(asked, (reply) => readAdmission(request, reply))
        // The reply is lost but the claim may exist: release it, so that a retry with the same request id is not
        // refused.
        const release = Effect.forkDetach(Effect.retry(withdrawClaim(claimed), giveBack))
        return Effect.flatMap(
          Effect.tapError(asked, () => release),
          (reply) => readAdmission(request, reply),
        )
      })

    return Gate.of({
      admit: (request) =>
        Effect.suspend(() => {
          if (isFree(request)) return admitted
          const isCounted = leased.take(request)
          if (isOfRates(request)) return isCounted ? admitted : leased.ask(request)
          if (!isCounted) return register(request)
          const undo = leased.undoing(request)
          // A conflict is counted, as any call that is answered from what is known.
          const registered = Effect.tapError(register({ ...request, rates: none }), (error) =>
            Effect.sync(() => isConflict(error) || undo()),
          )
          return request.session === undefined
            ? registered
            : Effect.tap(registered, ({ _tag }) => Effect.sync(() => _tag === "UnknownSession" && undo()))
        }),
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

/** Whether there are only rates, which this node may count itself. */
const isOfRates = ({ nonce, counts = [], register, session }: AdmitRequest): boolean =>
  nonce === undefined && counts.length === 0 && register === undefined && session === undefined

const none: ReadonlyArray<never> = []

const isConflict = (error: AdmissionError): boolean =>
  error._tag === "ServiceError" && error.code === "idempotency_conflict"

/** Whether nothing is limited, claimed or counted: then Redis is not asked. */
const isFree = (request: AdmitRequest): boolean => request.rates.length === 0 && isOfRates(request)

const admitted: Effect.Effect<Admission> = Effect.succeed({ _tag: "Admitted" })

/** Retries for about a minute with growing pauses. */
const giveBack = Schedule.exponential("200 millis").pipe(Schedule.upTo({ times: 8 }))

const registrationOf = ({ owner, keyId, register }: AdmitRequest): Registration | undefined =>
  register && { owner, keyId, requestId: register.requestId, claim: register.claim }

const sessionKey = (owner: string, id: string) => `weir:{${owner}}:session:${id}`
const activeKey = (owner: string) => `weir:{${owner}}:active`
const peaksKey = (owner: string, day: string) => `weir:{${owner}}:peaks:${day}`
const countKey = (owner: string, { bucket, day }: DailyCount) => `weir:{${owner}}:count:${bucket}:${day}`

const keysOf = (request: AdmitRequest, nowMs: number): ReadonlyArray<string> => {
  const { owner, keyId, nonce, rates, counts = [], register, session } = request
  return [
    ...(nonce === undefined ? [] : [sentKey(owner, "nonce", keyId, nonce)]),
    ...rateKeysOf({ owner, rates }),
    ...counts.map((count) => countKey(owner, count)),
    ...(register === undefined ? [] : [recordKey({ owner, keyId, ...register }), `weir:{${owner}}:requests-since`]),
    ...(session === undefined ? [] : [sessionKey(owner, session.id), activeKey(owner), peaksKey(owner, dayOf(nowMs))]),
  ]
}

const askOf = ({ nonce, rates, counts = [], register, session }: AdmitRequest, nowMs: number): string =>
  JSON.stringify({
    ...(nonce !== undefined && { nonceMs: nonceWindowMs }),
    rates: rates.map(({ limit, windowMs }) => [limit, windowMs]),
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

function readAdmission(request: AdmitRequest, reply: unknown): Effect.Effect<Admission, AdmissionError> {
  const [outcome, first, second, third]: ReadonlyArray<unknown> = Array.isArray(reply) ? reply : []
  switch (outcome) {
    case "admitted":
      return Effect.succeed({
        ...(isEntry(first) ? admittedSession(first, Number(second) === 1) : { _tag: "Admitted" }),
        ...(request.register !== undefined && { remembersSinceMs: Number(third) }),
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
      return Effect.succeed({ _tag: "UnknownSession" })
    case "nonce":
      return Effect.fail(nonceReplayed())
    case "rate":
      return Effect.fail(rateLimited(request.rates[Number(first)]?.scope, Number(second)))
    case "conflict":
      return Effect.fail(payloadConflict())
    case "in_progress":
      return Effect.succeed({ _tag: "InProgress" })
    case "not_replayable":
      return Effect.fail(notReplayable())
    case "completed":
      return Effect.succeed({ _tag: "Completed" })
    default:
      return unknownReply
  }
}

const unknownReply = Effect.fail(new StoreUnavailable({ store: "redis", cause: "the gate gave an unknown reply" }))
