/**
 * A guardrail of Amazon Bedrock, by ApplyGuardrail. It has no offsets, and its findings contain the text: only their actions
 * are read. Source: https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ApplyGuardrail.html
 */
import { isObject, type JsonObject, numberAt, objectAt, parseObject, stringAt } from "../../dialects/parse/json.ts"
import type { BedrockGuardrailEngine } from "../../protocol/catalogue/policy-engine.ts"
import { type Access, type Answer, type Engine, malformed, partial, verdict } from "./engine.ts"
import { anyWithin } from "./findings.ts"
import { bearer } from "./headers.ts"

/** Ten text units of 1,000 characters, in which Amazon counts and limits. */
const longestPiece = 10_000

export const bedrockGuardrail = (
  { guardrail, version, aws: { region }, baseUrl = addressOf(region) }: BedrockGuardrailEngine,
  { secret, identity, network }: Access,
): Engine => {
  const path = `/guardrail/${encodeURIComponent(guardrail)}/version/${version}/apply`
  return {
    kind: "bedrock-guardrail",
    longestPiece,
    questions: (pieces, { direction }) =>
      pieces.map(({ at, text }) => ({
        at,
        texts: [text],
        ways: [
          {
            address: baseUrl,
            baseUrl,
            path,
            headers: bearer(secret),
            body: JSON.stringify({
              source: direction === "inbound" ? "INPUT" : "OUTPUT",
              content: [{ text: { text } }],
            }),
            identity,
            network,
            read: ({ body }) => readAction(parseObject(body)),
          },
        ],
      })),
  }
}

/** AWS in China has a domain of its own. */
const addressOf = (region: string): string =>
  `https://bedrock-runtime.${region}.amazonaws.com${region.startsWith("cn-") ? ".cn" : ""}`

/** A mask of the guardrail counts as a finding: the text as it is would have been changed. */
const readAction = (reply: JsonObject | undefined): Answer => {
  const action = stringAt(reply, "action")
  const isFound = anyWithin(reply?.["assessments"], ({ action: did }) => did === "BLOCKED" || did === "ANONYMIZED")
  if (action === "GUARDRAIL_INTERVENED" || isFound) return verdict(true)
  if (action !== "NONE" || !Array.isArray(reply?.["assessments"])) return malformed
  return isCovered(reply) ? verdict(false) : partial
}

/** Whether all characters were looked at; an older answer does not say. */
const isCovered = (reply: JsonObject): boolean => {
  const coverage = objectAt(objectAt(reply, "guardrailCoverage"), "textCharacters")
  if (!isObject(coverage)) return true
  const [guarded, total] = [numberAt(coverage, "guarded"), numberAt(coverage, "total")]
  return guarded === undefined || total === undefined || guarded >= total
}
