/** The bytes of a video: parts of them, pictures of it, and what a vendor may not make of them. */
import { request as httpRequest } from "node:http"
import { Schema } from "effect"
import { beforeEach, describe, expect, it } from "vitest"
import { newTestIds, testCatalogue, type VendorCall } from "../../src/testing/index.ts"
import { errorOf, eventually, useGateway } from "../support/gateway.ts"
import { withFilm } from "./film.ts"

const ids = newTestIds()

const gateway = useGateway({
  backgroundSpeed: 10,
  ids,
  config: { streamStallMs: 400, upstreamTimeouts: { connect: undefined, ttfb: 500, idle: 400, total: undefined } },
  catalogue: (urls) => withFilm(testCatalogue(urls, ids)),
})

const bytes = Buffer.from(Array.from({ length: 300_000 }, (_, at) => at % 253))
const etag = '"v1"'

/** A vendor that knows ranges, as RFC 9110 section 14 has them. */
const serveFile = async (call: VendorCall) => {
  const [, from, to] = /^bytes=(\d+)-(\d*)$/.exec(String(call.headers["range"] ?? "")) ?? []
  const isCurrent = call.headers["if-range"] === undefined || call.headers["if-range"] === etag
  const common = { "content-type": "video/mp4", "accept-ranges": "bytes", etag, "set-cookie": "vendor=1" }
  if (from === undefined || !isCurrent) {
    call.head(200, { ...common, "content-length": String(bytes.length) })
    await call.write(bytes)
    return call.end()
  }
  if (Number(from) >= bytes.length) {
    call.head(416, { "content-range": `bytes */${bytes.length}`, "content-type": "text/html" })
    return call.end("<script>1</script>")
  }
  const end = to === "" ? bytes.length - 1 : Math.min(Number(to), bytes.length - 1)
  const part = bytes.subarray(Number(from), end + 1)
  call.head(206, {
    ...common,
    "content-length": String(part.length),
    "content-range": `bytes ${from}-${end}/${bytes.length}`,
  })
  await call.write(part)
  call.end()
}

let serve: (call: VendorCall) => Promise<void> | void = serveFile
let id = ""

const readKey = Schema.decodeUnknownSync(Schema.Struct({ keyId: Schema.String, key: Schema.String }))
const readId = Schema.decodeUnknownSync(Schema.Struct({ id: Schema.String, status: Schema.String }))

beforeEach(async () => {
  serve = serveFile
  gateway().vendor.script((call) => {
    if (call.path.includes("/content")) return serve(call)
    call.head(200, { "content-type": "application/json" })
    call.end(JSON.stringify({ id: "video_7", object: "video", status: "completed" }))
  })
  if (id !== "") return
  const made = await gateway().call("POST", "/t1/videos", { model: "film", prompt: "a weir", seconds: 4 })
  id = readId(await made.json()).id
  await eventually(async () => readId(await (await gateway().call("GET", `/t1/videos/${id}`)).json()).status === "done")
})

const get = (headers: Record<string, string> = {}, query = "", method = "GET") =>
  gateway().call(method, `/t1/videos/${id}/content${query}`, undefined, headers)
const openai = (query: string, headers: Record<string, string> = {}, method = "GET") =>
  fetch(`${gateway().baseUrl}/openai/v1/videos/${id}/content${query}`, { method, headers })
const bearer = () => ({ authorization: `Bearer ${gateway().keyId}~${gateway().key}` })
const sentTo = (call: VendorCall | undefined) => [call?.path, call?.headers["range"], call?.headers["if-range"]]
const lastAsked = () => gateway().vendor.calls.findLast(({ path }) => path.includes("/content"))
describe("a video of a model that a key may not use", () => {
  it("does not exist for it, and is missing in its lists", async () => {
    const made = await gateway().call(
      "POST",
      "/v1/admin/keys",
      { app: ids.app, models: ["main"] },
      { "x-svc-key-id": undefined, "x-svc-key": undefined, "x-svc-admin-key": gateway().adminKey },
    )
    const { keyId, key } = readKey(await made.json())
    const as = { "x-svc-key-id": keyId, "x-svc-key": key }
    const statusOf = async (method: string, path: string) => (await gateway().call(method, path, undefined, as)).status
    expect(await statusOf("GET", `/t1/videos/${id}`)).toBe(404)
    expect(await statusOf("GET", `/t1/videos/${id}/content`)).toBe(404)
    expect(await statusOf("DELETE", `/t1/videos/${id}`)).toBe(404)
    expect(await statusOf("GET", `/openai/v1/videos/${id}`)).toBe(404)
    expect(await statusOf("DELETE", `/openai/v1/videos/${id}`)).toBe(404)
    const listed = (headers: Record<string, string>) =>
      gateway()
        .call("GET", "/openai/v1/videos", undefined, headers)
        .then((reply) => reply.text())
    expect(await listed(as)).not.toContain(id)
    expect(await listed({})).toContain(id)
  })
})

describe("a part of a video", () => {
  it.each([
    ["the first bytes", "bytes=0-99", 0, 99],
    ["the last bytes", "bytes=299990-", 299_990, 299_999],
  ])("is sent with 206: %s", async (_name, range, from, to) => {
    const reply = await get({ range })
    expect(reply.status).toBe(206)
    expect(reply.headers.get("content-range")).toBe(`bytes ${from}-${to}/300000`)
    expect(reply.headers.get("content-length")).toBe(String(to - from + 1))
    expect(reply.headers.get("accept-ranges")).toBe("bytes")
    expect(Buffer.from(await reply.arrayBuffer()).equals(bytes.subarray(from, to + 1))).toBe(true)
  })

  it("is sent for OpenAI's clients too", async () => {
    const reply = await openai("", { ...bearer(), range: "bytes=10-19" })
    expect([reply.status, Buffer.from(await reply.arrayBuffer())]).toEqual([206, bytes.subarray(10, 20)])
  })

  it("that does not exist is refused with 416 and the length, without the vendor's words", async () => {
    const reply = await get({ range: "bytes=300000-" })
    expect([reply.status, reply.headers.get("content-range"), await reply.text()]).toEqual([416, "bytes */300000", ""])
  })

  it("is sent only of the version that the client has", async () => {
    const current = await get({ range: "bytes=0-9", "if-range": etag })
    const changed = await get({ range: "bytes=0-9", "if-range": '"v0"' })
    expect([current.status, changed.status, current.headers.get("etag")]).toEqual([206, 200, etag])
    await Promise.all([current.arrayBuffer(), changed.arrayBuffer()])
  })

  it.each(["bytes=0-9,20-29", "lines=1-2", "bytes=-", "bytes=a-b"])(
    "is not asked for as %s: the whole video is sent",
    async (range) => {
      const reply = await get({ range, "if-range": etag })
      expect([reply.status, (await reply.arrayBuffer()).byteLength]).toEqual([200, bytes.length])
      expect(sentTo(lastAsked()).slice(1)).toEqual([undefined, undefined])
    },
  )

  it("that nobody asked for is a failure of the vendor", async () => {
    serve = (call) => {
      call.head(206, { "content-type": "video/mp4", "content-range": "bytes 0-1/4" })
      call.end("ab")
    }
    expect(await errorOf(await get())).toMatchObject({ code: "upstream_error" })
  })
})

describe("variants of a video", () => {
  it("are asked for by name, and have the type of their bytes", async () => {
    serve = (call) => {
      call.head(200, { "content-type": "image/webp" })
      call.end("webp")
    }
    const own = await get({}, "?variant=thumbnail")
    expect(sentTo(lastAsked())[0]).toBe("/v1/videos/video_7/content?variant=thumbnail")
    const theirs = await openai("?variant=spritesheet", bearer())
    expect(sentTo(lastAsked())[0]).toBe("/v1/videos/video_7/content?variant=spritesheet")
    expect([own.headers.get("content-type"), theirs.headers.get("content-type")]).toEqual(["image/webp", "image/webp"])
    await Promise.all([own.arrayBuffer(), theirs.arrayBuffer()])
  })

  it("that do not exist are refused by name", async () => {
    expect(await errorOf(await get({}, "?variant=poster"))).toMatchObject({
      code: "bad_request",
      detail: { issues: [{ path: "variant" }] },
    })
    expect((await openai("?variant=poster", bearer())).status).toBe(400)
  })
})

describe("bytes of a vendor", () => {
  it.each(["text/html", "image/svg+xml", "application/xhtml+xml; charset=utf-8", "multipart/byteranges", "nothing"])(
    "of the type %s are no page on our origin",
    async (type) => {
      serve = (call) => {
        call.head(200, { "content-type": type, "set-cookie": "vendor=1", "content-security-policy": "none" })
        call.end("<script>alert(1)</script>")
      }
      const reply = await get()
      expect([
        reply.status,
        reply.headers.get("content-type"),
        reply.headers.get("x-content-type-options"),
        reply.headers.get("content-security-policy"),
        reply.headers.get("content-disposition"),
        reply.headers.get("set-cookie"),
      ]).toEqual([
        200,
        "application/octet-stream",
        "nosniff",
        "default-src 'none'; sandbox",
        `attachment; filename="${id}.bin"`,
        null,
      ])
      await reply.arrayBuffer()
    },
  )

  it("are not reached with a credential in the address", async () => {
    const key = `key=${gateway().keyId}~${gateway().key}`
    expect((await openai(`?${key}`)).status).toBe(401)
    expect((await fetch(`${gateway().baseUrl}/openai/v1/models?${key}`)).status).toBe(401)
    expect((await fetch(`${gateway().baseUrl}/anthropic/v1/models?${key}`)).status).toBe(401)
    expect((await fetch(`${gateway().baseUrl}/gemini/v1beta/models?${key}`)).status).toBe(200)
  })
})

describe("the vendor's reply", () => {
  /** A video that the vendor never finishes. */
  const endless = async (call: VendorCall) => {
    call.head(200, { "content-type": "video/mp4", "content-length": "50000000", "accept-ranges": "bytes" })
    while (await call.write(Buffer.alloc(64 * 1024))) await call.wait(1)
  }
  /** Replies to requests of this test that have not ended. */
  const open = () =>
    gateway()
      .vendor.calls.slice(before)
      .filter(({ hungUpAt }) => hungUpAt === undefined)
  const allAreClosed = () => eventually(() => open().length === 0)
  let before = 0

  beforeEach(() => {
    serve = endless
    before = gateway().vendor.calls.length
  })

  it("is closed when a client asks for the head alone", async () => {
    for (const ask of [() => get({}, "", "HEAD"), () => openai("", bearer(), "HEAD")]) {
      for (let at = 0; at < 20; at++) {
        const reply = await ask()
        expect([reply.status, reply.headers.get("content-length"), await reply.text()]).toEqual([200, "50000000", ""])
      }
    }
    await allAreClosed()
  })

  it("is closed when a client leaves", async () => {
    for (let at = 0; at < 20; at++) {
      const reply = await get()
      await reply.body?.cancel()
    }
    await allAreClosed()
  })

  it("is closed when a client takes nothing", async () => {
    const { hostname, port } = new URL(gateway().baseUrl)
    const headers = { "x-svc-key-id": gateway().keyId, "x-svc-key": gateway().key }
    const asked = httpRequest({ hostname, port, path: `/t1/videos/${id}/content`, headers }, (reply) => reply.pause())
    asked.on("error", () => {})
    asked.end()
    await eventually(() => open().length === 1)
    await allAreClosed()
    asked.destroy()
  })

  it("is closed when the vendor sends nothing more, or no head", async () => {
    serve = async (call) => {
      call.head(200, { "content-type": "video/mp4", "content-length": "50000000" })
      await call.write("a")
    }
    const reply = await get()
    await expect(reply.arrayBuffer()).rejects.toThrow()
    serve = () => {}
    expect(await errorOf(await get())).toMatchObject({ code: "upstream_error" })
    await allAreClosed()
  })

  it("is closed when it is refused", async () => {
    serve = async (call) => {
      call.head(500, { "content-type": "text/html" })
      while (await call.write(Buffer.alloc(64 * 1024))) await call.wait(1)
    }
    for (let at = 0; at < 20; at++) expect(await errorOf(await get())).toMatchObject({ code: "upstream_error" })
    await allAreClosed()
  })
})
