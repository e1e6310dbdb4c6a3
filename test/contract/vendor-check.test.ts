/** `weir vendors test` and its route: one small real call, not billed. */
import { Schema } from "effect"
import { describe, expect, it } from "vitest"
import { VendorCheckResponse } from "../../src/protocol/control/admin.ts"
import { answering, type VendorScript } from "../../src/testing/index.ts"
import { balanceOf, errorOf, holdsOf, useGateway } from "../support/gateway.ts"

const gateway = useGateway()
const decodeTrial = Schema.decodeUnknownSync(VendorCheckResponse, { onExcessProperty: "error" })

const answer = { words: ["rea", "dy"], inTokens: 12, outTokens: 2 }
const test = (vendor: string, body: object = {}, key = gateway().adminKey) =>
  fetch(`${gateway().baseUrl}/v1/admin/vendors/${vendor}/test`, {
    method: "POST",
    headers: { "content-type": "application/json", "x-svc-admin-key": key },
    body: JSON.stringify(body),
  })

describe("a vendor that works", () => {
  it.each(["openai", "anthropic", "responses", "gemini"])("%s is told with its text and its usage", async (vendor) => {
    gateway().vendor.script(answering(answer))
    const before = await balanceOf(gateway())
    const outcome = decodeTrial(await (await test(vendor)).json())
    expect(outcome).toMatchObject({
      vendor,
      ok: true,
      text: "ready",
      stop: "end",
      usage: { inTokens: 12, outTokens: 2 },
    })
    expect(outcome.firstFrameMs).toBeLessThanOrEqual(outcome.millis)
    expect(await balanceOf(gateway())).toBe(before)
    expect(await holdsOf(gateway())).toEqual([])
  })

  it("is asked for the model that is named, or for one of the catalogue", async () => {
    gateway().vendor.script(answering(answer))
    await test("openai", { model: "another" })
    expect(gateway().vendor.calls.at(-1)?.body["model"]).toBe("another")
    await test("openai")
    expect(gateway().vendor.calls.at(-1)?.body["model"]).toBe("upstream-main")
  })
})

describe("a vendor that does not", () => {
  const refusing: VendorScript = (call) => {
    call.head(401, { "content-type": "application/json" })
    call.end(JSON.stringify({ error: { message: "the key sk-secret is wrong" } }))
  }

  it.each<[string, VendorScript, object]>([
    ["refuses", refusing, { code: "upstream_error", detail: { upstreamStatus: 401 } }],
    ["hangs up", (call) => call.reset(), { code: "upstream_disconnected" }],
  ])("%s: the reply says so, and nothing of what the vendor said", async (_how, script, error) => {
    gateway().vendor.script(script)
    const response = await test("openai")
    const text = await response.text()
    expect(response.status).toBe(200)
    expect(JSON.parse(text)).toMatchObject({ ok: false, text: "", error })
    expect(text).not.toContain("sk-secret")
  })

  it("failed vendor checks do not open the breaker of exchanges", async () => {
    gateway().vendor.script((call) => call.reset())
    for (let at = 0; at < 8; at++) await test("openai")
    gateway().vendor.script(answering(answer))
    const response = await gateway().exchange({
      model: "pool",
      thread: [{ role: "user", blocks: [{ t: "text", v: "x" }] }],
    })
    expect(response.headers.get("x-svc-warnings")).toBeNull()
  })
})

describe("what is refused", () => {
  it.each<[string, () => Promise<Response>, object]>([
    ["an unknown vendor", () => test("nobody"), { status: 404, code: "not_found" }],
    ["an unknown field", () => test("openai", { modle: "x" }), { status: 400, code: "bad_request" }],
    ["the wrong admin key", () => test("openai", {}, "wrong"), { status: 401, code: "admin_key_invalid" }],
  ])("%s", async (_what, request, expected) => {
    expect(await errorOf(await request())).toMatchObject(expected)
  })
})
