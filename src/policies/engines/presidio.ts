/**
 * Presidio's analyzer. Its offsets are code points, and it answers 500 for requests that it cannot read too.
 * Source: https://microsoft.github.io/presidio/api-docs/api-docs.html
 */
import { Result } from "effect"
import { isObject, type JsonObject, numberAt, parseReply, stringAt } from "../../dialects/parse/json.ts"
import type { PresidioEngine } from "../../protocol/catalogue/policy-engine.ts"
import { type Access, type Answer, type Engine, malformed } from "./engine.ts"
import { bearer } from "./headers.ts"
import { codePointPlaces, type Span, wordOf } from "./spans.ts"

/** The analyzer reads a text with a language model, whose time and memory grow with the text. */
const longestPiece = 32 * 1024

export const presidio = (
  { baseUrl, language = "en", entities, threshold }: PresidioEngine,
  { secret, network }: Access,
): Engine => ({
  kind: "presidio",
  longestPiece,
  questions: (pieces) =>
    pieces.map(({ at, text }) => ({
      at,
      texts: [text],
      ways: [
        {
          address: baseUrl,
          baseUrl,
          path: "/analyze",
          headers: bearer(secret),
          body: JSON.stringify({
            text,
            language,
            ...(entities !== undefined && { entities }),
            ...(threshold !== undefined && { score_threshold: threshold }),
          }),
          identity: undefined,
          network,
          read: ({ body }) => readFindings(body, text),
        },
      ],
    })),
})

const readFindings = (body: string, text: string): Answer => {
  const findings = body.trimStart().startsWith("[") ? parseReply(body)?.["list"] : undefined
  if (!Array.isArray(findings) || !findings.every(isObject)) return malformed
  const placeOf = codePointPlaces(text)
  const spans: Array<Span> = []
  // The surest comes first: of those at one place, it gives the word.
  for (const finding of [...findings].sort((a, b) => scoreOf(b) - scoreOf(a))) {
    const place = placeOf(finding)
    const type = stringAt(finding, "entity_type")
    // A finding without a place cannot be masked: this is no verdict.
    if (place === undefined || type === undefined) return malformed
    spans.push({ ...place, label: wordOf(type) })
  }
  return Result.succeed({ isFlagged: spans.length > 0, spans })
}

const scoreOf = (finding: JsonObject): number => numberAt(finding, "score") ?? 0
