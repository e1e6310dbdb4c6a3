/**
 * An endpoint with the API of OpenAI's moderations. It gets all pieces of a text at once.
 * Source: https://platform.openai.com/docs/api-reference/moderations
 */
import { isFlagged } from "../../dialects/openai-chat/moderation.ts"
import { type JsonObject, objectAt, objectsAt, parseObject } from "../../dialects/parse/json.ts"
import type { Moderation } from "../../protocol/catalogue/policy.ts"
import { type Access, type Answer, type Engine, malformed, verdict } from "./engine.ts"
import { bearer } from "./headers.ts"

/** Endpoints limit the size of a text and accept several at once. */
const longestPiece = 32 * 1024

export const moderation = ({ baseUrl, model, categories }: Moderation, { secret, network }: Access): Engine => ({
  kind: "moderation",
  longestPiece,
  questions: (pieces) => {
    const input = pieces.map(({ text }) => text)
    const way = {
      address: baseUrl,
      baseUrl,
      path: "/moderations",
      headers: bearer(secret),
      body: JSON.stringify({ ...(model !== undefined && { model }), input }),
      identity: undefined,
      network,
      read: ({ body }: { readonly body: string }) => readResults(parseObject(body), input.length, categories),
    }
    return [{ at: 0, texts: input, ways: [way] }]
  },
})

const readResults = (
  reply: JsonObject | undefined,
  asked: number,
  categories: ReadonlyArray<string> | undefined,
): Answer => {
  const results = objectsAt(reply, "results")
  if (results.some((result) => objects(result, categories))) return verdict(true)
  if (results.length < asked || results.some((result) => isFlagged(result) === undefined)) return malformed
  return verdict(false)
}

const objects = (result: JsonObject, categories: ReadonlyArray<string> | undefined): boolean =>
  categories === undefined
    ? isFlagged(result) === true
    : categories.some((category) => objectAt(result, "categories")?.[category] === true)
