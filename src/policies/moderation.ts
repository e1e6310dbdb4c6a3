/**
 * The review engine that calls an endpoint with the API of OpenAI's moderations.
 * Source: https://platform.openai.com/docs/api-reference/moderations
 */
import { Context, Data, Effect, Layer, Redacted } from "effect"
import { CallDeadlines, type Deadlines } from "../deadlines.ts"
import { isFlagged } from "../dialects/openai-chat/moderation.ts"
import { type JsonObject, objectAt, objectsAt, parseObject } from "../dialects/parse/json.ts"
import { fetchWhole, type UpstreamBroken, VendorClient } from "../upstream/client.ts"
import type { ModerationCheck } from "./policy.ts"

/** The endpoint did not answer in time, or its reply is invalid. */
export class ModerationFailed extends Data.TaggedError("ModerationFailed")<{ readonly cause: unknown }> {}

export class ModerationEngine extends Context.Service<
  ModerationEngine,
  {
    /** Whether the endpoint flags a text. */
    readonly flags: (check: ModerationCheck, text: string) => Effect.Effect<boolean, ModerationFailed>
  }
>()("weir/policies/ModerationEngine") {
  static readonly layer = Layer.effect(
    ModerationEngine,
    Effect.gen(function* () {
      const client = yield* VendorClient
      const deadlines = yield* CallDeadlines
      return ModerationEngine.of({
        flags: (check, text) =>
          ask(client, deadlines, check, text).pipe(
            Effect.mapError((cause) => (cause instanceof ModerationFailed ? cause : new ModerationFailed({ cause }))),
          ),
      })
    }),
  )
}

/** Endpoints limit the size of a text and accept several at once. */
const inputChars = 32 * 1024
/** The characters that two pieces share, so that no denied text hides in a cut. */
const sharedChars = 1024
const maxReplyBytes = 4 * 1024 * 1024

/** A text in pieces that an endpoint takes, none of which begins or ends in the middle of a character. */
export const piecesOf = (text: string): ReadonlyArray<string> => {
  const pieces: Array<string> = []
  for (let from = 0, to = 0; to < text.length; from = wholeAt(text, to - sharedChars)) {
    to = wholeAt(text, from + inputChars)
    pieces.push(text.slice(from, to))
  }
  return pieces
}

/** The place itself, or the one before it if that cuts a pair of surrogates. */
const wholeAt = (text: string, at: number): number => (isLowSurrogate(text.charCodeAt(at)) ? at - 1 : at)
const isLowSurrogate = (code: number): boolean => code >= 0xdc00 && code <= 0xdfff

const ask = Effect.fnUntraced(function* (
  client: VendorClient["Service"],
  deadlines: Deadlines,
  { baseUrl, credential, model, categories, timeoutMs }: ModerationCheck,
  text: string,
): Effect.fn.Return<boolean, ModerationFailed | UpstreamBroken> {
  const input = piecesOf(text)
  const request = {
    baseUrl,
    path: "/moderations",
    headers: credential === undefined ? {} : { authorization: `Bearer ${Redacted.value(credential)}` },
    body: JSON.stringify({ ...(model !== undefined && { model }), input }),
  }
  const { status, body } = yield* fetchWhole(client, request, maxReplyBytes, { deadlines, timeoutMs })
  if (status !== 200) return yield* new ModerationFailed({ cause: `status ${status}` })
  const results = objectsAt(parseObject(body), "results")
  if (results.length < input.length) return yield* new ModerationFailed({ cause: "the reply is not in shape" })
  if (results.some((result) => isFlagged(result) === undefined)) {
    return yield* new ModerationFailed({ cause: "a result does not say whether it flags" })
  }
  return results.some((result) => objects(result, categories))
})

const objects = (result: JsonObject, categories: ReadonlyArray<string> | undefined): boolean =>
  categories === undefined
    ? isFlagged(result) === true
    : categories.some((category) => objectAt(result, "categories")?.[category] === true)
