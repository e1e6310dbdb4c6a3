/**
 * Google's Model Armor. Its summary may say that nothing matched where a filter says that something did, and a filter may have
 * been skipped: all states are read. Source: https://docs.cloud.google.com/model-armor/sanitize-prompts-responses
 */
import { type JsonObject, objectAt, parseObject, stringAt } from "../../dialects/parse/json.ts"
import type { ModelArmorEngine } from "../../protocol/catalogue/policy-engine.ts"
import { type Access, type Answer, type Engine, malformed, partial, verdict } from "./engine.ts"
import { anyWithin } from "./findings.ts"

/** Filters skip texts of more than some thousand tokens; a character is seldom more than one. */
const longestPiece = 8000

export const modelArmor = (
  { template, baseUrl = addressOf(template) }: ModelArmorEngine,
  { identity, network }: Access,
): Engine => ({
  kind: "model-armor",
  longestPiece,
  readsEarlier: true,
  questions: (pieces, { direction, earlier }) =>
    pieces.map(({ at, text }) => ({
      at,
      texts: [text],
      ways: [
        {
          address: baseUrl,
          baseUrl,
          path: `/v1/${template}:${direction === "inbound" ? "sanitizeUserPrompt" : "sanitizeModelResponse"}`,
          headers: {},
          body: JSON.stringify(
            direction === "inbound"
              ? { userPromptData: { text } }
              : {
                  modelResponseData: { text },
                  ...(earlier !== undefined && { userPrompt: earlier.slice(-longestPiece).toWellFormed() }),
                },
          ),
          identity,
          network,
          read: ({ body }) => readStates(objectAt(parseObject(body), "sanitizationResult")),
        },
      ],
    })),
})

/** Templates are in a location, and only its own address has them. */
const addressOf = (template: string): string => `https://modelarmor.${template.split("/")[3] ?? ""}.rep.googleapis.com`

const readStates = (result: JsonObject | undefined): Answer => {
  const isMatch = ({ matchState, filterMatchState }: JsonObject) =>
    matchState === "MATCH_FOUND" || filterMatchState === "MATCH_FOUND"
  if (anyWithin(result, isMatch)) return verdict(true)
  if (stringAt(result, "filterMatchState") !== "NO_MATCH_FOUND") return malformed
  if (stringAt(result, "invocationResult") !== "SUCCESS") return partial
  const isUnfinished = ({ executionState = "EXECUTION_SUCCESS" }: JsonObject) => executionState !== "EXECUTION_SUCCESS"
  return anyWithin(result, isUnfinished) ? partial : verdict(false)
}
