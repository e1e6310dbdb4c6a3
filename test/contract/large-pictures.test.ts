/** Pictures in vendors' replies are on the disk while they pass: whole, exact, bounded, and gone with the call. */
import { randomBytes } from "node:crypto"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Schema } from "effect"
import { afterAll, afterEach, beforeEach, describe, expect, it } from "vitest"
import { ImageResponse } from "../../src/protocol/kinds/image.ts"
import { newTestIds, testCatalogue, type VendorScript } from "../../src/testing/index.ts"
import { balanceOf, errorOf, eventually, holdsOf, useGateway } from "../support/gateway.ts"
import { png } from "../support/media-samples.ts"
import { openFilesIn } from "../support/open-files.ts"
import { silentClient } from "../support/silent-client.ts"

const ids = newTestIds()
const dataDir = mkdtempSync(join(tmpdir(), "weir-pictures-"))
afterAll(() => rmSync(dataDir, { recursive: true }))

const mebibyte = 1024 * 1024
const streamStallMs = 1500
const gateway = useGateway({
  ids,
  config: { dataDir, mediaDiskBytes: 40 * mebibyte, upstreamMaxBytes: 50 * mebibyte, streamStallMs },
  catalogue: (urls) =>
    testCatalogue(urls, ids)
      .replace(
        "models:\n",
        `models:
  - { handle: draw, kind: image, targets: [{ vendor: openai, model: gpt-image-1, tier: 1 }, { vendor: second, model: gpt-image-1, tier: 2 }] }
  - { handle: draw-gemini, kind: image, targets: [{ vendor: gemini, model: gemini-image }] }
`,
      )
      .replace(
        "prices:\n",
        `prices:
  - { model: draw, currency: USD, input: "5", output: "40", from: 2026-01-01 }
  - { model: draw-gemini, currency: USD, dims: { images: "40000" }, from: 2026-01-01 }
`,
      )
      .replace("models: [main,", "models: [draw, draw-gemini, main,"),
})

/** A picture of so many bytes in base64: it begins as one does. */
const pictureOf = (bytes: number) => Buffer.concat([png, randomBytes(bytes)]).toString("base64")
const usage = { input_tokens: 20, output_tokens: 1000, total_tokens: 1020 }
const drawn = (...pictures: ReadonlyArray<string>) => ({ data: pictures.map((b64_json) => ({ b64_json })), usage })

/** Sends a body in pieces as sockets do. */
const answer =
  (body: string, headers = { "content-type": "application/json" }): VendorScript =>
  async (call) => {
    call.head(200, headers)
    for (let at = 0; at < body.length; at += 100_000) {
      if (!(await call.write(body.slice(at, at + 100_000)))) return
    }
    call.end()
  }
const answerJson = (body: object) => answer(JSON.stringify(body))

beforeEach(() => {
  gateway().second.script((call) => {
    call.head(500)
    call.end("{}")
  })
})

const openFiles = () => openFilesIn(join(dataDir, "media")).length
const metric = async (name: string) => {
  const page = await (await fetch(`${gateway().baseUrl}/metrics`)).text()
  return Number(new RegExp(`^${name}(?:{[^}]*})? (\\d+)`, "m").exec(page)?.[1])
}
const openHolds = async () => (await holdsOf(gateway())).filter(({ state }) => state === "held").length

afterEach(async () => {
  // A file that is being opened when its call ends is counted until then, though the folder does not have it yet.
  await eventually(async () => (await metric("weir_spool_files")) === 0)
  await eventually(() => openFiles() === 0)
  await eventually(async () => (await openHolds()) === 0)
  expect(await metric("weir_spool_bytes")).toBe(0)
})

const post = (path: string, body: object, headers: Record<string, string> = {}) =>
  gateway().call("POST", path, body, headers)
const draw = (more: object = {}) => post("/t1/images", { model: "draw", prompt: "a weir", ...more })
const readImages = Schema.decodeUnknownSync(ImageResponse, { onExcessProperty: "error" })
const eventsOf = (text: string) =>
  [...text.matchAll(/^event: (\S+)\ndata: (.*)$/gm)].map(([, event = "", data = ""]) => ({
    event,
    data: JSON.parse(data),
  }))

describe("a picture of megabytes", () => {
  it("comes whole with a length, is billed once, and leaves nothing", async () => {
    const pictures = [pictureOf(3 * mebibyte), pictureOf(1000), pictureOf(5 * mebibyte + 1)]
    gateway().vendor.script(answerJson(drawn(...pictures)))
    const before = await balanceOf(gateway())
    const response = await draw({ n: 3 })
    const text = await response.text()
    const reply = readImages(JSON.parse(text))
    expect([response.status, Number(response.headers.get("content-length"))]).toEqual([200, Buffer.byteLength(text)])
    expect(reply.images.map(({ mime }) => mime)).toEqual(["image/png", "image/png", "image/png"])
    expect(reply.images.map(({ data }, at) => data === pictures[at])).toEqual([true, true, true])
    expect(reply.usage.cost).toBe("0.0401")
    expect(before - (await balanceOf(gateway()))).toBe(401_000_000n)
  })

  it("is on the disk while a slow client takes it, and others go on", async () => {
    const picture = pictureOf(12 * mebibyte)
    gateway().vendor.script(answerJson(drawn(picture)))
    const slow = await draw()
    const reader = slow.body?.getReader()
    await reader?.read()
    expect([openFiles(), await metric("weir_spool_files")]).toEqual([1, 1])
    expect(await metric("weir_spool_bytes")).toBe(picture.length)
    gateway().vendor.script(answerJson(drawn(pictureOf(mebibyte))))
    expect((await draw()).status).toBe(200)
    let bytes = 0
    for (let read = await reader?.read(); read?.done === false; read = await reader?.read()) bytes += read.value.length
    expect(bytes).toBeGreaterThan(picture.length - 200_000)
  })

  it("is told in the words of OpenAI's and Gemini's clients", async () => {
    const picture = pictureOf(2 * mebibyte)
    gateway().vendor.script(answerJson(drawn(picture)))
    const openai = await post("/openai/v1/images/generations", { model: "draw", prompt: "a weir" })
    const { data } = Schema.decodeUnknownSync(Schema.Struct({ data: Schema.Array(Schema.Any) }))(await openai.json())
    expect(data[0].b64_json === picture).toBe(true)
    gateway().vendor.script(
      answerJson({
        candidates: [
          {
            content: {
              parts: [{ text: "x".repeat(400_000) }, { inlineData: { mimeType: "image/png", data: picture } }],
            },
          },
        ],
      }),
    )
    const gemini = await post("/gemini/v1beta/models/draw-gemini:generateContent", {
      contents: [{ parts: [{ text: "a weir" }] }],
      generationConfig: { responseModalities: ["IMAGE"] },
    })
    expect(gemini.status).toBe(200)
    const text = await gemini.text()
    expect(JSON.parse(text).candidates[0].content.parts.at(-1).inlineData.data === picture).toBe(true)
  })

  it("comes in events, where the vendor answers whole", async () => {
    const picture = pictureOf(2 * mebibyte)
    gateway().vendor.script(answerJson(drawn(picture)))
    const events = eventsOf(await (await draw({ stream: true })).text())
    expect(events.map(({ event }) => event)).toEqual(["t.open", "t.delta", "t.usage", "t.close"])
    expect(events[1]?.data.data === picture).toBe(true)
  })

  it("comes in events, partial ones first, in our words and in OpenAI's", async () => {
    const [partial, whole] = [pictureOf(mebibyte), pictureOf(6 * mebibyte)]
    const event = (type: string, b64_json: string) =>
      `event: ${type}\ndata: ${JSON.stringify({ type, b64_json, usage })}\n\n`
    const stream = `: "\n\n${event("image_generation.partial_image", partial)}${event("image_generation.completed", whole)}`
    gateway().vendor.script(answer(stream, { "content-type": "text/event-stream" }))
    const own = eventsOf(await (await draw({ stream: true })).text())
    expect(own.map(({ event }) => event)).toEqual(["t.open", "t.delta", "t.delta", "t.usage", "t.close"])
    expect([own[1]?.data.data === partial, own[2]?.data.data === whole]).toEqual([true, true])
    const openai = await post("/openai/v1/images/generations", { model: "draw", prompt: "a weir", stream: true })
    const theirs = eventsOf(await openai.text())
    expect(theirs.map(({ event }) => event)).toEqual(["image_generation.partial_image", "image_generation.completed"])
    expect([theirs[0]?.data.b64_json === partial, theirs[1]?.data.b64_json === whole]).toEqual([true, true])
  })

  it("is too large to be kept for its request id: told once, and then that it is", async () => {
    gateway().vendor.script(answerJson(drawn(pictureOf(mebibyte))))
    const meta = { requestId: crypto.randomUUID() }
    expect((await draw({ meta })).status).toBe(200)
    const before = await balanceOf(gateway())
    expect((await draw({ meta })).status).toBe(409)
    expect(await balanceOf(gateway())).toBe(before)
  })
})

describe("nothing is lost, and nothing is billed,", () => {
  const unbilled = async (check: () => Promise<void>) => {
    const before = await balanceOf(gateway())
    await check()
    await eventually(async () => (await openHolds()) === 0)
    expect(await balanceOf(gateway())).toBe(before)
  }

  it("when the disk has no room: 429, and no other vendor is asked", () =>
    unbilled(async () => {
      gateway().vendor.script(answerJson(drawn(pictureOf(34 * mebibyte))))
      const asked = gateway().second.calls.length
      expect(await errorOf(await draw())).toMatchObject({ status: 429, code: "rate_limited" })
      expect(gateway().second.calls.length).toBe(asked)
    }))

  it("when a picture is none after its first quarter of a megabyte, or the reply breaks off", () =>
    unbilled(async () => {
      gateway().vendor.script(answerJson(drawn(`${pictureOf(mebibyte)}<script>`)))
      expect(await errorOf(await draw())).toMatchObject({ status: 502, code: "upstream_error" })
      gateway().vendor.script(async (call) => {
        call.head(200, { "content-type": "application/json" })
        await call.write(JSON.stringify(drawn(pictureOf(mebibyte))).slice(0, 900_000))
        call.reset()
      })
      expect(await errorOf(await draw())).toMatchObject({ status: 502 })
    }))

  it("when the client leaves before the picture is whole", () =>
    unbilled(async () => {
      const asked = gateway().vendor.calls.length
      gateway().vendor.script(async (call) => {
        call.head(200, { "content-type": "application/json" })
        await call.write(JSON.stringify(drawn(pictureOf(2 * mebibyte))).slice(0, 2_000_000))
        await call.wait(20_000)
      })
      const leaving = new AbortController()
      const { baseUrl, keyId, key } = gateway()
      const call = fetch(`${baseUrl}/t1/images`, {
        method: "POST",
        headers: { "x-svc-key-id": keyId, "x-svc-key": key, "content-type": "application/json" },
        body: JSON.stringify({ model: "draw", prompt: "a weir" }),
        signal: leaving.signal,
      }).catch(() => undefined)
      await eventually(() => openFiles() === 1)
      leaving.abort()
      await call
      await eventually(() => gateway().vendor.calls[asked]?.hungUpAt !== undefined)
    }))
})

describe("a vendor that sends partial pictures for ever", () => {
  it("is left; what it may have cost is billed once", async () => {
    const partial = { type: "image_generation.partial_image", b64_json: "A".repeat(200_000) }
    let sent = 0
    gateway().vendor.script(async (call) => {
      call.head()
      while (await call.write(`data: ${JSON.stringify(partial)}\n\n`)) sent++
    })
    const before = await balanceOf(gateway())
    const events = eventsOf(await (await draw({ stream: true })).text())
    expect(events.at(-1)).toMatchObject({ event: "t.err", data: { code: "upstream_error" } })
    expect(sent * 200_000).toBeLessThan(60 * mebibyte)
    expect(events.filter(({ event }) => event === "t.usage").length).toBe(1)
    expect(await balanceOf(gateway())).toBeLessThan(before)
  })
})

describe("a client that takes no more of its picture", () => {
  it("is cut off after the stall; it has paid", async () => {
    gateway().vendor.script(answerJson(drawn(pictureOf(24 * mebibyte))))
    const before = await balanceOf(gateway())
    const socket = silentClient(gateway(), "/t1/images", { model: "draw", prompt: "a weir" })
    socket.on("error", () => {})
    await eventually(() => openFiles() === 1)
    await eventually(() => openFiles() === 0)
    expect(before - (await balanceOf(gateway()))).toBe(401_000_000n)
    socket.destroy()
  })
})
