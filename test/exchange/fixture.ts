/** One model, one caller, and a reader of streams, for exchanges on the test clock. */
import { Effect, Result } from "effect"
import type { ByteQueue } from "../../src/exchange/byte-queue.ts"

export const catalogue = `
version: 1
vendors: [{ id: v, dialect: openai-chat, baseUrl: "http://vendor.test" }]
models: [{ handle: main, maxOutput: 100, targets: [{ vendor: v, model: m }] }]
prices: [{ model: main, currency: USD, input: "3", output: "15", from: 1970-01-01 }]
orgs: [{ id: org, name: O, currency: USD, models: [main] }]
apps: [{ id: app, org: org }]
`
const org = { id: "org", name: "O", currency: "USD", models: ["main"] }
export const caller = {
  keyId: "key",
  nonce: undefined,
  endUserId: undefined,
  app: { id: "app", org: "org" },
  org,
  plan: undefined,
  ipAllow: [],
  policies: { inbound: [], outbound: [] },
}

/** All that a client would be sent. */
export const textOf = (events: ByteQueue): Effect.Effect<string> =>
  Effect.gen(function* () {
    let text = ""
    while (true) {
      const lot = yield* Effect.result(events.take)
      if (Result.isFailure(lot)) return text
      text += Buffer.concat(lot.success).toString("utf8")
    }
  })
