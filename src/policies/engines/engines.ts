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
import { Clock, Context, Effect, Layer, Result } from "effect"
import type { HoldError } from "../../money/ledger.ts"
import { recordEngineFailure } from "../../telemetry/metrics.ts"
import { VendorClient } from "../../upstream/client.ts"
import { TargetHealth } from "../../upstream/health.ts"
import type { EngineCheck, ReviewPolicy } from "../policy.ts"
import { makeAsk, targetOf } from "./asking.ts"
import { clean, type Direction, EngineFailed, type EngineVerdict, type Question } from "./engine.ts"
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

interface Answers extends EngineVerdict {
  /** Whether a piece is flagged without a place. */
  readonly isUnplaced: boolean
  readonly failure: EngineFailed | undefined
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
