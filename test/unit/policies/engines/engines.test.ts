/** All kinds of engines in the same situations: up, slow, killed, lying, busy, and long texts. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest"
import { type Asking, policyOf, startAsking } from "../../../support/engines/asking.ts"
import { type EnginesOfTest, kinds, startEngines } from "../../../support/engines/kinds.ts"
import { forbidden } from "../../../support/engines/rules.ts"
import type { Mood } from "../../../support/engines/twin.ts"

let engines: EnginesOfTest
let asking: Asking
beforeAll(async () => {
  engines = await startEngines()
})
afterAll(() => engines.stop())
// Each test has engines that were never asked.
beforeEach(async () => {
  asking = await startAsking()
  return () => asking.stop()
})

const clean = { isFlagged: false, spans: [] }
/** A word that each kind of engine flags. */
const badWord = (kind: string) => (kind === "presidio" ? "ada@example.com" : forbidden)

describe.each(kinds)("%s", (kind) => {
  const ready = (more: object = {}) => {
    const { twin, match } = engines.of(kind)
    twin.mood = "up"
    twin.most = 0
    twin.received.length = 0
    twin.refusals.length = 0
    return { twin, policy: policyOf(engines, match(more)) }
  }

  it("passes a clean text and flags another, in both directions; nothing is refused", async () => {
    const { twin, policy } = ready()
    for (const direction of ["inbound", "outbound"] as const) {
      expect(await asking.review(policy, { direction })).toEqual(clean)
      expect(await asking.review(policy, { direction, earlier: "Who is there?" })).toEqual(clean)
      const text = `A ${badWord(kind)} thing`
      expect(await asking.review(policy, { direction, text })).toMatchObject({ isFlagged: true })
      expect(await asking.review(policy, { direction, text, earlier: "Go on" })).toMatchObject({ isFlagged: true })
    }
    expect(twin.refusals).toEqual([])
  })

  it.each(["", "  \n\t "])("is not asked about %j", async (text) => {
    const { twin, policy } = ready()
    expect(await asking.review(policy, { text })).toEqual(clean)
    expect(twin.received.length).toBe(0)
  })

  it("finds a word in a long text wherever it is cut, and gets no piece that it refuses", async () => {
    const { twin, policy } = ready()
    for (const at of [7990, 9992, 32_760, 39_000]) {
      const text = `${"🌊 river ".repeat(6000).slice(0, at)} ${badWord(kind)}${" end 🌊".repeat(500)}`
      expect(await asking.review(policy, { text })).toMatchObject({ isFlagged: true })
    }
    expect(await asking.review(policy, { text: "🌊 river ".repeat(6000) })).toEqual(clean)
    expect(twin.refusals).toEqual([])
    expect(twin.received.every(({ body }) => body.isWellFormed())).toBe(true)
  })

  it("takes a text with half a character", async () => {
    const { twin, policy } = ready()
    expect(await asking.review(policy, { text: "river \ud83c and \udf0a sea" })).toEqual(clean)
    expect(twin.refusals).toEqual([])
    // Readers of JSON refuse the escape of half a character.
    for (const { body } of twin.received) expect(body).not.toMatch(/\\ud[89a-f]/i)
  })

  const html = { body: "<html>Sign in</html>", headers: { "content-type": "text/html" } }
  it.each<[string, Mood, string]>([
    ["silent", "silent", "timeout"],
    ["slow", { afterMs: 5000 }, "timeout"],
    ["killed in the middle of its answer", "killed", "unreachable"],
    ["a page of HTML", html, "malformed"],
    ["an error with status 200", { body: { error: { message: "overloaded" } } }, "malformed"],
    ["null", { body: "null" }, "malformed"],
    ["nothing", { body: "" }, "malformed"],
    ["half a JSON", { body: '{"flagged": false, "results": [' }, "malformed"],
    ["a list with a number", { body: "[5]" }, "malformed"],
    ["an empty object", { body: {} }, "malformed"],
    ["a redirect", { status: 302, body: "", headers: { location: "http://169.254.169.254/" } }, "refused"],
    ["400", { status: 400, body: { error: forbidden } }, "refused"],
    ["401", { status: 401, body: "" }, "unauthorized"],
    ["403", { status: 403, body: "" }, "unauthorized"],
    ["413", { status: 413, body: "" }, "refused"],
    ["429", { status: 429, body: "", headers: { "retry-after": "1" } }, "busy"],
    ["500", { status: 500, body: { error: "No text provided" } }, "error"],
  ])("has no verdict if it is, or answers, %s", async (_name, mood, reason) => {
    // The identity is there before the clock of the question begins.
    expect(await asking.review(ready().policy, { text: "warm up" })).toEqual(clean)
    const { twin, policy } = ready({ timeout: reason === "timeout" ? "300ms" : "3s" })
    twin.mood = mood
    const before = twin.received.length
    const beganAt = Date.now()
    expect(await asking.review(policy, { text: "Good evening" })).toBe(reason)
    expect(Date.now() - beganAt).toBeLessThan(4000)
    // A question is asked once: what is slow would get slower.
    const asked = kind === "azure-content-safety" ? 2 : 1
    expect(twin.received.length - before).toBeLessThanOrEqual(asked)
  })

  it("is not called any more after failures in a row, and is tried again", async () => {
    const { twin, policy } = ready({ timeout: "2s" })
    twin.mood = { status: 500, body: "" }
    // Azure is asked two questions about a text.
    const texts = kind === "azure-content-safety" ? 3 : 5
    for (let at = 0; at < texts; at++) expect(await asking.review(policy, {})).toMatch(/error|cooling/)
    const calls = twin.received.length
    expect(await asking.review(policy, {})).toBe("cooling")
    expect(twin.received.length).toBe(calls)
    twin.mood = "up"
    await new Promise((resolve) => setTimeout(resolve, 1100))
    expect(await asking.review(policy, {})).toEqual(clean)
    expect(await asking.review(policy, {})).toEqual(clean)
  })

  it("is left alone for as long as it asks", async () => {
    const { twin, policy } = ready({ timeout: "2s" })
    twin.mood = { status: 429, body: "", headers: { "retry-after": "1" } }
    expect(await asking.review(policy, {})).toBe("busy")
    const calls = twin.received.length
    twin.mood = "up"
    expect(await asking.review(policy, {})).toBe("cooling")
    expect(twin.received.length).toBe(calls)
    await new Promise((resolve) => setTimeout(resolve, 1050))
    expect(await asking.review(policy, {})).toEqual(clean)
  })

  it("stays in service after texts that it refuses", async () => {
    const { twin, policy } = ready()
    twin.mood = { status: 400, body: "" }
    for (let at = 0; at < 8; at++) expect(await asking.review(policy, {})).toBe("refused")
    twin.mood = "up"
    expect(await asking.review(policy, {})).toEqual(clean)
  })

  it("gets a bounded number of questions at once; others wait until their deadline", async () => {
    const { twin, policy } = ready({ timeout: "5s" })
    expect(await asking.review(policy, {})).toEqual(clean)
    twin.mood = { afterMs: 20 }
    const verdicts = await Promise.all(Array.from({ length: 100 }, () => asking.review(policy, {})))
    expect(verdicts.every((verdict) => typeof verdict === "object")).toBe(true)
    expect(twin.most).toBeLessThanOrEqual(32)
    expect(twin.most).toBeGreaterThan(8)
  })
})

it("an address where nobody listens gives no verdict", async () => {
  const policy = policyOf(engines, engines.of("lakera").match({ baseUrl: "http://127.0.0.1:9" }))
  expect(await asking.review(policy, {})).toBe("unreachable")
})

it.each([
  ["presidio", { credential: "env:NOBODY" }],
  ["bedrock-guardrail", { aws: { region: "eu-west-1", accessKeyId: "env:NOBODY", secretAccessKey: "env:NOBODY" } }],
  ["azure-content-safety", { credential: "env:NOBODY" }],
  ["model-armor", { credentials: "env:NOBODY" }],
  ["lakera", { credential: "env:NOBODY" }],
  ["webhook", { secret: "env:NOBODY" }],
  ["webhook", { secret: "env:WEIR_TEST_VENDOR" }],
  ["moderation", { credential: "env:NOBODY" }],
] as const)("%s without its secret (%j) is not called", async (kind, more) => {
  const { twin, match } = engines.of(kind)
  const calls = twin.received.length
  expect(await asking.review(policyOf(engines, match(more)), {})).toBe("credential")
  expect(twin.received.length).toBe(calls)
})
