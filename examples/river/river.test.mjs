// Tests of an application against a whole gateway, whose vendor follows a script. No Effect is needed.
import { hello, openaiChunk, openaiFrames, openGateway } from "@weir-gateway/testing"
import { afterAll, beforeAll, expect, test } from "vitest"
import { answerTo } from "./river.mjs"

const answer = { words: ["A weir ", "regulates ", "a river."], inTokens: 12, outTokens: 6 }

/** @type {import("@weir-gateway/testing").OpenGateway} */
let gateway
beforeAll(async () => {
  gateway = await openGateway()
}, 60_000)
afterAll(() => gateway.close())

/** The application's own code, against this gateway. */
const ask = async () => {
  const { baseUrl, keyId, key } = gateway
  let text = ""
  for await (const piece of answerTo({ baseUrl, credentials: { keyId, key } }, "What is a weir?")) text += piece
  return text
}

test("the application prints what the vendor said, and it was paid for once", async () => {
  gateway.vendor.script(async (call) => {
    call.head()
    for (const frame of openaiFrames(answer)) await call.write(frame)
    call.end()
  })
  const before = Number(await gateway.balance())
  expect(await ask()).toBe("A weir regulates a river.")
  expect(gateway.vendor.calls).toHaveLength(1)
  expect(Number(await gateway.balance())).toBeLessThan(before)
})

test("a vendor that hangs up in mid-stream is a typed error", async () => {
  gateway.vendor.script(async (call) => {
    call.head()
    await call.write(openaiChunk("A weir "))
    call.reset()
  })
  await expect(ask()).rejects.toMatchObject({ _tag: "WeirRefused", code: "upstream_disconnected", advice: "retry" })
})

test("the model `pool` fails over to the second vendor", async () => {
  gateway.vendor.script((call) => call.reset())
  const response = await gateway.exchange({ ...hello, model: "pool" })
  expect(response.status).toBe(200)
  expect(gateway.second.calls).toHaveLength(1)
})
