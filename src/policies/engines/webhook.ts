/**
 * A service of the operator's own: a POST with a text, signed as webhooks are, and an answer that says whether it is flagged. Its
 * form is documented on the page Policies.
 */
import { randomUUID } from "node:crypto"
import { Redacted, Result } from "effect"
import { isObject, type JsonObject, parseObject, stringAt } from "../../dialects/parse/json.ts"
import type { WebhookEngine } from "../../protocol/catalogue/policy-engine.ts"
import { signedHeaders } from "../../upstream/webhook-signing.ts"
import { type Access, type Answer, type Engine, malformed } from "./engine.ts"
import { type Span, unitPlaces, wordOf } from "./spans.ts"

const longestPiece = 64 * 1024

export const webhook = ({ url }: WebhookEngine, { secret, formerSecret, network }: Access): Engine => {
  const { origin, pathname } = new URL(url)
  const secrets = [secret, formerSecret].flatMap((each) => (each === undefined ? [] : [Redacted.value(each)]))
  return {
    kind: "webhook",
    longestPiece,
    questions: (pieces, { policy, direction, requestId, nowMs }) =>
      pieces.map(({ at, text }) => {
        const body = JSON.stringify({ policy, direction, text, requestId })
        return {
          at,
          texts: [text],
          ways: [
            {
              address: url,
              baseUrl: origin,
              path: pathname,
              headers: signedHeaders(secrets, randomUUID(), Math.floor(nowMs / 1000), body),
              body,
              identity: undefined,
              network,
              read: ({ body: reply }) => readVerdict(parseObject(reply), text),
            },
          ],
        }
      }),
  }
}

const readVerdict = (reply: JsonObject | undefined, text: string): Answer => {
  const isFlagged = reply?.["flagged"]
  const { spans: listed = [] } = reply ?? {}
  if (typeof isFlagged !== "boolean" || !Array.isArray(listed)) return malformed
  if (!isFlagged) return listed.length === 0 ? Result.succeed({ isFlagged, spans: [] }) : malformed
  const placeOf = unitPlaces(text)
  const spans = listed.map((each: unknown): Span | undefined => {
    const place = placeOf(each)
    const label = isObject(each) ? (stringAt(each, "label") ?? "") : ""
    return place && { ...place, label: wordOf(label) }
  })
  return spans.every((span) => span !== undefined) ? Result.succeed({ isFlagged, spans }) : malformed
}
