/** Files of Gemini's API: resumable uploads by Google's SDK, and by hand. */
import { randomBytes } from "node:crypto"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { readFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { GoogleGenAI } from "@google/genai"
import { Schema } from "effect"
import { afterAll, expect, it } from "vitest"
import { answering, newTestIds, testCatalogue } from "../../../src/testing/index.ts"
import { useGateway } from "../../support/gateway.ts"
import { vendorBodyOf } from "./vendors.ts"

const ids = newTestIds()
const folder = mkdtempSync(join(tmpdir(), "weir-gemini-"))
afterAll(() => rmSync(folder, { recursive: true }))
const gateway = useGateway({
  ids,
  catalogue: (urls) => testCatalogue(urls, ids, `files: { to: "file://${folder}/stored", fileBytes: 30000000 }\n`),
})
const apiKey = () => `${ids.key}~${gateway().key}`
const client = () => new GoogleGenAI({ apiKey: apiKey(), httpOptions: { baseUrl: `${gateway().baseUrl}/gemini` } })

const readDone = Schema.decodeUnknownSync(
  Schema.Struct({
    file: Schema.Struct({
      name: Schema.String,
      displayName: Schema.String,
      mimeType: Schema.String,
      sizeBytes: Schema.String,
    }),
  }),
)

const written = (bytes: Uint8Array) => {
  const path = join(folder, `sent-${bytes.length}.pdf`)
  writeFileSync(path, bytes)
  return path
}

// The SDK sends pieces of 8 MiB.
it.each([1, 5000, 8 * 1024 * 1024, 20 * 1024 * 1024 + 3])(
  "uploads %d bytes, reads, names and erases them",
  async (length) => {
    const bytes = randomBytes(length)
    const file = await client().files.upload({
      file: written(bytes),
      config: { mimeType: "application/pdf", displayName: "A" },
    })
    expect(file).toMatchObject({
      displayName: "A",
      mimeType: "application/pdf",
      sizeBytes: String(length),
      state: "ACTIVE",
    })
    expect(file.name).toMatch(/^files\/[a-z2-7]{26}$/)
    const { name = "" } = file
    expect(await client().files.get({ name })).toMatchObject({ name, uri: file.uri })
    const downloadPath = join(folder, "got")
    await client().files.download({ file: name, downloadPath })
    await expect.poll(async () => (await readFile(downloadPath)).equals(bytes)).toBe(true)
    const listed: Array<string | undefined> = []
    for await (const each of await client().files.list({ config: { pageSize: 1 } })) listed.push(each.name)
    expect(listed).toEqual([name])
    await client().files.delete({ name })
    await expect(client().files.get({ name })).rejects.toMatchObject({ status: 404 })
  },
  30_000,
)

it("a file is named in a request by its uri", async () => {
  gateway().vendor.script(answering({ words: ["ok"], inTokens: 10, outTokens: 2 }))
  const bytes = Buffer.from("%PDF-1.4 a test")
  const { uri = "", mimeType = "" } = await client().files.upload({
    file: written(bytes),
    config: { mimeType: "application/pdf" },
  })
  await client().models.generateContent({
    model: "gemini",
    contents: [{ role: "user", parts: [{ fileData: { fileUri: uri, mimeType } }] }],
  })
  expect(vendorBodyOf(gateway().vendor)).toContain(bytes.toString("base64"))
})

const post = (url: string, headers: Record<string, string>, body: string | Uint8Array<ArrayBuffer> = "") =>
  fetch(url, { method: "POST", headers: { "x-goog-api-key": apiKey(), ...headers }, body })
const begin = async (bytes: number, file: object = { display_name: "by hand" }) => {
  const reply = await post(
    `${gateway().baseUrl}/gemini/upload/v1beta/files`,
    {
      "x-goog-upload-protocol": "resumable",
      "x-goog-upload-command": "start",
      "x-goog-upload-header-content-length": String(bytes),
      "x-goog-upload-header-content-type": "text/plain",
      "content-type": "application/json",
    },
    JSON.stringify({ file }),
  )
  return { status: reply.status, url: reply.headers.get("x-goog-upload-url") ?? "" }
}
const give = (url: string, offset: number, text: string, command = "upload") =>
  post(url, { "x-goog-upload-command": command, "x-goog-upload-offset": String(offset) }, text)

it("an upload goes on where it was, and takes no piece twice", async () => {
  const { url } = await begin(9)
  expect((await give(url, 0, "one")).headers.get("x-goog-upload-status")).toBe("active")
  expect((await give(url, 0, "one")).status).toBe(200)
  const asked = await give(url, 0, "", "query")
  expect(asked.headers.get("x-goog-upload-size-received")).toBe("3")
  expect((await give(url, 6, "two")).status).toBe(400)
  expect((await give(url, 3, "two")).status).toBe(200)
  const done = await give(url, 6, "six", "upload, finalize")
  expect([done.status, done.headers.get("x-goog-upload-status")]).toEqual([200, "final"])
  const { file } = readDone(await done.json())
  expect(file).toMatchObject({ displayName: "by hand", mimeType: "text/plain", sizeBytes: "9" })
  const again = await give(url, 6, "six", "upload, finalize")
  expect(readDone(await again.json()).file.name).toBe(file.name)
  const contentAt = async (path: string) => {
    const headers = { "x-goog-api-key": apiKey() }
    return (await fetch(`${gateway().baseUrl}/gemini/${path}/${file.name}:download?alt=media`, { headers })).text()
  }
  expect(await contentAt("v1beta")).toBe("onetwosix")
  // The address in Google's guide of batches.
  expect(await contentAt("download/v1beta")).toBe("onetwosix")
})

it("an upload needs no key at its address, as Google's SDK for Python sends none, and another address is none", async () => {
  const { url } = await begin(3)
  const bare = (at: string) =>
    fetch(at, {
      method: "POST",
      headers: { "x-goog-upload-command": "upload, finalize", "x-goog-upload-offset": "0" },
      body: "abc",
    })
  expect((await bare(`${url.slice(0, -3)}AAA`)).status).toBe(404)
  expect((await bare(url.slice(0, url.lastIndexOf("/")))).status).toBe(404)
  expect((await bare(url)).status).toBe(200)
})

it("refuses other protocols, other lengths, too large files and unknown uploads", async () => {
  const start = `${gateway().baseUrl}/gemini/upload/v1beta/files`
  expect((await post(start, { "x-goog-upload-protocol": "multipart" })).status).toBe(400)
  expect((await begin(30_000_001)).status).toBe(413)
  const { url } = await begin(5)
  expect((await give(url, 0, "four", "upload, finalize")).status).toBe(400)
  expect((await give(url, 4, "!", "upload, finalize")).status).toBe(200)
  expect((await give(`${start}/${"a".repeat(26)}`, 0, "x")).status).toBe(404)
  const { url: other } = await begin(5)
  expect((await give(other, 0, "", "cancel")).status).toBe(200)
  expect((await give(other, 0, "x")).status).toBe(404)
})
