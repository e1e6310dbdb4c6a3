/** The gate of many nodes: state in Redis, one Lua call to admit, one to complete. */
import { Effect, Layer, Schedule } from "effect"
import { makeScript, Redis } from "../store/redis.ts"
import { StoreUnavailable } from "../store/unavailable.ts"
import { admitScript, completeScript, renewScript, withdrawScript } from "./admit-script.ts"
import {
  type Admission,
  type AdmissionError,
  type AdmitRequest,
  Gate,
  type GateOptions,
  nonceReplayed,
  nonceWindowMs,
  notReplayable,
  openSnapshot,
  payloadConflict,
  type Registration,
  rateLimited,
  sealSnapshot,
} from "./gate.ts"

const admit = makeScript(admitScript)
const complete = makeScript(completeScript)
const renew = makeScript(renewScript)
const withdraw = makeScript(withdrawScript)

const recordKey = ({ owner, keyId, requestId }: Omit<Registration, "claim">) =>
  `weir:{${owner}}:idem:${keyId}:${requestId}`

export const layerRedisGate = (options: GateOptions): Layer.Layer<Gate, never, Redis> =>
  Layer.effect(
    Gate,
    Effect.gen(function* () {
      const redis = yield* Redis
      const withdrawClaim = (registration: Registration) =>
        Effect.asVoid(redis.run(withdraw, [recordKey(registration)], [registration.claim]))
      return Gate.of({
        admit: (request) =>
          redis.run(admit, keysOf(request), argsOf(request)).pipe(
            // The answer is lost, the claim perhaps not: it must not keep the key from whoever asks again.
            Effect.tapError(() => {
              const claimed = registrationOf(request)
              return claimed === undefined
                ? Effect.void
                : Effect.forkDetach(Effect.retry(withdrawClaim(claimed), giveBack))
            }),
            Effect.flatMap((reply) => readAdmission(options, request, reply)),
          ),
        complete: (registration, payloadHash, snapshot) =>
          Effect.asVoid(
            redis.run(
              complete,
              [recordKey(registration)],
              [
                payloadHash,
                options.idempotencyTtlMs,
                snapshot === undefined ? 0 : 1,
                snapshot === undefined ? "" : sealSnapshot(options, snapshot),
              ],
            ),
          ),
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
        ping: redis.ping,
      })
    }),
  )

/** Retries for about a minute, ever more slowly. */
const giveBack = Schedule.exponential("200 millis").pipe(Schedule.upTo({ times: 8 }))

const registrationOf = ({ owner, keyId, register }: AdmitRequest): Registration | undefined =>
  register && { owner, keyId, requestId: register.requestId, claim: register.claim }

const keysOf = ({ owner, keyId, nonce, rates, register }: AdmitRequest): ReadonlyArray<string> => [
  ...(nonce === undefined ? [] : [`weir:{${owner}}:nonce:${keyId}:${nonce}`]),
  ...rates.map(({ bucket }) => `weir:{${owner}}:rate:${bucket}`),
  ...(register === undefined ? [] : [recordKey({ owner, keyId, ...register })]),
]

const argsOf = ({ nonce, rates, register }: AdmitRequest): ReadonlyArray<string | number> => [
  nonce === undefined ? 0 : 1,
  nonceWindowMs,
  rates.length,
  ...rates.flatMap(({ limit, windowMs }) => [limit, windowMs]),
  ...(register === undefined ? [0] : [1, register.payloadHash, register.leaseMs, register.claim]),
]

function readAdmission(
  options: GateOptions,
  request: AdmitRequest,
  reply: unknown,
): Effect.Effect<Admission, AdmissionError> {
  const [outcome, first, second]: ReadonlyArray<unknown> = Array.isArray(reply) ? reply : []
  switch (outcome) {
    case "admitted":
      return Effect.succeed({ _tag: "Admitted" })
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
    case "replay":
      return openSnapshot(options, String(first))
    default:
      return Effect.fail(new StoreUnavailable({ store: "redis", cause: "the gate gave an unknown reply" }))
  }
}
