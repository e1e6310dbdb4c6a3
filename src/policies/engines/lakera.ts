/**
 * Lakera Guard. `flagged` decides: its places are there for some findings alone, and are believed only if they have the text
 * that they name. Source: https://docs.lakera.ai/api-reference/lakera-api/guard/screen-content
 */
import { Result } from "effect"
import { type JsonObject, objectsAt, parseObject, stringAt } from "../../dialects/parse/json.ts"
import type { LakeraEngine } from "../../protocol/catalogue/policy-engine.ts"
import { type Access, type Answer, type Engine, malformed } from "./engine.ts"
import { bearer } from "./headers.ts"
import { codePointPlaces, type Span, unitPlaces, wordOf } from "./spans.ts"

const longestPiece = 32 * 1024

export const lakera = (
  { baseUrl = "https://api.lakera.ai", project }: LakeraEngine,
  { secret, network }: Access,
): Engine => ({
  kind: "lakera",
  longestPiece,
  readsEarlier: true,
  questions: (pieces, { direction, earlier }) =>
    pieces.map(({ at, text }) => {
      // It screens the last message in the light of those before it.
      const before = earlier === undefined || earlier.trim() === "" ? [] : [earlier.slice(-longestPiece).toWellFormed()]
      const messages = [
        ...before.map((content) => ({ role: "user", content })),
        { role: direction === "inbound" ? "user" : "assistant", content: text },
      ]
      return {
        at,
        texts: [text],
        ways: [
          {
            address: baseUrl,
            baseUrl,
            path: "/v2/guard",
            headers: bearer(secret),
            body: JSON.stringify({ messages, ...(project !== undefined && { project_id: project }), payload: true }),
            identity: undefined,
            network,
            read: ({ body }) => readGuard(parseObject(body), text, messages.length - 1),
          },
        ],
      }
    }),
})

const readGuard = (reply: JsonObject | undefined, text: string, message: number): Answer => {
  const isFlagged = reply?.["flagged"]
  if (typeof isFlagged !== "boolean") return malformed
  const findings = isFlagged ? objectsAt(reply, "payload") : []
  const placings = [codePointPlaces(text), unitPlaces(text)]
  const spans = findings.flatMap((finding): ReadonlyArray<Span> => {
    if (finding["message_id"] !== message) return []
    const found = placings
      .map((placeOf) => placeOf(finding))
      .find((place) => place !== undefined && text.slice(place.start, place.end) === finding["text"])
    const kind = stringAt(finding, "detector_type")?.split("/").at(-1) ?? ""
    return found === undefined ? [] : [{ ...found, label: wordOf(kind) }]
  })
  return Result.succeed({ isFlagged, spans })
}
