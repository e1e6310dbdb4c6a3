/** Limits of uploads: they count in their caller's rates, and only so many run at a time. */
import { createHash, randomUUID } from "node:crypto"
import { mkdtempSync, rmSync } from "node:fs"
import { request } from "node:http"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { Schema } from "effect"
import { afterAll, describe, expect, it } from "vitest"
import { sign } from "../../../src/identity/signature.ts"
import { newTestIds, testCatalogue } from "../../../src/testing/index.ts"
import { eventually, useGateway } from "../../support/gateway.ts"

const ids = newTestIds()
const folder = mkdtempSync(join(tmpdir(), "weir-upload-limits-"))
afterAll(() => rmSync(folder, { recursive: true }))
/** Applications that may send so many requests in a minute. */
const apps = {
  files: 2,
  signed: 2,
  anthropic: 2,
  uploads: 4,
  gemini: 2,
  content: 3,
  parallel: 1000,
  other: 1000,
  large: 1000,
}
const mediaDiskBytes = 16 * 1024 * 1024
const gateway = useGateway({
  ids,
  config: { fileUploads: 3, mediaDiskBytes },
  catalogue: (urls) => {
    const lines = (line: (name: string, rpm: number) => string) =>
      Object.entries(apps)
        .map(([name, rpm]) => `  - ${line(name, rpm)}\n`)
        .join("")
    return testCatalogue(urls, ids, `files: { to: "file://${folder}", fileBytes: 12000000 }\n`)
      .replace(
        "apps:\n",
        `apps:\n${lines((name, rpm) => `{ id: ${ids.app}-${name}, org: ${ids.org}, quota: { rpm: ${rpm} } }`)}`,
      )
      .replace(
        "keys:\n",
        `keys:\n${lines((name) => `{ id: ${ids.key}-${name}, app: ${ids.app}-${name}, secret: "env:WEIR_TEST_KEY" }`)}`,
      )
  },
})

type App = keyof typeof apps
const authorization = (app: App) => `Bearer ${ids.key}-${app}~${gateway().key}`
const send = async (
  app: App,
  method: string,
  path: string,
  body?: string | FormData,
  headers: Record<string, string> = {},
) => {
  const all = { authorization: authorization(app), ...headers }
  const reply = await fetch(`${gateway().baseUrl}${path}`, {
    method,
    headers: all,
    ...(body !== undefined && { body }),
  })
  const { status } = reply
  return { status, text: await reply.text(), headers: reply.headers }
}
const formOf = (field = "file", bytes = 10) => {
  const form = new FormData()
  if (field === "file") form.set("purpose", "user_data")
  form.set(field, new Blob([Buffer.alloc(bytes)]), "a")
  return form
}
const idIn = (text: string) =>
  Schema.decodeUnknownSync(Schema.fromJsonString(Schema.Struct({ id: Schema.String })))(text).id
const upload = (app: App, bytes?: number) => send(app, "POST", "/openai/v1/files", formOf("file", bytes))

describe("requests count in the rates of their caller", () => {
  it("files of OpenAI's API", async () => {
    expect((await upload("files")).status).toBe(200)
    expect((await upload("files")).status).toBe(200)
    const refused = await upload("files")
    expect([refused.status, JSON.parse(refused.text)]).toEqual([
      429,
      { error: expect.objectContaining({ code: "rate_limited", message: "Too many requests" }) },
    ])
    expect(Number(refused.headers.get("retry-after"))).toBeGreaterThan(0)
    expect((await send("files", "GET", "/openai/v1/files")).status).toBe(200)
  })

  it("files of Anthropic's API", async () => {
    const create = () => {
      const form = new FormData()
      form.set("file", new Blob(["x"]), "a")
      return send("anthropic", "POST", "/anthropic/v1/files", form)
    }
    await create()
    await create()
    const { status, text } = await create()
    expect([status, JSON.parse(text)]).toEqual([
      429,
      expect.objectContaining({ type: "error", error: expect.objectContaining({ type: "rate_limit_error" }) }),
    ])
  })

  it("uploads of OpenAI's API, their parts and their end", async () => {
    const json = { "content-type": "application/json" }
    const begun = { filename: "a", purpose: "user_data", bytes: 20, mime_type: "text/plain" }
    const id = idIn((await send("uploads", "POST", "/openai/v1/uploads", JSON.stringify(begun), json)).text)
    const part = () => send("uploads", "POST", `/openai/v1/uploads/${id}/parts`, formOf("data"))
    const part_ids = [idIn((await part()).text), idIn((await part()).text)]
    const complete = () =>
      send("uploads", "POST", `/openai/v1/uploads/${id}/complete`, JSON.stringify({ part_ids }), json)
    expect((await complete()).status).toBe(200)
    expect((await complete()).status).toBe(429)
    expect((await part()).status).toBe(429)
    expect((await send("uploads", "POST", "/openai/v1/uploads", JSON.stringify(begun), json)).status).toBe(429)
  })

  it("resumable uploads of Gemini's API, at their beginning", async () => {
    const begin = () =>
      send("gemini", "POST", "/gemini/upload/v1beta/files", "{}", {
        "content-type": "application/json",
        "x-goog-upload-protocol": "resumable",
        "x-goog-upload-command": "start",
      })
    expect((await begin()).status).toBe(200)
    expect((await begin()).status).toBe(200)
    const { status, text } = await begin()
    expect([status, JSON.parse(text)]).toEqual([
      429,
      { error: expect.objectContaining({ code: 429, status: "RESOURCE_EXHAUSTED" }) },
    ])
  })

  it("files with a signature, whether it is good or not", async () => {
    const target = "/openai/v1/files"
    const body = Buffer.from(
      '--b\r\ncontent-disposition: form-data; name="purpose"\r\n\r\nuser_data\r\n--b\r\ncontent-disposition: form-data; name="file"; filename="a"\r\n\r\nx\r\n--b--\r\n',
    )
    const signed = async (over: Uint8Array) => {
      const ts = String(Math.floor(Date.now() / 1000))
      const nonce = randomUUID()
      const secret = createHash("sha256").update(gateway().key).digest()
      const headers = {
        authorization: authorization("signed"),
        "x-svc-ts": ts,
        "x-svc-nonce": nonce,
        "x-svc-sign": sign(secret, { method: "POST", target, ts, nonce, body: over }),
        "content-type": "multipart/form-data; boundary=b",
      }
      return (await fetch(`${gateway().baseUrl}${target}`, { method: "POST", headers, body })).status
    }
    expect([await signed(Buffer.from("other")), await signed(body), await signed(body)]).toEqual([401, 200, 429])
  })

  it("the content of files", async () => {
    const id = idIn((await upload("content")).text)
    const read = () => send("content", "GET", `/openai/v1/files/${id}/content`)
    expect([(await read()).status, (await read()).status, (await read()).status]).toEqual([200, 200, 429])
  })
})

/** A form whose end does not come until `end` is called. */
const slow = (app: App, bytes: number, path = "/openai/v1/files") => {
  const sent = request(`${gateway().baseUrl}${path}`, {
    method: "POST",
    headers: { authorization: authorization(app), "content-type": "multipart/form-data; boundary=b" },
  })
  const status = new Promise<number>((resolve, reject) => {
    sent.on("response", (reply) => {
      reply.resume()
      resolve(reply.statusCode ?? 0)
    })
    sent.on("error", reject)
  })
  status.catch(() => {})
  sent.write('--b\r\ncontent-disposition: form-data; name="purpose"\r\n\r\nuser_data\r\n')
  sent.write('--b\r\ncontent-disposition: form-data; name="file"; filename="a"\r\n\r\n')
  sent.write(Buffer.alloc(bytes))
  return {
    status,
    more: (bytes: number) => sent.write(Buffer.alloc(bytes)),
    end: () => sent.end("\r\n--b--\r\n"),
    leave: () => sent.destroy(),
  }
}

describe("uploads at a time", () => {
  it("are so many of an application; others go on", async () => {
    const running = [slow("parallel", 10), slow("parallel", 10), slow("parallel", 10)]
    await sleep(300)
    const refused = await upload("parallel")
    expect([refused.status, JSON.parse(refused.text)]).toEqual([
      429,
      {
        error: expect.objectContaining({
          code: "rate_limited",
          message: "Too many uploads at the same time: wait until one has ended",
        }),
      },
    ])
    expect((await upload("other")).status).toBe(200)
    const [first, second, third] = running
    first?.end()
    expect(await first?.status).toBe(200)
    expect((await upload("parallel")).status).toBe(200)
    // A client that leaves makes room too.
    second?.leave()
    third?.leave()
    await eventually(async () => {
      const ends = await Promise.all([upload("parallel"), upload("parallel"), upload("parallel")])
      return ends.every(({ status }) => status === 200)
    })
  })

  it("have a share of the room of a node, of which only the oldest may take more", async () => {
    expect((await upload("large", 11_000_000)).status).toBe(200)
    const first = slow("large", 3_000_000)
    await sleep(300)
    expect((await upload("large", 500_000)).status).toBe(200)
    const refused = await upload("large", 3_000_000)
    expect([refused.status, refused.text]).toEqual([429, expect.stringContaining("take all the room")])
    expect((await upload("other", 3_000_000)).status).toBe(200)
    first.more(3_000_000)
    await sleep(300)
    expect((await upload("large", 500_000)).status).toBe(429)
    first.end()
    expect(await first.status).toBe(200)
    expect((await upload("large", 3_000_000)).status).toBe(200)
  })
})
