/** Rules: what they match, in how much time; and what of a request they see. */
import { describe, expect, it } from "@effect/vitest"
import { Effect, Result, Schema } from "effect"
import { compilePolicy } from "../../../src/policies/policy.ts"
import { countMatches } from "../../../src/policies/review.ts"
import { textOfPrompt } from "../../../src/policies/texts.ts"
import type { Policy } from "../../../src/protocol/catalogue/policy.ts"

const rule = (match: Policy["match"]) =>
  compilePolicy({ id: "p", direction: "inbound", reason: "no", match }, () => undefined)
const matcher = (match: Policy["match"]) => {
  const { check } = Result.getOrThrow(rule(match))
  if (check.kind !== "rules") throw new Error("rules were meant")
  return (text: string) => Effect.runSync(countMatches(check, text)) > 0
}

describe("regex", () => {
  it.each([
    ["BEGIN (RSA|OPENSSH) PRIVATE KEY", "-----BEGIN RSA PRIVATE KEY-----", true],
    ["BEGIN (RSA|OPENSSH) PRIVATE KEY", "begin rsa private key", false],
    ["(?i)begin (rsa|openssh) private key", "BEGIN OPENSSH PRIVATE KEY", true],
    ["^secret$", "no secret", false],
    ["(?m)^secret$", "no\nsecret\nhere", true],
    [String.raw`\b\d{3}-\d{2}-\d{4}\b`, "ssn 078-05-1120.", true],
    [String.raw`\p{Han}`, "漢字", true],
  ])("%s on %j: %s", (regex, text, found) => {
    expect(matcher({ regex })(text)).toBe(found)
  })

  it.each(["(?=x)", "(a", "[z-a]", String.raw`(\w)\1`])("%s is refused, with what is wrong", (regex) => {
    const refused = rule({ regex })
    expect(Result.isFailure(refused) && refused.failure.length).toBeGreaterThan(10)
  })

  it("that is far too long is refused before it is compiled", () => {
    const regex = Array.from({ length: 100_000 }, (_, at) => `w${at}`).join("|")
    const startedAt = performance.now()
    expect(rule({ regex })).toEqual(
      Result.fail(
        `the pattern is too large: ${regex.length} characters, and 32768 are allowed, with 5000 instructions`,
      ),
    )
    expect(performance.now() - startedAt).toBeLessThan(200)
  })

  it.each([
    ["(a+)+$", `${"a".repeat(200_000)}b`],
    ["(a|aa)+$", `${"a".repeat(200_000)}b`],
    ["(.*)*x", "y".repeat(200_000)],
    ["(x+x+)+y", "x".repeat(200_000)],
  ])("%s takes linear time on the text that it was made for", (regex, text) => {
    const matches = matcher({ regex })
    const time = (sample: string) => {
      const began = performance.now()
      matches(sample)
      return performance.now() - began
    }
    time(text)
    // Ten times the text may take a hundred times as long where time is quadratic, and for ever where it is worse.
    expect(time(text)).toBeLessThan(40 * Math.max(time(text.slice(0, 20_000)), 5))
  })
})

describe("keywords", () => {
  it.effect("are found in a long text wherever they are, and in whatever form", () =>
    Effect.gen(function* () {
      const { check } = Result.getOrThrow(rule({ keywords: ["forbidden"] }))
      if (check.kind !== "rules") throw new Error("rules were meant")
      for (const word of ["forbidden", "ＦＯＲＢＩＤＤＥＮ", "forbidden\u0301".normalize("NFD")]) {
        for (const at of [0, 32_760, 32_766, 32_768, 65_530, 99_000]) {
          const text = `${"x".repeat(at)}${word}${"y".repeat(100_000 - at)}`
          expect(yield* countMatches(check, text), `${word} at ${at}`).toBe(word.endsWith("\u0301") ? 0 : 1)
        }
      }
      expect(yield* countMatches(check, "forbidde ".repeat(20_000))).toBe(0)
    }),
  )

  it.each([
    ["Forbidden", "this is FORBIDDEN", true],
    ["forbidden", "ｆｏｒｂｉｄｄｅｎ in full width", true],
    ["ﬁle", "FILE", true],
    ["forbidden", "for bidden", false],
  ])("%s in %j: %s", (keyword, text, found) => {
    expect(matcher({ keywords: ["other", keyword] })(text)).toBe(found)
  })

  it.each([" ", "\u00a0\t", "\u200b"])("%j is refused: it has nothing to find", (keyword) => {
    expect(rule({ keywords: ["other", keyword] })).toEqual(
      Result.fail(`the keyword ${JSON.stringify(keyword)} has no visible character`),
    )
  })

  it.prop(
    "a text that holds a keyword is found, whatever stands around it",
    [Schema.String, Schema.String],
    ([a, b]) => {
      expect(matcher({ keywords: ["needle"] })(`${a} needle ${b}`)).toBe(true)
    },
  )
})

describe("what is reviewed", () => {
  it("checks all text that a model reads; blocks of one message are joined as vendors join them", () => {
    const text = textOfPrompt(
      [
        {
          role: "system",
          blocks: [
            { t: "text", v: "sys" },
            { t: "text", v: "tem" },
          ],
        },
        {
          role: "user",
          blocks: [
            { t: "file", mime: "text/plain", data: Buffer.from("file-text").toString("base64") },
            { t: "file", mime: "application/json", data: Buffer.from('{"a":"json-text"}').toString("base64") },
            { t: "file", mime: "text/plain", data: Buffer.from("latin-text \xe9", "latin1").toString("base64") },
            { t: "file", mime: "application/pdf", data: Buffer.from("%PDF \xff", "latin1").toString("base64") },
            { t: "image", mime: "image/png", data: "AAAA" },
          ],
        },
        {
          role: "assistant",
          blocks: [
            { t: "reasoning", v: "opaque", redacted: true },
            { t: "reasoning", v: "thought" },
            { t: "tool_call", id: "a", name: "f", input: { argument: "value" } },
          ],
        },
        { role: "tool", blocks: [{ t: "tool_result", id: "a", v: "result" }] },
      ],
      [{ name: "tool-name", description: "tool-description", inputSchema: { title: "schema-title" } }],
    )
    for (const part of [
      "tool-name",
      "tool-description",
      "schema-title",
      "system",
      "file-text",
      "json-text",
      "latin-text",
      "thought",
      "argument",
      "result",
    ]) {
      expect(text).toContain(part)
    }
    for (const part of ["AAAA", "opaque", "%PDF"]) expect(text).not.toContain(part)
  })
})
