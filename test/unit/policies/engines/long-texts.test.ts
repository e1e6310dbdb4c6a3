/** Texts of many pieces: their findings and their cost; and guard models with several targets. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest"
import { type Asking, policyOf, startAsking } from "../../../support/engines/asking.ts"
import { type EnginesOfTest, type Kind, startEngines, targetAt } from "../../../support/engines/kinds.ts"
import { address, forbidden } from "../../../support/engines/rules.ts"
import { type EngineTwin, startEngineTwin } from "../../../support/engines/twin.ts"

let engines: EnginesOfTest
let asking: Asking
beforeAll(async () => {
  engines = await startEngines()
})
afterAll(() => engines.stop())
beforeEach(async () => {
  asking = await startAsking()
  return () => asking.stop()
})

const ready = (kind: Kind, more: object = {}) => {
  const { twin, match } = engines.of(kind)
  twin.mood = "up"
  twin.received.length = 0
  return { twin, policy: policyOf(engines, match(more)) }
}

const river = "🌊 river ".repeat(20_000)

describe("findings in a whole text", () => {
  it("are at their places in it, once each, also in what pieces share", async () => {
    const { policy } = ready("presidio")
    const parts = [10, 30_000, 31_800, 32_700, 63_000].map((at) => river.slice(0, at).toWellFormed())
    const text = parts.join(` ${address} `)
    const spans = await asking.find(policy, text)
    if (typeof spans === "string") throw new Error(spans)
    expect(spans.map(({ start, end }) => text.slice(start, end))).toEqual(parts.slice(1).map(() => address))
    const found = [...text.matchAll(/ada@example\.com/g)].map(({ index }) => index)
    expect(spans.map(({ start }) => start)).toEqual(found)
    expect(spans.every(({ label }) => label === "EMAIL")).toBe(true)
  })

  it("are none if a piece has no verdict; the text is flagged if another is", async () => {
    const { policy } = ready("presidio")
    const text = `${address} ${river}`
    const failing = await startEngineTwin(({ body }) =>
      body.includes(address)
        ? { body: [{ entity_type: "EMAIL_ADDRESS", start: 0, end: 15, score: 1 }] }
        : { status: 400, body: {} },
    )
    const half = policyOf(engines, engines.of("presidio").match({ baseUrl: failing.url }))
    expect(await asking.find(half, text)).toBe("refused")
    expect(await asking.review(half, { text })).toMatchObject({ isFlagged: true })
    expect(await asking.review(half, { text: river })).toBe("refused")
    expect(await asking.review(policy, { text })).toMatchObject({ isFlagged: true })
    failing.stop()
  })
})

it("a text that is flagged without a place has no findings that could be masked", async () => {
  const { policy } = ready("webhook")
  expect(await asking.find(policy, address)).toEqual([{ start: 0, end: address.length, label: "EMAIL" }])
  expect(await asking.find(policy, forbidden)).toBe("malformed")
  expect(await asking.find(policy, `${address} ${river} ${forbidden}`)).toBe("malformed")
  expect(await asking.find(policy, river)).toEqual([])
})

describe("a text of many pieces", () => {
  it("is not asked about to its end once it is flagged by an engine without places", async () => {
    const { twin, policy } = ready("moderation")
    expect(await asking.review(policy, { text: `${forbidden} ${river}` })).toMatchObject({ isFlagged: true })
    expect(twin.received.length).toBe(1)
    const armor = ready("model-armor")
    expect(await asking.review(armor.policy, { text: `${forbidden} ${river}` })).toMatchObject({ isFlagged: true })
    expect(armor.twin.received.length).toBeLessThan(9)
  })
})

describe("a guard model with two targets", () => {
  let first: EngineTwin
  beforeEach(async () => {
    first = await startEngineTwin(() => ({ status: 503, body: {} }))
    return () => first.stop()
  })
  const policyAt = () => {
    const { twin } = ready("model")
    const targets = () => [targetAt(`${first.url}/v1`), targetAt(`${twin.url}/v1`, 1)]
    return { twin, policy: policyOf({ ...engines, targets }, engines.of("model").match()) }
  }

  it("is asked at the second if the first fails, and only there while that cools down", async () => {
    const { policy } = policyAt()
    for (let at = 0; at < 8; at++) expect(await asking.review(policy, {})).toMatchObject({ isFlagged: false })
    expect(await asking.review(policy, { text: forbidden })).toMatchObject({ isFlagged: true })
    expect(first.received.length).toBe(5)
  })

  it("is not asked again if the first cannot judge: the second is the same model", async () => {
    const { twin, policy } = policyAt()
    first.mood = { body: { choices: [{ index: 0, message: { content: "As you wish" }, finish_reason: "stop" }] } }
    expect(await asking.review(policy, {})).toBe("malformed")
    expect(twin.received.length).toBe(0)
  })

  it("has no verdict without a target", async () => {
    const policy = policyOf({ ...engines, targets: () => [] }, engines.of("model").match())
    expect(await asking.review(policy, {})).toBe("unreachable")
  })
})
