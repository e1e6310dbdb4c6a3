/**
 * Asks the engines of policies.
 *
 * **Details**: a text has one deadline, with all its pieces and their waits. An address gets a limited number of questions at
 * once, and none while its last ones failed: its health is that of a target, and a probe tries it again. A question is never
 * asked twice: an engine that was slow would get slower.
 *
 * **Gotchas**: neither a text nor an answer is logged. A verdict that flags is final, even if other pieces have none.
 */
import { randomUUID } from "node:crypto"
import { Clock, Context, Effect, Exit, Layer, Option, Result, Semaphore } from "effect"
import { IdentityFailed } from "../../cloud-identities/identity.ts"
import type { HoldError } from "../../money/ledger.ts"
import { recordEngineFailure } from "../../telemetry/metrics.ts"
import { fetchWhole, isShortage, VendorClient, type WholeReply } from "../../upstream/client.ts"
import { TargetHealth, type Verdict } from "../../upstream/health.ts"
import { retryAfterOf } from "../../upstream/retry-after.ts"
import type { EngineCheck, ReviewPolicy } from "../policy.ts"
import {
  clean,
  type Direction,
  EngineFailed,
  type EngineKind,
  type EngineVerdict,
  type Question,
  type Way,
} from "./engine.ts"
import { charactersOf, type EngineAccount, type EngineUse } from "./engine-price.ts"
import { piecesOf } from "./pieces.ts"
import { apart, distinct, type Span } from "./spans.ts"

export interface EnginePolicy {
  readonly id: string
  readonly check: EngineCheck
}

export interface Reviewed {
  readonly text: string
  readonly direction: Direction
  /** The text before it in the conversation, e.g. the prompt of a reply. */
  readonly earlier?: string | undefined
  /** The account that its price is charged to; nothing is recorded without one. */
  readonly account?: EngineAccount | undefined
}

export class PolicyEngines extends Context.Service<
  PolicyEngines,
  {
    /** The verdict about a text; blank texts are clean without a question. */
    readonly review: (policy: EnginePolicy, reviewed: Reviewed) => Effect.Effect<EngineVerdict, EngineFailed>
    /** Every finding in a whole text. Fails if a piece of it has no verdict, or is flagged without a place. */
    readonly find: (policy: EnginePolicy, reviewed: Reviewed) => Effect.Effect<ReadonlyArray<Span>, EngineFailed>
  }
>()("weir/policies/PolicyEngines") {
  static readonly layer = Layer.effect(
    PolicyEngines,
    Effect.gen(function* () {
      const client = yield* VendorClient
      const health = yield* TargetHealth
      const services = yield* Effect.context<never>()
      const ask = makeAsk(client, health)

      const answersOf = Effect.fnUntraced(function* (
        { id, check: { engine, problem, timeoutMs, price } }: EnginePolicy,
        { text, direction, earlier, account }: Reviewed,
      ): Effect.fn.Return<Answers, EngineFailed> {
        const { kind } = engine
        if (text.trim() === "") return nothing
        if (problem !== undefined) {
          return { ...nothing, failure: new EngineFailed({ kind, reason: "credential", sentence: problem }) }
        }
        const startedMs = yield* Clock.currentTimeMillis
        const pieces = piecesOf(text.toWellFormed(), engine.longestPiece)
        const about = { policy: id, direction, requestId: randomUUID(), earlier, nowMs: startedMs }
        const questions = engine.questions(pieces, about)
        // One question tries an address whose last ones failed; the others of the text come after it.
        const isSuspect = questions.some(({ ways }) => ways.some(({ address }) => health.isSuspect(targetOf(address))))
        let isDecided = false
        const answered: Array<Question> = []
        const counted = (question: Question) => Effect.sync(() => void answered.push(question))
        // A hold may take time, which is not the engine's.
        let nowMs = startedMs
        const answerTo = (question: Question) =>
          Effect.suspend(() =>
            // The text is flagged by an engine without places: nothing more is to be learnt.
            isDecided
              ? Effect.succeed(Result.succeed(clean))
              : Effect.result(
                  Effect.tap(ask(question, kind, { untilMs: nowMs + timeoutMs, timeoutMs }), () => counted(question)),
                ),
          )
        const answers = Effect.forEach(
          questions,
          (question) =>
            Effect.map(answerTo(question), (answer) => {
              isDecided ||= isUnplaced(answer)
              return answer
            }),
          { concurrency: isSuspect ? 1 : piecesAtOnce },
        )
        const asked: Effect.Effect<Answers, EngineFailed> = Effect.flatMap(Clock.currentTimeMillis, (beginMs) => {
          nowMs = beginMs
          return Effect.map(answers, (each) => together(questions, each))
        })
        if (price === undefined || account === undefined || questions.length === 0) return yield* asked
        const work = { policy: id, engine: kind, price, most: useOf(questions), answered: () => useOf(answered) }
        const refused = (refusal: HoldError) => new EngineFailed({ kind, reason: "unpaid", refusal })
        return yield* account.within(work, asked, refused)
      })

      const answered = (policy: EnginePolicy, reviewed: Reviewed) =>
        Effect.tap(withRefusal(answersOf(policy, reviewed)), ({ failure }) =>
          failure === undefined
            ? Effect.void
            : Effect.sync(() => recordEngineFailure(services, failure.kind, failure.reason)),
        )

      return PolicyEngines.of({
        review: (policy, reviewed) =>
          Effect.flatMap(answered(policy, reviewed), ({ isFlagged, spans, failure }) => {
            if (isFlagged) return Effect.succeed({ isFlagged, spans })
            return failure === undefined ? Effect.succeed(clean) : Effect.fail(failure)
          }),
        find: (policy, reviewed) =>
          Effect.flatMap(answered(policy, reviewed), ({ spans, failure, isUnplaced }) => {
            if (failure !== undefined) return Effect.fail(failure)
            const { kind } = policy.check.engine
            return isUnplaced
              ? Effect.fail(new EngineFailed({ kind, reason: "malformed" }))
              : Effect.succeed(apart(spans))
          }),
      })
    }),
  )
}

/** Logs that an engine gave no verdict, without the text and its answer. */
export const logNoVerdict = (
  { id, onFailure }: Pick<ReviewPolicy, "id" | "onFailure">,
  { kind: engine, reason, status, sentence }: EngineFailed,
): Effect.Effect<void> =>
  Effect.logWarning("An engine of a policy gave no verdict", {
    policy: id,
    engine,
    reason,
    ...(status !== undefined && { status }),
    ...(sentence !== undefined && { problem: sentence }),
    onFailure,
  })

/** The questions of one text that are asked at once. */
const piecesAtOnce = 4
/** The questions that an address gets at once; further ones wait, until their deadline. */
const questionsAtOnce = 32
/** A policy without a verdict for longer would be a policy that is off. */
const longestWaitMs = 60_000
const maxReplyBytes = 4 * 1024 * 1024

interface Answers extends EngineVerdict {
  /** Whether a piece is flagged without a place. */
  readonly isUnplaced: boolean
  readonly failure: EngineFailed | undefined
}

interface Deadline {
  readonly untilMs: number
  /** The time that the text has as a whole. */
  readonly timeoutMs: number
}

/** A refused hold is a failure like any other. */
const withRefusal = (answers: Effect.Effect<Answers, EngineFailed>): Effect.Effect<Answers> =>
  Effect.catch(answers, (failure) => Effect.succeed({ ...nothing, failure }))

const useOf = (questions: ReadonlyArray<Question>): EngineUse => ({
  calls: questions.length,
  characters: questions.reduce(
    (sum, { texts }) => sum + texts.reduce((length, text) => length + charactersOf(text), 0),
    0,
  ),
})

const nothing: Answers = { ...clean, isUnplaced: false, failure: undefined }

type Answered = Result.Result<EngineVerdict, EngineFailed>

const isUnplaced = (answer: Answered): boolean =>
  Result.isSuccess(answer) && answer.success.isFlagged && answer.success.spans.length === 0

const together = (questions: ReadonlyArray<Question>, answers: ReadonlyArray<Answered>): Answers => ({
  isUnplaced: answers.some(isUnplaced),
  isFlagged: answers.some((answer) => Result.isSuccess(answer) && answer.success.isFlagged),
  spans: distinct(
    answers.flatMap((answer, place) => {
      const at = questions[place]?.at ?? 0
      if (Result.isFailure(answer)) return []
      return answer.success.spans.map(({ start, end, label }) => ({ start: start + at, end: end + at, label }))
    }),
  ),
  failure: answers.flatMap((answer) => (Result.isFailure(answer) ? [answer.failure] : []))[0],
})

const makeAsk = (client: VendorClient["Service"], health: TargetHealth["Service"]) => {
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
const targetOf = (address: string): string => `policy engine ${address}`

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
