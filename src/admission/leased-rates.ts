/** Rates that this node counts itself: the part of {@link RateShares} that asks Redis. */
import { Clock, Effect, type Scope } from "effect"
import { runEvery } from "../background.ts"
import { makeScript, Redis } from "../store/redis.ts"
import { StoreUnavailable } from "../store/unavailable.ts"
import { type Admission, type AdmissionError, type AdmitRequest, rateLimited } from "./gate.ts"
import { shareScript, unusedScript } from "./rate-scripts.ts"
import { type GrantedShare, type RateAsk, RateShares } from "./rate-shares.ts"

const share = makeScript(shareScript)
const unused = makeScript(unusedScript)

export const rateKeysOf = ({ owner, rates }: Pick<AdmitRequest, "owner" | "rates">): ReadonlyArray<string> =>
  rates.map(({ bucket }) => `weir:{${owner}}:rate:${bucket}`)

export interface LeasedRates {
  /** Counts a call here, if this node may. */
  readonly take: (request: AdmitRequest) => boolean
  /** A function that takes back what was just counted. */
  readonly undoing: (request: AdmitRequest) => () => void
  /** Counts a call that is not covered in Redis, and takes shares. */
  readonly ask: (request: AdmitRequest) => Effect.Effect<Admission, AdmissionError>
}

export const makeLeasedRates: Effect.Effect<LeasedRates, never, Redis | Scope.Scope> = Effect.gen(function* () {
  const redis = yield* Redis
  const clock = yield* Clock.Clock
  const shares = new RateShares()
  /** Calls that wait for the answer to a question about the same windows. */
  const waiting = new Map<string, Array<() => void>>()
  /** A monotonic clock, so that no jump of the machine's clock makes a share last longer. */
  const nowMs = () => Number(clock.currentTimeNanosUnsafe() / 1_000_000n)

  const askRedis = Effect.fnUntraced(function* (
    request: AdmitRequest,
    keys: ReadonlyArray<string>,
  ): Effect.fn.Return<Admission, AdmissionError> {
    const askedMs = nowMs()
    const asks = shares.ask(keys, request.rates, askedMs)
    const reply = yield* redis.run(share, keys, [JSON.stringify(asks.map(rowOf))])
    const answer: ReadonlyArray<unknown> = Array.isArray(reply) ? reply : []
    if (answer[0] === "rate") {
      return yield* rateLimited(request.rates[Number(answer[1])]?.scope, Number(answer[2]))
    }
    if (answer[0] !== "admitted") {
      return yield* new StoreUnavailable({ store: "redis", cause: "the gate gave an unknown reply" })
    }
    shares.grant(asks, grantsIn(answer, asks.length), askedMs)
    return admitted
  })

  const wait = (id: string) =>
    Effect.callback<void>((resume) => {
      const others = waiting.get(id)
      if (others === undefined) resume(Effect.void)
      else others.push(() => resume(Effect.void))
    })

  const giveBack = (dueMs: number) =>
    Effect.forEach(shares.unused(dueMs), ({ key, count, endMs }) => redis.run(unused, [key], [count, endMs]), {
      concurrency: 16,
      discard: true,
    })
  yield* Effect.addFinalizer(() => Effect.ignore(Effect.suspend(() => giveBack(Number.POSITIVE_INFINITY))))
  yield* runEvery(
    "250 millis",
    "Giving back rates",
    Effect.suspend(() => giveBack(nowMs())),
  )

  const take = (request: AdmitRequest) =>
    request.rates.length > 0 && shares.take(rateKeysOf(request), request.rates, nowMs())

  return {
    take,
    undoing: (request) => shares.undoing(rateKeysOf(request)),
    ask: (request) =>
      Effect.suspend(() => {
        const keys = rateKeysOf(request)
        const id = keys.join(" ")
        if (waiting.has(id) && shares.isBusy(keys, nowMs())) {
          return Effect.flatMap(wait(id), () => (take(request) ? Effect.succeed(admitted) : askRedis(request, keys)))
        }
        if (waiting.has(id)) return askRedis(request, keys)
        const others: Array<() => void> = []
        waiting.set(id, others)
        return Effect.ensuring(
          askRedis(request, keys),
          Effect.sync(() => {
            waiting.delete(id)
            for (const resume of others) resume()
          }),
        )
      }),
  }
})

const admitted: Admission = { _tag: "Admitted" }

const rowOf = ({ limit, windowMs, want, back, backEndMs }: RateAsk) => [limit, windowMs, want, back, backEndMs]

const grantsIn = (answer: ReadonlyArray<unknown>, windows: number): ReadonlyArray<GrantedShare> =>
  Array.from({ length: windows }, (_, at) => {
    const [count = 0, leftMs = 0, endMs = 0] = answer.slice(1 + 3 * at, 4 + 3 * at).map(Number)
    return { count, leftMs, endMs }
  })
