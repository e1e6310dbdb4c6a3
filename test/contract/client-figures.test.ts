/** Figures that a client or a vendor states do not decide how little is held, or how much is billed. */
import { describe, expect, it } from "vitest"
import { hello, newTestIds, openaiFrame, testCatalogue } from "../../src/testing/index.ts"
import { balanceOf, errorOf, useGateway } from "../support/gateway.ts"
import { flacOf, wavOf } from "../support/media-samples.ts"

const ids = newTestIds()
/** The price of a second of sound is a cent. */
const gateway = useGateway({
  ids,
  catalogue: (urls) =>
    testCatalogue(urls, ids)
      .replace('amount: "1000"', 'amount: "0.01"')
      .replace("contextWindow: 10000", "contextWindow: 200000")
      .replace(
        "prices:\n",
        `  - { handle: hear, kind: transcription, targets: [{ vendor: openai, model: whisper-1 }] }
prices:
  - { model: hear, currency: USD, dims: { audio_seconds: "10000" }, from: 2026-01-01 }
`,
      )
      .replace("models: [main,", "models: [main, hear,"),
})

/** In USD. */
const balance = async () => Number(await balanceOf(gateway())) / 1e10

describe("a hold", () => {
  it("is not smaller because the client says so", async () => {
    const text = "river ".repeat(80_000)
    const body = { model: "main", thread: [{ role: "user", blocks: [{ t: "text", v: text }] }] }
    const replies = await Promise.all(
      Array.from({ length: 20 }, () =>
        gateway().exchange({ ...body, params: { promptTokensEstimate: 1, maxTokens: 1 } }),
      ),
    )
    for (const reply of replies)
      expect(await errorOf(reply)).toMatchObject({ status: 402, code: "insufficient_balance" })
    expect(gateway().vendor.calls).toEqual([])
  })

  it.each([
    ["a picture", { t: "image", mime: "image/png", url: "https://example.com/a.png" }],
    ["a document", { t: "file", mime: "application/pdf", url: "https://example.com/a.pdf" }],
  ])("of %s by its address is as large as the model can read", async (_name, block) => {
    const body = { model: "main", thread: [{ role: "user", blocks: [block] }], params: { maxTokens: 1 } }
    expect(await errorOf(await gateway().exchange(body))).toMatchObject({ status: 402 })
    expect((await gateway().exchange({ ...hello, params: { maxTokens: 1 } })).status).toBe(200)
  })

  it.each([
    ["a WAV file that says it is short", wavOf(60, 100), "audio/wav"],
    ["a FLAC file that says it is short", Buffer.concat([flacOf(1), Buffer.alloc(100_000)]), "audio/flac"],
    ["a file that says nothing", Buffer.alloc(100_000), "audio/webm"],
  ])("of %s is as long as its bytes can be", async (_name, sound, type) => {
    const form = new FormData()
    form.set("model", "hear")
    form.set("file", new Blob([new Uint8Array(sound)], { type }), "sound")
    const { baseUrl, keyId, key } = gateway()
    const reply = await fetch(`${baseUrl}/openai/v1/audio/transcriptions`, {
      method: "POST",
      headers: { authorization: `Bearer ${keyId}~${key}` },
      body: form,
    })
    expect(reply.status).toBe(402)
  })
})

describe("a bill", () => {
  it("of a vendor that goes on beyond its limit ends there", async () => {
    const before = await balance()
    let written = 0
    gateway().vendor.script(async (call) => {
      call.head()
      const args = "x".repeat(1000)
      for (let at = 0; at < 30_000; at++) {
        const delta = {
          tool_calls: [{ index: 0, ...(at === 0 && { id: "c" }), function: { name: "f", arguments: args } }],
        }
        if (!(await call.write(openaiFrame({ choices: [{ index: 0, delta }] })))) return
        written += args.length
      }
      call.end(openaiFrame("[DONE]"))
    })
    const body = { ...hello, tools: [{ name: "f", description: "", inputSchema: {} }], stream: true }
    const reply = await gateway().exchange({ ...body, params: { maxTokens: 5 } })
    expect(await reply.text()).toContain("t.err")
    // Sockets on one machine take some megabytes before a writer waits.
    expect(written).toBeLessThan(15_000_000)
    // At most twice the limit and a few tokens, at 15 USD a million, and a prompt of a hundred tokens.
    expect(before - (await balance())).toBeLessThan(26 * 0.000_015 + 100 * 0.000_003)
  })
})
