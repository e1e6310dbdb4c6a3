/**
 * Limits on the data of a vendor: each violation gives a typed error, bills nothing that was not delivered, and
 * does not harm the gateway.
 */
import { createServer, type Server, type Socket } from "node:net"
import { gzipSync } from "node:zlib"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import {
  answering,
  anthropicFrame,
  hello,
  newTestIds,
  openaiChunk,
  openaiFrame,
  readEvents,
  testCatalogue,
  type VendorScript,
} from "../../src/testing/index.ts"
import { errorOf, replyOf, useGateway } from "../support/gateway.ts"

const gateway = useGateway({ config: { upstreamMaxBytes: 8 * 1024 * 1024 } })

const rss = () => process.memoryUsage().rss
const json = { "content-type": "application/json" }
const deep = (depth: number) => `${"[".repeat(depth)}${"]".repeat(depth)}`
const whole =
  (body: string | Uint8Array, headers: Record<string, string> = json): VendorScript =>
  async (call) => {
    call.head(200, headers)
    await call.write(body)
    call.end()
  }
const endlessly =
  (piece: string, headers?: Record<string, string>): VendorScript =>
  async (call) => {
    call.head(200, headers)
    while (await call.write(piece)) await call.wait(0)
  }

const mebibyte = "x".repeat(1024 * 1024)

describe("before any content, a hostile reply is upstream_error, and nothing is billed", () => {
  it.each<[string, VendorScript, boolean]>([
    ["a frame without end", endlessly(`data: ${mebibyte}`), true],
    ["a line without end", endlessly(mebibyte), true],
    ["comments without end", endlessly(`: ${mebibyte}\n`), true],
    ["a body without end", endlessly(mebibyte, json), false],
    [
      "a body that is a compressed bomb",
      whole(gzipSync(mebibyte.repeat(64)), { ...json, "content-encoding": "gzip" }),
      false,
    ],
    [
      "a stream that is a compressed bomb",
      whole(gzipSync(mebibyte.repeat(64)), { "content-type": "text/event-stream", "content-encoding": "gzip" }),
      true,
    ],
    ["a page instead of a reply", whole("<html>secret</html>", { "content-type": "text/html" }), false],
    ["a page instead of a stream", whole("<html>secret</html>", { "content-type": "text/html" }), true],
    ["no content type at all", whole("secret", {}), false],
    ["an image", whole(Buffer.from([0x89, 0x50, 0x4e, 0x47]), { "content-type": "image/png" }), false],
    ["malformed UTF-8", whole(Buffer.from([0xff, 0xfe, 0x7b, 0xc0]), json), false],
    ["JSON nested 100,000 deep", whole(`{"choices":${deep(100_000)}}`), false],
    [
      "a frame nested 100,000 deep",
      whole(`data: {"choices":${deep(100_000)}}\n\n`, { "content-type": "text/event-stream" }),
      true,
    ],
    ["an empty stream", whole("", { "content-type": "text/event-stream" }), true],
    [
      "a redirect",
      (call) => {
        call.head(302, { location: "http://169.254.169.254/latest" })
        call.end()
      },
      false,
    ],
  ])("%s", { timeout: 30_000 }, async (_what, script, stream) => {
    gateway().vendor.script(script)
    const before = rss()
    const error = await errorOf(await gateway().exchange({ ...hello, stream }))
    expect(["upstream_error", "upstream_disconnected"]).toContain(error.code)
    expect(JSON.stringify(error)).not.toContain("secret")
    expect(rss() - before).toBeLessThan(200 * 1024 * 1024)
    gateway().vendor.script(answering({ words: ["well"], inTokens: 1, outTokens: 1 }))
    expect((await gateway().exchange(hello)).status).toBe(200)
  })
})

describe("within a reply", () => {
  it("a stream over a limit ends in t.err, billed for what was seen", { timeout: 30_000 }, async () => {
    gateway().vendor.script(async (call) => {
      call.head()
      while (await call.write(openaiChunk("x".repeat(64 * 1024)))) await call.wait(0)
    })
    const events = await readEvents(await gateway().exchange({ ...hello, stream: true }))
    expect(events.at(-1)).toMatchObject({ event: "t.err", data: { code: "upstream_error" } })
    expect(events.at(-2)).toMatchObject({ event: "t.usage", data: { estimatedReason: "upstream_disconnected" } })
  })

  it("broken UTF-8 inside a text is replaced, and the reply goes on", async () => {
    gateway().vendor.script(async (call) => {
      call.head()
      const frame = Buffer.from(openaiChunk("a?b"))
      frame[frame.indexOf("?")] = 0xff
      await call.write(frame)
      call.end(openaiFrame({ choices: [{ index: 0, delta: {}, finish_reason: "stop" }] }) + openaiFrame("[DONE]"))
    })
    const events = await readEvents(await gateway().exchange({ ...hello, stream: true }))
    expect(events.find(({ event }) => event === "t.delta")).toMatchObject({ data: { v: "a\ufffdb" } })
    expect(events.at(-1)?.event).toBe("t.close")
  })

  it("arguments nested too deep to be given back are kept as text", async () => {
    const args = `{"x":${deep(20_000)}}`
    gateway().vendor.script(
      whole(
        JSON.stringify({
          choices: [
            {
              message: { tool_calls: [{ id: "a", function: { name: "f", arguments: args } }] },
              finish_reason: "tool_calls",
            },
          ],
        }),
      ),
    )
    const { blocks } = await replyOf(await gateway().exchange(hello))
    expect(blocks).toEqual([{ t: "tool_call", id: "a", name: "f", input: { $raw: args } }])
  })

  it("a deep input in an Anthropic block is malformed, not the end of the process", async () => {
    const block = `{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"a","name":"f","input":{"x":${deep(50_000)}}}}`
    gateway().vendor.script(async (call) => {
      call.head()
      await call.write(anthropicFrame({ type: "message_start", message: { usage: { input_tokens: 1 } } }))
      call.end(`event: content_block_start\ndata: ${block}\n\n`)
    })
    // Nothing has been said yet: the error is no event.
    const error = await errorOf(await gateway().exchange({ ...hello, model: "claude", stream: true }))
    expect(error).toMatchObject({ status: 502, code: "upstream_error" })
  })
})

describe("usage that cannot be true is estimated, and costs no more than the call can", () => {
  const chat = (usage: object) => ({ choices: [{ message: { content: "Hi" }, finish_reason: "stop" }], usage })
  const streamed =
    (usage: object): VendorScript =>
    async (call) => {
      call.head()
      await call.write(openaiChunk("Hi"))
      await call.write(openaiFrame({ choices: [{ index: 0, delta: {}, finish_reason: "stop" }] }))
      call.end(openaiFrame({ choices: [], usage }) + openaiFrame("[DONE]"))
    }
  it.each<[string, object, string]>([
    ["more input than a window", { prompt_tokens: 2_000_000_000, completion_tokens: 1 }, "upstream_usage_implausible"],
    ["more output than asked for", { prompt_tokens: 9, completion_tokens: 2e9 }, "upstream_usage_implausible"],
    ["nothing", { prompt_tokens: 0, completion_tokens: 0 }, "upstream_usage_missing"],
    ["words", { prompt_tokens: "many", completion_tokens: "more" }, "upstream_usage_missing"],
    ["nulls", { prompt_tokens: null, completion_tokens: null }, "upstream_usage_missing"],
    ["input alone", { prompt_tokens: 9 }, "upstream_usage_missing"],
    ["numbers beyond all numbers", { prompt_tokens: 1e300, completion_tokens: -1e300 }, "upstream_usage_missing"],
  ])("%s", async (_what, reported, reason) => {
    gateway().vendor.script(whole(JSON.stringify(chat(reported))))
    const { usage: ofReply } = await replyOf(await gateway().exchange(hello))
    gateway().vendor.script(streamed(reported))
    const events = await readEvents(await gateway().exchange({ ...hello, stream: true }))
    const [ofStream] = events.flatMap((event) => (event.event === "t.usage" ? [event.data] : []))
    if (ofStream === undefined) throw new Error("no t.usage")
    for (const usage of [ofReply, ofStream]) {
      expect(usage).toMatchObject({ estimatedReason: reason })
      expect(Number(usage.cost)).toBeGreaterThan(0)
      expect(Number(usage.cost)).toBeLessThan(0.01)
      expect(usage.inTokens).toBeGreaterThan(0)
      expect(usage.outTokens).toBeGreaterThan(0)
      expect(usage.inTokens + usage.outTokens).toBeLessThan(100)
    }
  })
})

describe("endless headers", () => {
  let server: Server
  const sockets = new Set<Socket>()
  beforeAll(
    () =>
      new Promise<void>((resolve) => {
        server = createServer((socket) => {
          sockets.add(socket)
          socket.on("error", () => {})
          socket.on("close", () => sockets.delete(socket))
          socket.write("HTTP/1.1 200 OK\r\n")
          const flood = setInterval(() => socket.write(`x-${sockets.size}: ${"y".repeat(8192)}\r\n`), 1)
          socket.on("close", () => clearInterval(flood))
        }).listen(0, "127.0.0.1", resolve)
      }),
  )
  afterAll(() => server.close())

  const ids = newTestIds()
  const flooded = useGateway({
    ids,
    catalogue: (urls) => {
      const address = server.address()
      const port = typeof address === "object" ? address?.port : undefined
      return testCatalogue({ ...urls, vendor: `http://127.0.0.1:${port}` }, ids)
    },
  })

  it("are cut, and the connection with them", async () => {
    const error = await errorOf(await flooded().exchange({ ...hello, model: "main" }))
    expect(error.code).toBe("upstream_disconnected")
    await expect.poll(() => sockets.size).toBe(0)
  })
})
