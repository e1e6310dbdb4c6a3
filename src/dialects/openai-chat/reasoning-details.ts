/**
 * OpenRouter's `reasoning_details`: the reasoning of the underlying vendor, to be returned unchanged.
 * Source: https://openrouter.ai/docs/use-cases/reasoning-tokens#preserving-reasoning-blocks
 */
import { type JsonObject, numberAt, parseObject, stringAt } from "../parse/json.ts"
import { signatureFor, signFor } from "../vendor/signature.ts"

/** Fields whose text arrives in parts. */
const streamed = ["text", "summary", "data"] as const

/** Collects the details of a reply and joins their parts. */
export class ReasoningDetails {
  readonly #details: Array<{ [key: string]: unknown }> = []

  add(piece: JsonObject): void {
    const open = this.#details.find(
      (detail) => detail["type"] === piece["type"] && numberAt(detail, "index") === numberAt(piece, "index"),
    )
    if (open === undefined || numberAt(piece, "index") === undefined) {
      this.#details.push({ ...piece })
      return
    }
    for (const [key, value] of Object.entries(piece)) {
      const isStreamed = streamed.some((name) => name === key)
      open[key] = isStreamed ? (stringAt(open, key) ?? "") + String(value) : (value ?? open[key])
    }
  }

  /**
   * Encodes the details for a later request; undefined if none is signed or encrypted: plain text is not verifiable.
   */
  get signature(): string | undefined {
    const proves = this.#details.some((detail) => stringAt(detail, "signature") ?? stringAt(detail, "data"))
    return proves ? signFor("openrouter", JSON.stringify({ details: this.#details })) : undefined
  }
}

/** The details inside a signature of OpenRouter's. */
export const reasoningDetailsOf = (signature: string | undefined): ReadonlyArray<unknown> => {
  const details = parseObject(signatureFor("openrouter", signature) ?? "")?.["details"]
  return Array.isArray(details) ? details : []
}
