/** Engines of policies with a price: their calls are records, charged once if the organisation pays, and held before they are made. */
import { randomUUID } from "node:crypto"
import { Effect, Schema } from "effect"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { formatAmount } from "../../src/money/amount.ts"
import { answering, hello, newTestIds, readEvents, testCatalogue } from "../../src/testing/index.ts"
import { type EnginesOfTest, startEngines } from "../support/engines/kinds.ts"
import { forbidden } from "../support/engines/rules.ts"
import { balanceOf, errorOf, eventually, holdsOf, useGateway } from "../support/gateway.ts"

const ids = newTestIds()
let engines: EnginesOfTest
beforeAll(async () => {
  engines = await startEngines()
})
afterAll(() => engines.stop())

const gateway = useGateway({ ids, config: { reviewStreamRate: 1 } })

const price = { currency: "USD", perCall: "0.25", perThousandCharacters: "0.5" }
const policyOf = (more: object = {}) => ({
  id: "guarded",
  direction: "inbound",
  reason: "flagged",
  match: engines.of("lakera").match(),
  forAll: true,
  price,
  paidBy: "organisation",
  ...more,
})

const apply = async (more: object = {}) => {
  const { vendor, second, catalogue } = gateway()
  const { twin } = engines.of("lakera")
  twin.mood = "up"
  twin.received.length = 0
  const policies = `policies: ${JSON.stringify([policyOf(more)])}`
  await Effect.runPromise(catalogue.apply(testCatalogue({ vendor: vendor.url, second: second.url }, ids, policies)))
  return twin
}

const saying = (text: string) => ({ ...hello, thread: [{ role: "user", blocks: [{ t: "text", v: text }] }] })
const answer = (...words: ReadonlyArray<string>) =>
  gateway().vendor.script(answering({ words, inTokens: 1000, outTokens: 200 }))

const rows = () => {
  const { sql, orgId } = gateway()
  const statement = sql<{ model: string; vendor: string; purpose: string; cost: string; dims: unknown }>`
    select model, vendor, purpose, cost::text, dims from usage_records where org_id = ${orgId} order by at`
  return Effect.runPromise(statement)
}

/** The records and the charge of a step, besides which nothing is held and the books agree. */
const during = async (step: () => Promise<unknown>) => {
  const before = { rows: await rows(), balance: await balanceOf(gateway()) }
  await step()
  const added = (await rows()).slice(before.rows.length)
  expect((await holdsOf(gateway())).filter(({ state }) => state === "held")).toEqual([])
  const { baseUrl, adminKey } = gateway()
  const doctor = await fetch(`${baseUrl}/v1/admin/doctor`, { headers: { "x-svc-admin-key": adminKey } })
  expect(await doctor.json()).toMatchObject({ findings: [] })
  return {
    charged: formatAmount(before.balance - (await balanceOf(gateway()))),
    calls: added.filter(({ purpose }) => purpose !== "policy"),
    engines: added
      .filter(({ purpose }) => purpose === "policy")
      .map(({ cost, ...rest }) => ({ ...rest, cost: Number(cost) })),
  }
}

const recordOf = (calls: number, characters: number, cost: number) => ({
  model: "policy:guarded",
  vendor: "lakera",
  purpose: "policy",
  dims: { engine_calls: calls, engine_characters: characters },
  cost,
})

describe("an engine that the organisation pays", () => {
  it("is charged for a request, beside the call", async () => {
    await apply()
    answer("fine")
    const { charged, calls, engines } = await during(async () =>
      expect((await gateway().exchange(saying("Good 🌊!"))).status).toBe(200),
    )
    expect(engines).toEqual([recordOf(1, 7, 0.2535)])
    expect(calls).toHaveLength(1)
    expect(Number(charged).toFixed(8)).toBe((0.2535 + Number(calls[0]?.cost)).toFixed(8))
  })

  it("is charged for a request that it denies, and nothing else is", async () => {
    await apply()
    const text = `A ${forbidden} thing`
    const { charged, calls } = await during(async () =>
      expect((await gateway().exchange(saying(text))).status).toBe(403),
    )
    expect([Number(charged), calls]).toEqual([0.25 + (0.5 * text.length) / 1000, []])
  })

  it("is charged once for each text of a reply, whole or streamed", async () => {
    await apply({ direction: "outbound" })
    answer("All is fine")
    const whole = await during(() => gateway().exchange(saying("Hello")))
    expect(whole.engines).toEqual([recordOf(1, 11, 0.2555)])
    await apply({ direction: "outbound", streams: "enforce" })
    answer("All is fine. ", "Nothing to see.")
    const streamed = await during(async () => readEvents(await gateway().exchange({ ...hello, stream: true })))
    expect(streamed.engines.map(({ dims }) => dims)).toContainEqual({ engine_calls: 1, engine_characters: 12 })
    expect(streamed.calls).toHaveLength(1)
  })

  it("is charged for a stream that is sampled, after its end", async () => {
    await apply({ direction: "outbound" })
    answer("All is fine")
    const { engines } = await during(async () => {
      const before = (await rows()).length
      await readEvents(await gateway().exchange({ ...hello, stream: true }))
      await eventually(async () => (await rows()).length === before + 2)
    })
    expect(engines).toEqual([recordOf(1, 11, 0.2555)])
  })

  it("is charged for a mask", async () => {
    await apply({ match: engines.of("presidio").match(), action: "mask" })
    answer("fine")
    const { engines: charged } = await during(() => gateway().exchange(saying("mail ada@example.com")))
    expect(charged).toEqual([{ ...recordOf(1, 20, 0.26), vendor: "presidio" }])
  })

  describe("that masks, and a request that is not called", () => {
    const masking = async () => {
      await apply({ match: engines.of("presidio").match(), action: "mask" })
      engines.of("presidio").twin.mood = "up"
    }
    const requestId = () => `masked-${randomUUID()}`

    it("is charged once for a request and its repeat", async () => {
      await masking()
      answer("fine")
      const asked = { ...saying("mail ada@example.com"), meta: { requestId: requestId() } }
      const once = await during(async () => expect((await gateway().exchange(asked)).status).toBe(200))
      const again = await during(async () => expect((await gateway().exchange(asked)).status).toBe(200))
      expect([once.engines.length, again.engines, again.charged]).toEqual([1, [], "0"])
    })

    it("puts the values back in a repeat, for which it is asked again", async () => {
      await masking()
      const asked = { ...saying("mail ada@example.com"), meta: { requestId: requestId() } }
      const { vendor } = gateway()
      vendor.script((call) => {
        const [mark = ""] = /<EMAIL_[A-Z2-7]+>/.exec(JSON.stringify(call.body)) ?? []
        return answering({ words: [`To ${mark}`], inTokens: 1, outTokens: 1 })(call)
      })
      for (const engines of [1, 1]) {
        const { engines: charged } = await during(async () => {
          expect(await (await gateway().exchange(asked)).text()).toContain("To ada@example.com")
        })
        expect(charged).toHaveLength(engines)
      }
      engines.of("presidio").twin.mood = "killed"
      expect(await (await gateway().exchange(asked)).text()).toMatch(/To <EMAIL_[A-Z2-7]+>/)
    })

    it.each([
      ["cannot be read", 400, { thread: "no" }],
      ["names no model", 400, { model: "nobody" }],
      ["has tags that its key must not have", 400, { meta: { tags: { "odd name": "x" } } }],
    ])("is not charged for one that %s", async (_name, _status, more) => {
      await masking()
      const { engines: charged } = await during(async () => {
        expect((await gateway().exchange({ ...saying("mail ada@example.com"), ...more })).status).toBeGreaterThan(399)
      })
      expect(charged).toEqual([])
    })
  })

  it.each(["killed", "silent"] as const)("costs nothing if it is %s", async (mood) => {
    const match = engines.of("lakera").match({ timeout: "300ms" })
    for (const onFailure of ["deny", "allow"]) {
      const twin = await apply({ onFailure, match })
      twin.mood = mood
      answer("fine")
      const { engines } = await during(() => gateway().exchange(saying("Hello")))
      expect(engines).toEqual([])
    }
    await apply()
    answer("fine")
    expect((await gateway().exchange(saying("Hello"))).status).toBe(200)
  })

  const dear = { ...price, perCall: "900000" }
  it.each([
    ["deny", "deny"],
    ["deny", "allow"],
    ["flag", "allow"],
  ])("is not asked about a request without the money for it (%s, on failure %s)", async (action, onFailure) => {
    const twin = await apply({ price: dear, action, onFailure })
    const { charged } = await during(async () =>
      expect(await errorOf(await gateway().exchange(saying("Hello")))).toMatchObject({
        status: 402,
        code: "insufficient_balance",
      }),
    )
    expect([charged, twin.received.length]).toEqual(["0", 0])
  })

  it("allows nothing that is refused, also in the metric", async () => {
    await apply({ price: dear })
    const counts = async () => {
      const text = await (await fetch(`${gateway().baseUrl}/metrics`)).text()
      const lines = text
        .split("\n")
        .filter((line) => line.startsWith("weir_reviews_total") && line.includes(`"review"`))
      const countOf = (verdict: string) =>
        Number(
          lines
            .find((line) => line.includes(`"${verdict}"`))
            ?.split(" ")
            .at(-1) ?? 0,
        )
      return { allowed: countOf("allowed"), failed: countOf("failed") }
    }
    const before = await counts()
    expect((await gateway().exchange(saying("Hello"))).status).toBe(402)
    expect(await counts()).toEqual({ allowed: before.allowed, failed: before.failed + 1 })
  })

  it("is not asked about a request to mask without the money for it", async () => {
    await apply({ match: engines.of("presidio").match(), action: "mask", price: dear, onFailure: "allow" })
    const { twin } = engines.of("presidio")
    twin.received.length = 0
    const error = await errorOf(await gateway().exchange(saying("mail ada@example.com")))
    expect([error.code, twin.received.length]).toEqual(["insufficient_balance", 0])
  })

  it("lets no reply pass without the money for it, also if failures are allowed", async () => {
    const twin = await apply({ price: dear, direction: "outbound", onFailure: "allow" })
    answer("fine")
    const { calls, engines } = await during(async () =>
      expect(await errorOf(await gateway().exchange(saying("Hello")))).toMatchObject({
        code: "content_blocked",
        detail: { reason: "review_unavailable" },
      }),
    )
    expect([calls.length, engines, twin.received.length]).toEqual([1, [], 0])
  })

  it("refuses an organisation of another currency", async () => {
    const twin = await apply({ price: { ...price, currency: "EUR" } })
    expect(await errorOf(await gateway().exchange(saying("Hello")))).toMatchObject({ code: "pricing_guard_tripped" })
    expect(twin.received).toEqual([])
  })
})

describe("an engine that the platform pays", () => {
  it.each([undefined, "platform"])("has records that cost nothing, at any price (%s)", async (paidBy) => {
    const { paidBy: _, ...policy } = policyOf()
    await apply({ ...policy, ...{ paidBy }, price: { currency: "EUR", perCall: "900000" } })
    answer("fine")
    const { charged, calls, engines } = await during(async () =>
      expect((await gateway().exchange(saying("Hello"))).status).toBe(200),
    )
    expect(engines).toEqual([recordOf(1, 5, 0)])
    expect(Number(charged)).toBe(Number(calls[0]?.cost))
  })

  it("has no records without a price", async () => {
    await apply({ price: undefined, paidBy: undefined })
    answer("fine")
    const { engines } = await during(() => gateway().exchange(saying("Hello")))
    expect(engines).toEqual([])
  })
})

describe("a catalogue", () => {
  const rules = { match: { keywords: ["x"] } }
  it.each<[string, object]>([
    ["a negative price", { price: { ...price, perCall: "-1" } }],
    ["a number", { price: { ...price, perCall: 0.25 } }],
    ["an exponent", { price: { ...price, perCall: "1e-3" } }],
    ["too many digits", { price: { ...price, perCall: "0.00000000001" } }],
    ["an absurd price", { price: { ...price, perThousandCharacters: "1000001" } }],
    ["no currency", { price: { perCall: "1" } }],
    ["a currency that is none", { price: { ...price, currency: "dollars" } }],
    ["no amount", { price: { currency: "USD" } }],
    ["somebody else who pays", { paidBy: "nobody" }],
    ["an organisation that pays nothing", { price: undefined }],
    ["a price of rules", rules],
    ["rules that an organisation pays", { ...rules, price: undefined }],
  ])("with %s is refused", async (_name, more) => {
    const refusal = await apply(more).then(
      () => "applied",
      (cause: unknown) => JSON.stringify(cause),
    )
    expect(refusal).toContain("CatalogueRefused")
    expect(refusal).toContain("policies[0]")
  })
})

const Listed = Schema.Struct({
  data: Schema.Array(Schema.Struct({ id: Schema.String, price: Schema.optionalKey(Schema.Unknown) })),
})

it("shows the price where policies are listed", async () => {
  await apply()
  const { baseUrl, adminKey } = gateway()
  const listed = await fetch(`${baseUrl}/v1/admin/policies`, { headers: { "x-svc-admin-key": adminKey } })
  const { data } = Schema.decodeUnknownSync(Listed)(await listed.json())
  expect(data).toEqual([{ id: "guarded", price: { ...price, paidBy: "organisation" } }])
})
