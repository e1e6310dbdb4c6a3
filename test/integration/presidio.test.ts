/** A real Presidio: its findings in a text, and its failures. SVC_TEST_PRESIDIO_PYTHON is an interpreter that has it. */
import { setTimeout as sleep } from "node:timers/promises"
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest"
import type { Span } from "../../src/policies/engines/spans.ts"
import { type Asking, policyOf, startAsking } from "../support/engines/asking.ts"
import { type EnginesOfTest, startEngines } from "../support/engines/kinds.ts"
import { type PresidioProcess, presidioPython, startPresidio } from "../support/engines/presidio-process.ts"

/** A text whose findings are replaced by marks. */
const masked = (text: string, spans: ReadonlyArray<Span>): string =>
  [...spans].reverse().reduce((whole, { start, end, label }) => {
    return `${whole.slice(0, start)}<${label}>${whole.slice(end)}`
  }, text)

describe.skipIf(presidioPython === undefined)("Presidio", () => {
  let presidio: PresidioProcess
  let engines: EnginesOfTest
  let asking: Asking
  beforeAll(async () => {
    presidio = await startPresidio()
    engines = await startEngines()
  }, 60_000)
  afterAll(() => {
    engines.stop()
    presidio.child.kill("SIGKILL")
  })
  beforeEach(async () => {
    asking = await startAsking()
    return () => asking.stop()
  })

  const policy = (more: object = {}) =>
    policyOf(engines, engines.of("presidio").match({ baseUrl: presidio.url, timeout: "10s", ...more }))
  const sure = { threshold: 0.5 }

  const find = async (text: string, more: object = sure): Promise<string> => {
    const spans = await asking.find(policy(more), text)
    return typeof spans === "string" ? spans : masked(text, spans)
  }

  it.each([
    ["Write to ada@example.com.", "Write to <EMAIL>."],
    ["🌊👩‍🚀 漢 ada@example.com 🌊, or bob@example.org", "🌊👩‍🚀 漢 <EMAIL> 🌊, or <EMAIL>"],
    ["half \ud83c: ada@example.com", "half \ud83c: <EMAIL>"],
    ["My card 🌊 is 4111 1111 1111 1111, thanks", "My card 🌊 is <CARD>, thanks"],
    ["At 192.0.2.17 🌊 runs nothing", "At <IP> 🌊 runs nothing"],
    ["Nothing of anybody 🌊", "Nothing of anybody 🌊"],
    [" \n", " \n"],
  ])("%j becomes %j", async (text, expected) => {
    expect(await find(text)).toBe(expected)
  })

  it("finds the entities that are set, and no others", async () => {
    const text = "ada@example.com has 4111 1111 1111 1111"
    expect(await find(text, { ...sure, entities: ["EMAIL_ADDRESS"] })).toBe("<EMAIL> has 4111 1111 1111 1111")
  })

  it("finds each address of a long text, at the edges of its pieces too", async () => {
    const edges = [30_700, 31_740, 32_750, 32_760, 33_000, 63_480, 64_490]
    const filler = "up and down. ".repeat(5000)
    let text = "🌊"
    for (const edge of edges) text += `${filler.slice(0, edge - text.length - 1)} ada@example.com 🌊`
    const expected = text.replaceAll("ada@example.com", "<EMAIL>")
    expect(await find(text)).toBe(expected)
  })

  it("answers questions that come together", async () => {
    const texts = Array.from({ length: 40 }, (_, at) => `${"🌊".repeat(at)} ada${at}@example.com`)
    const found = await Promise.all(texts.map((text) => find(text)))
    expect(found).toEqual(texts.map((_, at) => `${"🌊".repeat(at)} <EMAIL>`))
  })

  it("has no verdict in a language, and about an entity, that it does not know", async () => {
    expect(await find("ada@example.com", { language: "tlh" })).toBe("error")
    expect(await find("ada@example.com", { entities: ["NO_SUCH_ENTITY"] })).toBe("error")
  })

  it("is too slow when it is stopped, and works again afterwards", async () => {
    expect(await find("ada@example.com")).toBe("<EMAIL>")
    presidio.child.kill("SIGSTOP")
    const beganAt = Date.now()
    expect(await find("ada@example.com", { timeout: "300ms" })).toBe("timeout")
    expect(Date.now() - beganAt).toBeLessThan(2000)
    presidio.child.kill("SIGCONT")
    expect(await find("ada@example.com")).toBe("<EMAIL>")
  })

  it("has no verdict when it is killed, in the middle of a question and later", async () => {
    const killed = await startPresidio()
    const ofKilled = policy({ baseUrl: killed.url })
    killed.child.kill("SIGSTOP")
    const asked = asking.find(ofKilled, "ada@example.com")
    await sleep(100)
    killed.child.kill("SIGKILL")
    expect(await asked).toBe("unreachable")
    expect(await asking.find(ofKilled, "ada@example.com")).toBe("unreachable")
  })
})
