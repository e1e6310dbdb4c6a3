/** `weir chat`: a conversation at the terminal, through the same client that applications use. */
import { createInterface } from "node:readline/promises"
import { Console, Effect, Option, Stream } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import { type Ask, makeSession, type SessionShape, type WeirError } from "../../client/effect/index.ts"
import type { Usage } from "../../protocol/usage.ts"
import { caller, credentialsOf } from "../caller.ts"
import { Failed } from "../target.ts"

type Message = Ask["thread"][number]

export const chat = Command.make(
  "chat",
  {
    words: Argument.String("prompt").pipe(
      Argument.withDescription("The question; if absent, questions are read line by line"),
      Argument.variadic(),
    ),
    model: Flag.String("model").pipe(
      Flag.withDescription("The model handle; main if absent, or the first one for chat that the key may call"),
      Flag.optional,
    ),
    ...caller,
  },
  Effect.fn(function* ({ words, model, url, ...flags }) {
    const options = {
      baseUrl: url,
      credentials: yield* credentialsOf(flags),
      client: { name: "weir-chat", version: "1" },
    }
    const thread: Array<Message> = []
    const say = (session: SessionShape, prompt: string) =>
      Effect.flatMap(modelOf(session, model), (handle) => turn(session, handle, thread, prompt))
    if (words.length > 0)
      return yield* Effect.scoped(Effect.flatMap(makeSession(options), (session) => say(session, words.join(" "))))
    yield* Effect.scoped(
      Effect.gen(function* () {
        const session = yield* makeSession(options)
        const lines = yield* terminal
        for (;;) {
          const line = yield* lines.next
          if (Option.isNone(line)) return
          if (line.value.trim() === "") continue
          // A failed turn leaves the conversation unchanged.
          yield* Effect.catch(say(session, line.value), ({ message }) => Console.error(message))
        }
      }),
    )
  }),
)

/** The model that is named, or else `main`, or the first one for chat that the key may call. */
const modelOf = Effect.fnUntraced(function* (
  session: SessionShape,
  named: Option.Option<string>,
): Effect.fn.Return<string, Failed> {
  if (Option.isSome(named)) return named.value
  // The configuration comes with the session.
  const config = yield* Effect.mapError(
    Effect.andThen(session.id, session.config),
    (error) => new Failed(describe(error)),
  )
  const handles = (config?.models ?? []).map(({ handle }) => handle)
  return handles.includes("main") ? "main" : (handles[0] ?? "main")
})

/** One question and its answer, printed as it arrives; both are added to the thread when the answer is complete. */
const turn = Effect.fnUntraced(function* (
  session: SessionShape,
  model: string,
  thread: Array<Message>,
  prompt: string,
): Effect.fn.Return<void, Failed> {
  const question: Message = { role: "user", blocks: [{ t: "text", v: prompt }] }
  let answer = ""
  let usage: Usage | undefined
  yield* Stream.runForEach(session.stream({ model, thread: [...thread, question] }), ({ event, data }) =>
    Effect.sync(() => {
      if (event === "t.close") usage = data.usage
      if (event !== "t.delta" || data.t !== "text") return
      answer += data.v
      process.stdout.write(data.v)
    }),
  ).pipe(
    Effect.mapError((error) => new Failed(describe(error))),
    Effect.ensuring(Effect.sync(() => process.stdout.write("\n"))),
  )
  thread.push(question, { role: "assistant", blocks: [{ t: "text", v: answer }] })
  if (usage !== undefined) yield* Console.error(describeUsage(usage))
})

const describe = (error: WeirError): string =>
  error._tag === "WeirRefused" ? `${error.code}: ${error.message} (${error.requestId})` : error.message

const describeUsage = ({ inTokens, outTokens, cost, balance, currency }: Usage): string =>
  `${inTokens} in, ${outTokens} out, ${cost} ${currency}; ${balance} left`

/** Lines from the terminal, or from piped input. */
const terminal = Effect.acquireRelease(
  Effect.sync(() => {
    const { stdin: input, stderr: output } = process
    const reader = createInterface({ input, output, terminal: input.isTTY === true, prompt: "> " })
    const lines = reader[Symbol.asyncIterator]()
    return {
      reader,
      next: Effect.promise(async () => {
        if (input.isTTY) reader.prompt()
        const { done, value } = await lines.next()
        return done === true ? Option.none<string>() : Option.some(value)
      }),
    }
  }),
  ({ reader }) => Effect.sync(() => reader.close()),
)
