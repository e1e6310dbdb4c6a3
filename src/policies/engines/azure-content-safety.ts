/**
 * Azure AI Content Safety: severities by category, blocklists, and prompt attacks. It flags nothing by itself: thresholds decide.
 * Source: https://learn.microsoft.com/rest/api/contentsafety/text-operations/analyze-text
 */
import { Redacted } from "effect"
import { isObject, type JsonObject, numberAt, objectAt, objectsAt, parseObject } from "../../dialects/parse/json.ts"
import type { AzureContentSafetyEngine } from "../../protocol/catalogue/policy-engine.ts"
import { type Access, type Answer, type Engine, malformed, partial, verdict, type Way } from "./engine.ts"

/** Azure counts code points, of which a text has no more than UTF-16 code units. */
const longestPiece = 10_000

const version = "api-version=2024-09-01"
/** Medium, from which Azure's own filters of models withhold. */
const usual = 4

export const azureContentSafety = (
  { baseUrl, thresholds, blocklists, shieldPrompt = false }: AzureContentSafetyEngine,
  { secret, identity, network }: Access,
): Engine => {
  const limits = Object.entries(thresholds ?? { Hate: usual, SelfHarm: usual, Sexual: usual, Violence: usual })
  const way = (path: string, body: object, read: (reply: JsonObject | undefined) => Answer): Way => ({
    address: baseUrl,
    baseUrl,
    path: `/contentsafety/${path}?${version}`,
    headers: secret === undefined ? {} : { "ocp-apim-subscription-key": Redacted.value(secret) },
    body: JSON.stringify(body),
    identity,
    network,
    read: ({ body: reply }) => read(parseObject(reply)),
  })
  const analyze = (text: string) =>
    way(
      "text:analyze",
      {
        text,
        categories: limits.map(([category]) => category),
        ...(blocklists !== undefined && { blocklistNames: blocklists, haltOnBlocklistHit: false }),
        outputType: "EightSeverityLevels",
      },
      readAnalysis(limits),
    )
  const shield = (text: string) => way("text:shieldPrompt", { userPrompt: text, documents: [] }, readShield)
  return {
    kind: "azure-content-safety",
    longestPiece,
    questions: (pieces, { direction }) =>
      pieces.flatMap(({ at, text }) => [
        { at, texts: [text], ways: [analyze(text)] },
        ...(shieldPrompt && direction === "inbound" ? [{ at, texts: [text], ways: [shield(text)] }] : []),
      ]),
  }
}

const readAnalysis =
  (limits: ReadonlyArray<readonly [category: string, from: number]>) =>
  (reply: JsonObject | undefined): Answer => {
    const found = objectsAt(reply, "categoriesAnalysis")
    const severities = limits.map(([name, from]) => {
      const severity = numberAt(
        found.find(({ category }) => category === name),
        "severity",
      )
      return severity === undefined ? undefined : severity >= from
    })
    if (objectsAt(reply, "blocklistsMatch").length > 0 || severities.includes(true)) return verdict(true)
    if (!isObject(reply) || !Array.isArray(reply["categoriesAnalysis"])) return malformed
    return severities.includes(undefined) ? partial : verdict(false)
  }

const readShield = (reply: JsonObject | undefined): Answer => {
  const attack = objectAt(reply, "userPromptAnalysis")?.["attackDetected"]
  return typeof attack === "boolean" ? verdict(attack) : malformed
}
