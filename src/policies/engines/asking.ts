/** Asks engines one question at a time: at an address with room that is healthy, within a deadline, and never twice. */
import { Clock, Effect, Exit, Option, Result, Semaphore } from "effect"
import { IdentityFailed } from "../../cloud-identities/identity.ts"
import { fetchWhole, isShortage, type VendorClient, type WholeReply } from "../../upstream/client.ts"
import type { TargetHealth, Verdict } from "../../upstream/health.ts"
import { retryAfterOf } from "../../upstream/retry-after.ts"
import { EngineFailed, type EngineKind, type EngineVerdict, type Question, type Way } from "./engine.ts"

/** The questions that an address gets at once; further ones wait, until their deadline. */
const questionsAtOnce = 32
/** A policy without a verdict for longer would be a policy that is off. */
const longestWaitMs = 60_000
const maxReplyBytes = 4 * 1024 * 1024

interface Deadline {
  readonly untilMs: number
  /** The time that the text has as a whole. */
  readonly timeoutMs: number
}

export const makeAsk = (client: VendorClient["Service"], health: TargetHealth["Service"]) => {
  const rooms = new Map<string, Semaphore.Semaphore>()
  const roomAt = (address: string): Semaphore.Semaphore => {
    const room = rooms.get(address) ?? Semaphore.makeUnsafe(questionsAtOnce)
    rooms.set(address, room)
    return room
  }

  /** Sends one request, and reads its answer. */
  const send = (way: Way, kind: EngineKind): Effect.Effect<EngineVerdict, EngineFailed> =>
    Effect.gen(function* () {
      const { baseUrl, path, headers, body, identity, network, read } = way
      const failed = (problem: Omit<ConstructorParameters<typeof EngineFailed>[0], "kind">) =>
        new EngineFailed({ kind, ...problem })
      const own = yield* identity === undefined
        ? Effect.succeed({})
        : Effect.tryPromise({
            try: () => identity.authorize({ baseUrl, path, body }, { client, network, isGuarded: false }),
            catch: (cause) =>
              failed({ reason: "credential", ...(cause instanceof IdentityFailed && { sentence: cause.sentence }) }),
          })
      const request = { baseUrl, path, headers: { ...headers, ...own }, body, network }
      const reply = yield* Effect.mapError(fetchWhole(client, request, maxReplyBytes), (broken) =>
        failed({ reason: isShortage(broken) ? "busy" : "unreachable" }),
      )
      const { status } = reply
      if (status === 429) yield* coolDown(way, reply)
      if (status !== 200) return yield* failed({ reason: reasonOf(status), status })
      return yield* Effect.mapError(Effect.fromResult(read(reply)), (reason) => failed({ reason, status }))
    })

  const coolDown = ({ address }: Way, { headers }: WholeReply) =>
    Effect.flatMap(Clock.currentTimeMillis, (nowMs) => {
      const askedMs = retryAfterOf(headers, nowMs)
      if (askedMs === undefined) return health.coolDown(targetOf(address), { cause: "busy" })
      return health.coolDown(targetOf(address), { cause: "vendor", forMs: Math.min(askedMs, longestWaitMs) })
    })

  /** Asks at one address, when it has room and is healthy. */
  const askAt = (way: Way, kind: EngineKind, { untilMs, timeoutMs }: Deadline) =>
    Effect.gen(function* () {
      const tooLate = new EngineFailed({ kind, reason: "timeout" })
      const waitMs = untilMs - (yield* Clock.currentTimeMillis)
      if (waitMs <= 0) return yield* tooLate
      let hasBegun = false
      let hadTime = false
      const timed = Effect.flatMap(Clock.currentTimeMillis, (nowMs) => {
        hasBegun = true
        const duration = untilMs - nowMs
        if (duration <= 0) return Effect.fail(tooLate)
        hadTime = duration >= timeoutMs / 2
        return Effect.timeoutOrElse(send(way, kind), { duration, orElse: () => Effect.fail(tooLate) })
      })
      const judge = (exit: Exit.Exit<EngineVerdict, EngineFailed>) => judgeOf(exit, hadTime)
      const begun = health.begin(targetOf(way.address), timed, { judge, despite: "nothing" })
      const asked = roomAt(way.address)
        .withPermits(1)(begun)
        .pipe(Effect.catchTag("TargetCoolingDown", () => Effect.fail(new EngineFailed({ kind, reason: "cooling" }))))
      // A question that has begun has a deadline of its own, of which the engine's health learns.
      const late = Effect.andThen(
        Effect.sleep(waitMs),
        Effect.suspend(() => (hasBegun ? Effect.never : Effect.fail(tooLate))),
      )
      return yield* Effect.raceFirst(asked, late)
    })

  return Effect.fnUntraced(function* (
    { ways }: Question,
    kind: EngineKind,
    deadline: Deadline,
  ): Effect.fn.Return<EngineVerdict, EngineFailed> {
    let failure = new EngineFailed({ kind, reason: "unreachable" })
    for (const way of ways) {
      const answer = yield* Effect.result(askAt(way, kind, deadline))
      if (Result.isSuccess(answer)) return answer.success
      failure = answer.failure
      if (!worthFailover.has(failure.reason)) break
    }
    return yield* failure
  })
}

/** The name of an address among targets. No id has a space, so no other target has it. */
export const targetOf = (address: string): string => `policy engine ${address}`

const reasonOf = (status: number): EngineFailed["reason"] => {
  if (status === 401 || status === 403) return "unauthorized"
  if (status === 429) return "busy"
  return status >= 500 ? "error" : "refused"
}

/**
 * Only failures of the engine itself count: if a caller's text could make it unhealthy, that text would switch off a policy
 * whose failures are allowed.
 * @param hadTime whether the question had most of its text's time; late pieces of a long text do not
 */
const judgeOf = (exit: Exit.Exit<EngineVerdict, EngineFailed>, hadTime: boolean): Verdict => {
  if (Exit.isSuccess(exit)) return "healthy"
  const failure = Option.getOrUndefined(Exit.findErrorOption(exit))
  if (failure === undefined || (failure.reason === "timeout" && !hadTime)) return "ignored"
  return failingReasons.has(failure.reason) ? "failing" : "ignored"
}

/** The failures after which another address may give a verdict in time. */
const worthFailover: ReadonlySet<EngineFailed["reason"]> = new Set([
  "unreachable",
  "unauthorized",
  "busy",
  "error",
  "cooling",
  "credential",
])

const failingReasons: ReadonlySet<EngineFailed["reason"]> = new Set(["timeout", "unreachable", "error"])
