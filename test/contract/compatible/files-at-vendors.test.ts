/** Files at vendors that keep them: each is uploaded once, named by the vendor's id, and removed there with the file. */
import { randomBytes } from "node:crypto"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Effect, Redacted } from "effect"
import OpenAI, { toFile } from "openai"
import { afterAll, beforeEach, describe, expect, it } from "vitest"
import {
  answering,
  anthropicFilesTwin,
  type FilesTwin,
  geminiFilesTwin,
  newTestIds,
  openaiFilesTwin,
  testCatalogue,
  type VendorScript,
} from "../../../src/testing/index.ts"
import { eventually, useGateway } from "../../support/gateway.ts"
import { png } from "../../support/media-samples.ts"
import { vendorBodyOf } from "./vendors.ts"

const ids = newTestIds()
const folder = mkdtempSync(join(tmpdir(), "weir-at-vendors-"))
afterAll(() => rmSync(folder, { recursive: true }))
const gateway = useGateway({
  ids,
  // A minute is half a second.
  backgroundSpeed: 120,
  config: { masterKey: Redacted.make("a master key of tests") },
  catalogue: (urls) =>
    testCatalogue(
      urls,
      ids,
      `files: { to: "file://${folder}" }
policies:
  - { id: mails_${ids.org}, direction: both, match: { entities: [email] }, reason: mail, action: mask }
`,
    )
      .replace("apps:\n", `apps:\n  - { id: ${ids.app}-masked, org: ${ids.org}, policies: [mails_${ids.org}] }\n`)
      .replace("keys:\n", `keys:\n  - { id: ${ids.key}masked, app: ${ids.app}-masked, secret: "env:WEIR_TEST_KEY" }\n`)
      .replaceAll(/(\{ id: (?:openai|anthropic|responses|gemini), dialect.*) \}/g, "$1, files: vendor }")
      .replace("{ handle: pool, maxOutput: 100,", "{ handle: pool, maxOutput: 100, capabilities: [images, files],"),
})
const openai = (key = "") =>
  new OpenAI({ baseURL: `${gateway().baseUrl}/openai/v1`, apiKey: `${ids.key}${key}~${gateway().key}`, maxRetries: 0 })

const pdf = (text: string) => Buffer.from(`%PDF-1.4\n1 0 obj <<${text}>> endobj\ntrailer <<>>\n%%EOF\n`)
const keep = async (bytes: Uint8Array, name = "a.pdf") =>
  (await openai().files.create({ file: await toFile(bytes, name), purpose: "user_data" })).id
const ask = (model: string, ...file_ids: ReadonlyArray<string>) =>
  openai().responses.create({
    model,
    store: false,
    input: [{ role: "user", content: file_ids.map((file_id) => ({ type: "input_file" as const, file_id })) }],
  })

const answers = answering({ words: ["ok"], inTokens: 10, outTokens: 2 })
let twin: FilesTwin
/** The requests beside those for files, of which some come in the background. */
const calls = () => gateway().vendor.calls.filter(({ method, path }) => method === "POST" && !path.includes("/files"))
const got = () => JSON.stringify(calls().at(-1)?.body)

/** Ids of files in a request. */
const idsIn = (body: string) => [...body.matchAll(/"(?:file_id|fileUri)":"([^"]+)"/g)].map(([, id = ""]) => id)
const known = (id: string) => twin.files.has(/files\/[a-z0-9]+$/.exec(id)?.[0] ?? id)

/** Knows no other ids than those of its files. */
const serve =
  (status: number): VendorScript =>
  (call) => {
    if (twin.answers(call)) return
    if (idsIn(JSON.stringify(call.body)).every(known)) return answers(call)
    call.head(status, { "content-type": "application/json" })
    call.end(JSON.stringify({ error: { message: "No such File object", type: "invalid_request_error", status: "x" } }))
  }

describe.each([
  ["main", openaiFilesTwin, 404],
  ["responses", openaiFilesTwin, 404],
  ["claude", anthropicFilesTwin, 404],
  ["gemini", geminiFilesTwin, 403],
] as const)("a file in requests to %s", (model, makeTwin, unknown) => {
  beforeEach(() => {
    twin = makeTwin()
    gateway().vendor.script(serve(unknown))
  })

  it("is uploaded once, and named", async () => {
    const bytes = pdf(`once ${model}`)
    const file = await keep(bytes)
    await ask(model, file)
    await ask(model, file)
    expect(twin.uploads()).toBe(1)
    const [uploaded] = [...twin.files.values()]
    expect(uploaded?.content.equals(bytes)).toBe(true)
    expect(uploaded?.mime).toBe("application/pdf")
    expect(got()).not.toContain(bytes.toString("base64"))
    expect(idsIn(got()).map(known)).toEqual([true])
  })

  it.each([1000, 400_000, 3_000_000])("of %d bytes has its content there", async (length) => {
    const bytes = Buffer.concat([pdf("long"), randomBytes(length)])
    const file = await keep(bytes)
    await ask(model, file)
    const [uploaded] = [...twin.files.values()]
    expect(uploaded?.content.equals(bytes)).toBe(true)
    expect(idsIn(got()).map(known)).toEqual([true])
  })

  it("is uploaded once by requests at the same time", async () => {
    const file = await keep(pdf(`parallel ${model}`))
    await Promise.all(Array.from({ length: 6 }, () => ask(model, file)))
    expect(twin.uploads()).toBe(1)
  })

  it("is uploaded again when the vendor does not know it any more, once", async () => {
    const file = await keep(pdf(`again ${model}`))
    await ask(model, file)
    twin.files.clear()
    await ask(model, file)
    expect([twin.uploads(), twin.files.size]).toEqual([2, 1])
    gateway().vendor.script((call) => {
      if (twin.answers(call)) return
      call.head(unknown, { "content-type": "application/json" })
      call.end("{}")
    })
    const before = calls().length
    await expect(ask(model, file)).rejects.toThrow()
    expect([twin.uploads(), calls().length - before]).toEqual([3, 2])
  })

  it("is sent with the request where it cannot be uploaded", async () => {
    const bytes = pdf(`refused ${model}`)
    const file = await keep(bytes)
    gateway().vendor.script((call) => {
      if (!call.path.includes("/files")) return answers(call)
      call.head(500, { "content-type": "application/json" })
      call.end("{}")
    })
    await ask(model, file)
    expect(got()).toContain(bytes.toString("base64"))
  })

  it("is removed at the vendor when it is erased, also if the vendor does not answer at first", async () => {
    const file = await keep(pdf(`erased ${model}`))
    const other = await keep(pdf(`kept ${model}`))
    await ask(model, file, other)
    expect(twin.files.size).toBe(2)
    let failures = 0
    gateway().vendor.script((call) => {
      if (failures === 0 && call.method === "DELETE") {
        failures++
        call.head(503)
        call.end()
        return
      }
      return serve(unknown)(call)
    })
    await openai().files.delete(file)
    await eventually(() => failures === 1)
    // A minute passes.
    await Effect.runPromise(gateway().sql`update client_files set tried_at = null where state = 'erased'`)
    await eventually(() => twin.files.size === 1)
    await ask(model, other)
    await eventually(async () => (await rowsOf(file)).length === 0)
  }, 30_000)
})

const rowsOf = (file: string) =>
  Effect.runPromise(gateway().sql`
    select id from client_files where id = ${file.slice(5)} or purpose = ${`.vendor:${file.slice(5)}`}`)

describe("a request in the vendor's own API", () => {
  const sent = async (path: string, body: object, key = "") => {
    const headers = { "content-type": "application/json", authorization: `Bearer ${ids.key}${key}~${gateway().key}` }
    const reply = await fetch(`${gateway().baseUrl}${path}`, { method: "POST", headers, body: JSON.stringify(body) })
    expect(reply.status).toBe(200)
    const call = calls().at(-1)
    return { got: call?.body ?? {}, headers: call?.headers ?? {} }
  }
  const use = (makeTwin: () => FilesTwin, status: number) => {
    twin = makeTwin()
    gateway().vendor.script(serve(status))
  }

  it("names it in Anthropic's form", async () => {
    use(anthropicFilesTwin, 404)
    const file_id = await keep(pdf("own anthropic"))
    const picture = await keep(png, "a: <b>?.png")
    const { got, headers } = await sent("/anthropic/v1/messages", {
      model: "claude",
      max_tokens: 100,
      messages: [
        {
          role: "user",
          content: [
            { type: "document", title: "A", source: { type: "file", file_id } },
            { type: "image", source: { type: "file", file_id: picture } },
            { type: "text", text: "Read" },
          ],
        },
      ],
    })
    const [document, image] = [...twin.files.values()].toSorted((a, b) => a.mime.localeCompare(b.mime))
    expect(got["messages"]).toMatchObject([
      {
        content: [
          { type: "document", title: "A", source: { type: "file", file_id: document?.id } },
          { type: "image", source: { type: "file", file_id: image?.id } },
          { type: "text", text: "Read" },
        ],
      },
    ])
    expect(headers["anthropic-beta"]).toContain("files-api-2025-04-14")
  })

  it("has a text that a policy masks, and the vendor does not get the file", async () => {
    use(anthropicFilesTwin, 404)
    const file = await toFile(Buffer.from("Write to ada@example.com"), "a.txt", { type: "text/plain" })
    const { id } = await openai("masked").files.create({ file, purpose: "user_data" })
    const source = { type: "file", file_id: id }
    const content = [{ type: "document", source }]
    const body = { model: "claude", max_tokens: 100, messages: [{ role: "user", content }] }
    const { got } = await sent("/anthropic/v1/messages", body, "masked")
    expect(JSON.stringify(got)).toMatch(/Write to <EMAIL_/)
    expect(twin.uploads()).toBe(0)
  })

  it("names it in Gemini's form", async () => {
    use(geminiFilesTwin, 403)
    const id = await keep(pdf("own gemini"))
    const fileUri = `https://generativelanguage.googleapis.com/v1beta/files/${id.slice(5)}`
    const { got } = await sent("/gemini/v1beta/models/gemini:generateContent", {
      contents: [{ role: "user", parts: [{ fileData: { fileUri, mimeType: "application/pdf" } }, { text: "Read" }] }],
    })
    const [uploaded] = [...twin.files.keys()]
    const named = `https://generativelanguage.googleapis.com/v1beta/${uploaded}`
    expect(got["contents"]).toEqual([
      { role: "user", parts: [{ fileData: { fileUri: named, mimeType: "application/pdf" } }, { text: "Read" }] },
    ])
  })

  it("names it in the forms of OpenAI's chat and Responses, pictures too", async () => {
    use(openaiFilesTwin, 404)
    const file_id = await keep(pdf("own openai"))
    const picture = await keep(png, "a.png")
    const chat = await sent("/openai/v1/chat/completions", {
      model: "main",
      messages: [{ role: "user", content: [{ type: "file", file: { file_id } }] }],
    })
    const [document] = [...twin.files.keys()]
    expect(chat.got["messages"]).toEqual([{ role: "user", content: [{ type: "file", file: { file_id: document } }] }])
    const { got } = await sent("/openai/v1/responses", {
      model: "responses",
      store: false,
      input: [
        {
          role: "user",
          content: [
            { type: "input_file", file_id },
            { type: "input_image", file_id: picture, detail: "low" },
          ],
        },
      ],
    })
    const [, second, third] = [...twin.files.values()].map(({ id, mime }) => ({ id, mime }))
    const at = (mime: string) => [second, third].find((each) => each?.mime === mime)?.id
    expect(got["input"]).toEqual([
      {
        role: "user",
        content: [
          { type: "input_file", file_id: at("application/pdf") },
          { type: "input_image", file_id: at("image/png"), detail: "low" },
        ],
      },
    ])
  })
})

describe("a file at vendors", () => {
  beforeEach(() => {
    twin = openaiFilesTwin()
    gateway().vendor.script(serve(404))
  })

  it("is uploaded to each vendor", async () => {
    const file = await keep(pdf("two vendors"))
    await ask("main", file)
    await ask("responses", file)
    expect(twin.uploads()).toBe(2)
    expect(await rowsOf(file)).toHaveLength(3)
  })

  it("is not listed, has no room of its own, and its ids are sealed", async () => {
    const file = await keep(pdf("sealed"))
    await ask("main", file)
    expect((await openai().files.list()).data.filter(({ id }) => id === file)).toHaveLength(1)
    const rows = await Effect.runPromise(gateway().sql`
      select bytes::int as bytes, encode(facts, 'escape') as facts, erase_at from client_files
      where purpose = ${`.vendor:${file.slice(5)}`}`)
    expect(rows).toMatchObject([{ bytes: 0, erase_at: expect.any(Date) }])
    expect(JSON.stringify(rows)).not.toContain([...twin.files.keys()].at(-1))
  })

  it("is removed there when an operator erases it", async () => {
    const file = await keep(pdf("by operator"))
    await ask("main", file)
    const erased = await gateway().call("DELETE", `/v1/admin/orgs/${ids.org}/files/${file}`, undefined, {
      "x-svc-admin-key": gateway().adminKey,
    })
    expect(await erased.json()).toEqual({ erased: 1 })
    await eventually(() => twin.files.size === 0)
  })

  it("is uploaded again with an organisation's own key, and removed with the key of each copy", async () => {
    const file = await keep(pdf("own key"))
    await ask("main", file)
    const admin = (method: string, body?: object) =>
      gateway().call(method, `/v1/admin/orgs/${ids.org}/upstream-keys/openai`, body, {
        "x-svc-admin-key": gateway().adminKey,
      })
    expect((await admin("PUT", { key: "sk-own" })).status).toBe(200)
    await eventually(async () => {
      await ask("main", file)
      return twin.uploads() === 2
    })
    await openai().files.delete(file)
    await eventually(() => twin.files.size === 0)
    const keys = (method: string) =>
      gateway()
        .vendor.calls.filter((call) => call.method === method && call.path.startsWith("/v1/files"))
        .slice(-2)
        .map(({ headers }) => headers["authorization"])
    expect(keys("POST")).toEqual(["Bearer vendor-credential", "Bearer sk-own"])
    expect(keys("DELETE").toSorted()).toEqual(["Bearer sk-own", "Bearer vendor-credential"])
    await admin("DELETE")
  }, 30_000)

  it("is sent as it is to a vendor without files, after one with files has failed", async () => {
    const bytes = pdf("failover")
    const file = await keep(bytes)
    const { vendor, second } = gateway()
    second.script(answers)
    vendor.script((call) => {
      if (twin.answers(call)) return
      call.head(500)
      call.end()
    })
    await ask("pool", file)
    expect(twin.uploads()).toBe(1)
    expect(vendorBodyOf(second)).toContain(bytes.toString("base64"))
  })
})
