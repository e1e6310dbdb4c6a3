/** Files of clients, by the official SDKs of OpenAI and Anthropic. */
import { randomBytes } from "node:crypto"
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import Anthropic, { toFile as toAnthropicFile } from "@anthropic-ai/sdk"
import { Effect } from "effect"
import OpenAI, { toFile } from "openai"
import { afterAll, describe, expect, it } from "vitest"
import { partBytes } from "../../../src/client-files/file-parts.ts"
import { newTestIds, testCatalogue } from "../../../src/testing/index.ts"
import { useGateway } from "../../support/gateway.ts"

const ids = newTestIds()
const folder = mkdtempSync(join(tmpdir(), "weir-files-"))
afterAll(() => rmSync(folder, { recursive: true }))
const limits = { fileBytes: 10 * 1024 * 1024, orgBytes: 40 * 1024 * 1024 }
const gateway = useGateway({
  ids,
  catalogue: (urls) => {
    return testCatalogue(
      urls,
      ids,
      `files: ${JSON.stringify({ to: `file://${folder}`, ...limits })}
`,
    )
      .replace("apps:\n", `apps:\n  - { id: ${ids.app}-other, org: ${ids.org} }\n`)
      .replace("keys:\n", `keys:\n  - { id: ${ids.key}other, app: ${ids.app}-other, secret: "env:WEIR_TEST_KEY" }\n`)
  },
})

const openai = (key = "") =>
  new OpenAI({ baseURL: `${gateway().baseUrl}/openai/v1`, apiKey: `${ids.key}${key}~${gateway().key}`, maxRetries: 0 })
const anthropic = () =>
  new Anthropic({ baseURL: `${gateway().baseUrl}/anthropic`, apiKey: `${ids.key}~${gateway().key}`, maxRetries: 0 })

describe("OpenAI's files", () => {
  it.each([0, 1, 1000, partBytes, partBytes + 1, 2 * partBytes + 5])("keep %d bytes", async (length) => {
    const bytes = randomBytes(length)
    const made = await openai().files.create({ file: await toFile(bytes, "ä file.bin"), purpose: "user_data" })
    expect(made).toMatchObject({
      object: "file",
      bytes: length,
      filename: "ä file.bin",
      purpose: "user_data",
      status: "processed",
    })
    expect(made.id).toMatch(/^file-[a-z2-7]{26}$/)
    expect(await openai().files.retrieve(made.id)).toEqual(made)
    const content = await openai().files.content(made.id)
    expect(Buffer.from(await content.arrayBuffer()).equals(bytes)).toBe(true)
    expect(content.headers.get("content-type")).toBe("application/octet-stream")
    expect(await openai().files.delete(made.id)).toEqual({ id: made.id, object: "file", deleted: true })
    await expect(openai().files.retrieve(made.id)).rejects.toMatchObject({ status: 404 })
    await expect(openai().files.content(made.id)).rejects.toMatchObject({ status: 404 })
    await expect(openai().files.delete(made.id)).rejects.toMatchObject({ status: 404 })
  })

  it("are listed in pages, by purpose, newest first", async () => {
    const made: Array<string> = []
    for (const purpose of ["batch", "user_data", "batch"] as const) {
      made.push((await openai().files.create({ file: await toFile(Buffer.from("x"), `${purpose}.jsonl`), purpose })).id)
    }
    const listed: Array<string> = []
    for await (const { id } of openai().files.list({ limit: 1 })) listed.push(id)
    expect(listed.slice(0, 3)).toEqual(made.toReversed())
    const batches = await openai().files.list({ purpose: "batch", order: "asc" })
    expect(batches.data.map(({ id }) => id)).toEqual([made[0], made[2]])
    expect(batches.data[0]?.expires_at).toBeGreaterThan(Date.now() / 1000 + 29 * 86_400)
    for (const id of made) await openai().files.delete(id)
  })

  it("are listed to their end by a client that erases each of them", async () => {
    for (let at = 0; at < 5; at++) {
      await openai().files.create({ file: await toFile(Buffer.from("x"), "x"), purpose: "user_data" })
    }
    for await (const { id } of openai().files.list({ limit: 2 })) await openai().files.delete(id)
    expect((await openai().files.list()).data).toEqual([])
  })

  it("expire as their client says", async () => {
    const file = await toFile(Buffer.from("x"), "x.txt")
    const expires_after = { anchor: "created_at", seconds: 3600 } as const
    const made = await openai().files.create({ file, purpose: "user_data", expires_after })
    expect(made.expires_at).toBe(made.created_at + 3600)
    const { sql } = gateway()
    const of = sql`id = ${made.id.slice(5)}`
    await Effect.runPromise(sql`update client_files set erase_at = now() - interval '1 second' where ${of}`)
    await expect(openai().files.retrieve(made.id)).rejects.toMatchObject({ status: 404 })
  })

  it.each<[string, object, RegExp]>([
    ["no purpose", {}, /purpose/],
    ["an unknown purpose", { purpose: "fun" }, /purpose.*assistants/],
    ["an expiry in another form", { purpose: "batch", "expires_after.seconds": "3600" }, /expires_after/],
    ["an expiry without its anchor", { purpose: "batch", "expires_after[seconds]": "3600" }, /expires_after/],
    [
      "a short expiry",
      { purpose: "batch", "expires_after[anchor]": "created_at", "expires_after[seconds]": "1" },
      /3600/,
    ],
    ["an unknown field", { purpose: "batch", colour: "red" }, /colour/],
  ])("refuse %s", async (_name, fields, message) => {
    const form = new FormData()
    for (const [name, value] of Object.entries(fields)) form.set(name, String(value))
    form.set("file", new Blob(["x"]), "x.txt")
    const reply = await send(form)
    expect([reply.status, await reply.text()]).toEqual([400, expect.stringMatching(message)])
  })

  const send = (body: FormData | string) =>
    fetch(`${gateway().baseUrl}/openai/v1/files`, {
      method: "POST",
      headers: { authorization: `Bearer ${ids.key}~${gateway().key}` },
      body,
    })

  it("refuse what is no form, has no file, two files or too large a file", async () => {
    expect((await send("{}")).status).toBe(400)
    const form = new FormData()
    form.set("purpose", "batch")
    expect((await send(form)).status).toBe(400)
    form.append("file", new Blob(["x"]), "a")
    form.append("file", new Blob(["x"]), "b")
    expect((await send(form)).status).toBe(400)
    const large = new FormData()
    large.set("purpose", "batch")
    large.set("file", new Blob([Buffer.alloc(limits.fileBytes + 1)]), "large.jsonl")
    expect((await send(large)).status).toBe(413)
  })

  it("have a limit for all of an organisation together, which erasing frees", async () => {
    const create = async () =>
      openai().files.create({ file: await toFile(Buffer.alloc(9 * 1024 * 1024), "large"), purpose: "user_data" })
    const ends = await Promise.allSettled(Array.from({ length: 6 }, create))
    const made = ends.flatMap((end) => (end.status === "fulfilled" ? [end.value.id] : []))
    expect(made).toHaveLength(4)
    expect(ends.find(({ status }) => status === "rejected")).toMatchObject({ reason: { status: 400 } })
    const [first = ""] = made
    await openai().files.delete(first)
    const again = await create()
    for (const id of [...made.slice(1), again.id]) await openai().files.delete(id)
  }, 30_000)

  it.each(["lines.csv", "lines.json", "lines"])(
    "refuse %s for batches, at the upload, as OpenAI does",
    async (name) => {
      const refused = { status: 400, message: "400 Invalid file format for Batch API. Must be .jsonl", param: null }
      const file = await toFile(Buffer.from("a,b"), name)
      await expect(openai().files.create({ file, purpose: "batch" })).rejects.toMatchObject(refused)
      const upload = { filename: name, purpose: "batch", bytes: 3, mime_type: "text/csv" } as const
      await expect(openai().uploads.create(upload)).rejects.toMatchObject(refused)
      const { id } = await openai().files.create({ file, purpose: "user_data" })
      await openai().files.delete(id)
    },
  )

  it("are sealed in storage, of which nothing is left once they are erased", async () => {
    const stored = () =>
      readdirSync(folder, { recursive: true, withFileTypes: true }).flatMap((entry) =>
        entry.isFile() ? [join(entry.parentPath, entry.name)] : [],
      )
    const before = stored()
    const text = "a very plain text ".repeat(1000)
    const { id } = await openai().files.create({ file: await toFile(Buffer.from(text), "plain.txt"), purpose: "evals" })
    const parts = stored().filter((path) => !before.includes(path))
    expect(parts).toHaveLength(1)
    for (const part of parts) expect(readFileSync(part).includes("plain text")).toBe(false)
    const { sql } = gateway()
    const rows = await Effect.runPromise(sql<{ row: string }>`select encode(facts, 'escape') as row from client_files`)
    expect(JSON.stringify(rows)).not.toContain("plain.txt")
    await openai().files.delete(id)
    expect([stored(), await Effect.runPromise(sql`select id from client_files where id = ${id.slice(5)}`)]).toEqual([
      before,
      [],
    ])
  })

  it("whose parts are swapped or lost are not sent", async () => {
    const bytes = randomBytes(2 * partBytes)
    const { id } = await openai().files.create({ file: await toFile(bytes, "two"), purpose: "user_data" })
    const path = (part: number) => join(folder, ids.org, id.slice(5), String(part))
    const [first, second] = [readFileSync(path(0)), readFileSync(path(1))]
    const read = async () => (await openai().files.content(id)).arrayBuffer()
    writeFileSync(path(0), second)
    await expect(read()).rejects.toThrow()
    writeFileSync(path(0), first)
    rmSync(path(1))
    await expect(read()).rejects.toThrow()
    writeFileSync(path(1), second)
    expect(Buffer.from(await read()).equals(bytes)).toBe(true)
    await openai().files.delete(id)
  })

  it("that were not stored to their end are given up", async () => {
    const { id } = await openai().files.create({ file: await toFile(Buffer.from("x"), "x"), purpose: "user_data" })
    const { sql } = gateway()
    const late = sql`state = 'storing', created_at = now() - interval '2 hours'`
    await Effect.runPromise(sql`update client_files set ${late} where id = ${id.slice(5)}`)
    await expect(openai().files.retrieve(id)).rejects.toMatchObject({ status: 404 })
    const removed = await Effect.runPromise(sql<{ file: string }>`select file from files_to_remove(100, 3600000)`)
    expect(removed.map(({ file }) => file)).toContain(id.slice(5))
  })

  it("belong to the application that made them", async () => {
    const { id } = await openai().files.create({ file: await toFile(Buffer.from("x"), "x"), purpose: "user_data" })
    const other = openai("other")
    await expect(other.files.retrieve(id)).rejects.toMatchObject({ status: 404 })
    await expect(other.files.content(id)).rejects.toMatchObject({ status: 404 })
    await expect(other.files.delete(id)).rejects.toMatchObject({ status: 404 })
    expect((await other.files.list()).data).toEqual([])
    await openai().files.delete(id)
  })

  it.each(["file-", "file-x", "nope", "file-%00", `file-${"a".repeat(2000)}`, "..%2f..%2fetc"])(
    "have no file %s",
    async (id) => {
      const headers = { authorization: `Bearer ${ids.key}~${gateway().key}` }
      for (const path of [id, `${id}/content`]) {
        const reply = await fetch(`${gateway().baseUrl}/openai/v1/files/${path}`, { headers })
        expect([400, 404]).toContain(reply.status)
      }
    },
  )
})

describe("Anthropic's files", () => {
  it("are made, listed, read and erased, also by the other API", async () => {
    const bytes = randomBytes(3000)
    const made = await anthropic().beta.files.upload({
      file: await toAnthropicFile(bytes, "a.pdf", { type: "application/pdf" }),
    })
    expect(made).toMatchObject({ type: "file", filename: "a.pdf", mime_type: "application/pdf", size_bytes: 3000 })
    expect(made.id).toMatch(/^file_[a-z2-7]{26}$/)
    expect(await anthropic().beta.files.retrieveMetadata(made.id)).toEqual(made)
    const listed: Array<string> = []
    for await (const { id } of anthropic().beta.files.list({ limit: 1 })) listed.push(id)
    expect(listed).toContain(made.id)
    const content = await anthropic().beta.files.download(made.id)
    expect(Buffer.from(await content.arrayBuffer()).equals(bytes)).toBe(true)
    expect(await openai().files.retrieve(made.id)).toMatchObject({ filename: "a.pdf" })
    expect(await anthropic().beta.files.delete(made.id)).toEqual({ id: made.id, type: "file_deleted" })
    await expect(anthropic().beta.files.retrieveMetadata(made.id)).rejects.toMatchObject({
      status: 404,
      error: { type: "error", error: { type: "not_found_error" } },
    })
  })
})
