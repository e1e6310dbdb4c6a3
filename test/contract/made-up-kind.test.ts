/** A kind that Weir does not have: its description is enough to get all features of calls. */
import { Effect, Result, Schema } from "effect"
import { describe, expect, it } from "vitest"
import { newRequestId } from "../../src/calls/calls.ts"
import type { Kind } from "../../src/calls/kind.ts"
import { modelFor, targetsFor } from "../../src/calls/model.ts"
import { stringAt } from "../../src/dialects/parse/json.ts"
import { jsonRequest } from "../../src/dialects/whole-dialect.ts"
import type { Caller } from "../../src/identity/caller.ts"
import { EventWriter } from "../../src/kinds/chat/event-writer.ts"
import { decodeCall } from "../../src/kinds/decode.ts"
import { WholeTask } from "../../src/kinds/whole/whole-task.ts"
import { maxCharge, priceUsage } from "../../src/money/pricing.ts"
import { ExchangeMeta } from "../../src/protocol/exchange.ts"
import { toServiceError } from "../../src/store/unavailable.ts"
import { newTestIds, testCatalogue } from "../../src/testing/index.ts"
import { balanceOf, holdsOf, lastUsage, useGateway } from "../support/gateway.ts"

const Translation = Schema.Struct({
  model: Schema.String,
  text: Schema.NonEmptyString,
  meta: Schema.optionalKey(ExchangeMeta),
})
type Translation = typeof Translation.Type
interface Translated {
  readonly text: string
  readonly cost: string
  readonly balance: string
}

/** Translates texts; its vendors get the language in the path, and bill by words. */
const translation: Kind<Translation, Translated> = {
  name: "translation",
  purpose: "translation",
  modelOf: ({ model }) => model,
  reviewed: ({ text }) => text,
  plan: ({ services, request: { model, text }, caller, catalogue, nowMs }) =>
    Result.map(modelFor(model, "chat", caller, catalogue, nowMs), ({ entry, price }) => {
      const words = text.split(" ").length
      const counts = { inTokens: words, outTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0, dims: {} }
      return new WholeTask<string, Translated>(
        {
          model,
          targets: targetsFor(caller, entry.targets),
          timeoutsOf: (target) => services.timeoutsOf(catalogue, target, entry),
          currency: price.currency,
          holdAmount: maxCharge(price, words, 0),
          holdTokens: words,
          operation: "translate",
          encode: () => Result.succeed(jsonRequest("/translate/de", { text })),
          decode: (_target, body) => stringAt(body, "text"),
          bill: () => ({ counts }),
          charge: (bill) => priceUsage(price, bill.counts),
          finish:
            ([told = ""], { cost }) =>
            (balance) => ({ text: told, cost, balance }),
        },
        services,
      )
    }),
}
// The kind ends here: 33 lines.

const ids = newTestIds()
const gateway = useGateway({
  ids,
  catalogue: (urls) =>
    testCatalogue(urls, ids)
      .replace("{ handle: pool,", "{ handle: pool, timeouts: { ttfb: 200ms },")
      .concat(`\nbudgets: [{ id: few, scope: app, subject: ${ids.app}, unit: money, limit: "0.0001", period: day }]\n`),
})

const caller = (): Caller => ({
  keyId: gateway().keyId,
  endUserId: undefined,
  app: { id: ids.app, org: ids.org },
  org: { id: ids.org, name: "Test", currency: "USD", models: ["pool"] },
  plan: undefined,
  policies: { inbound: [], outbound: [] },
})

/** @returns the reply's body, or the code of its refusal */
const translate = async (text: string, requestId?: string): Promise<unknown> => {
  let told: unknown
  const body = Buffer.from(JSON.stringify({ model: "pool", text, ...(requestId && { meta: { requestId } }) }))
  const call = {
    requestId: newRequestId(),
    kind: translation,
    caller: caller(),
    decoded: decodeCall(Translation, body),
  }
  await Effect.runPromise(
    gateway().calls.run(call, {
      events: new EventWriter(),
      send: ({ body }) => {
        told = typeof body === "string" ? JSON.parse(body) : body
      },
      refuse: (error) => {
        told = toServiceError(error).code
      },
      write: () => true,
      end: (flushed) => flushed(),
      cut: () => {},
      unsentBytes: () => 0,
      takenBytes: () => 0,
      listen: () => {},
    }),
  )
  return told
}

describe("a made-up kind", () => {
  it("has failover, tiers, a bill, replay, a budget and a line in the console", async () => {
    const { vendor, second } = gateway()
    // Slower than its first tier.
    vendor.script((call) => call.wait(2000))
    second.script((call) => {
      call.head(200, { "content-type": "application/json" })
      call.end(JSON.stringify({ text: "guten Tag" }))
    })
    const before = await balanceOf(gateway())
    const first = await translate("good day", "once")
    expect(first).toMatchObject({ text: "guten Tag", cost: "0.000006" })
    expect(before - (await balanceOf(gateway()))).toBe(60_000n)
    expect(await lastUsage(gateway())).toMatchObject({ purpose: "translation", vendor: "second", in_tokens: 2n })
    expect(await translate("good day", "once")).toEqual(first)
    expect(await translate("other words", "once")).toBe("idempotency_conflict")
    expect(second.calls.length).toBe(1)
    second.script((call) => call.head(500))
    expect(await translate("good day")).toMatch(/^upstream_/)
    expect(await translate("word ".repeat(40))).toBe("org_ceiling_exceeded")
    expect((await holdsOf(gateway())).map(({ state }) => state)).toEqual(["settled"])
    const log = await gateway().call("GET", `/v1/admin/exchanges?org=${ids.org}`, undefined, {
      "x-svc-admin-key": gateway().adminKey,
    })
    expect(JSON.stringify(await log.json())).toContain('"purpose":"translation"')
  })
})
