/** Reasoning that a vendor signed, on its way through clients of each API. */
import { describe, expect, it } from "vitest"
import {
  signatureFor,
  signatureFromGemini,
  signatureFromResponses,
  signatureToGemini,
  signatureToResponses,
  signFor,
} from "../../../src/dialects/vendor/signature.ts"

const signatures = [
  signFor("anthropic", "EqQBCg+/w=="),
  signFor("openai", "rs_1:gAAAA_sealed=="),
  signFor("gemini", "CiQBcsjafN+/="),
  signFor("openrouter", '[{"type":"reasoning.text","text":"é"}]'),
]

describe("a signature", () => {
  it.each(signatures)("%s comes back from a client of Gemini's API, which takes base64 only", (signature) => {
    const told = signatureToGemini(signature)
    expect(Buffer.from(told, "base64").toString("base64").replace(/=+$/, "")).toBe(told.replace(/=+$/, ""))
    expect(signatureFromGemini(told)).toBe(signature)
  })

  it.each(signatures)("%s comes back from a client of OpenAI's responses", (signature) => {
    expect(signatureFromResponses(signatureToResponses(signature), "rs_another")).toBe(signature)
  })

  it("of a thread that began at the vendor itself goes to that vendor", () => {
    expect(signatureFor("gemini", signatureFromGemini("context_engineering_is_the_way_to_go"))).toBe(
      "context_engineering_is_the_way_to_go",
    )
    expect(signatureFor("openai", signatureFromResponses("gAAAA_sealed==", "rs_1"))).toBe("rs_1:gAAAA_sealed==")
  })

  it("of one vendor is not given to another", () => {
    for (const signature of signatures) {
      const given = (["anthropic", "openai", "gemini", "openrouter"] as const).filter(
        (dialect) => signatureFor(dialect, signature) !== undefined,
      )
      expect(given).toHaveLength(1)
    }
  })
})
