/** Files that clients keep here, named in requests of four APIs, at vendors of four APIs: each gets their content. */
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import Anthropic, { toFile as toAnthropicFile } from "@anthropic-ai/sdk"
import OpenAI, { toFile } from "openai"
import { afterAll, describe, expect, it } from "vitest"
import { answering, newTestIds, testCatalogue } from "../../../src/testing/index.ts"
import { useGateway } from "../../support/gateway.ts"
import { png } from "../../support/media-samples.ts"
import { vendorBodyOf } from "./vendors.ts"

const ids = newTestIds()
const folder = mkdtempSync(join(tmpdir(), "weir-files-"))
afterAll(() => rmSync(folder, { recursive: true }))
const gateway = useGateway({
  ids,
  catalogue: (urls) =>
    testCatalogue(urls, ids, `files: { to: "file://${folder}" }\n`)
      .replace("apps:\n", `apps:\n  - { id: ${ids.app}-other, org: ${ids.org} }\n`)
      .replace("keys:\n", `keys:\n  - { id: ${ids.key}other, app: ${ids.app}-other, secret: "env:WEIR_TEST_KEY" }\n`),
})
const openai = (key = "") =>
  new OpenAI({ baseURL: `${gateway().baseUrl}/openai/v1`, apiKey: `${ids.key}${key}~${gateway().key}`, maxRetries: 0 })
const anthropic = () =>
  new Anthropic({ baseURL: `${gateway().baseUrl}/anthropic`, apiKey: `${ids.key}~${gateway().key}`, maxRetries: 0 })

const says = () => gateway().vendor.script(answering({ words: ["ok"], inTokens: 10, outTokens: 2 }))
const got = () => vendorBodyOf(gateway().vendor)

const pdf = Buffer.from("%PDF-1.4\n1 0 obj <<>> endobj\ntrailer <<>>\n%%EOF\n")
const keep = async (bytes: Uint8Array, name: string, key = "") =>
  (await openai(key).files.create({ file: await toFile(bytes, name), purpose: "user_data" })).id

describe.each(["main", "claude", "responses", "gemini"])("files in requests to %s", (model) => {
  it("of OpenAI's Responses", async () => {
    says()
    const file_id = await keep(pdf, "a.pdf")
    await openai().responses.create({
      model,
      store: false,
      input: [
        {
          role: "user",
          content: [
            { type: "input_text", text: "Read" },
            { type: "input_file", file_id },
          ],
        },
      ],
    })
    expect(got()).toContain(pdf.toString("base64"))
    expect(got()).not.toContain(file_id)
  })

  it("of OpenAI's Responses, as pictures", async () => {
    says()
    const file_id = await keep(png, "a.png")
    await openai().responses.create({
      model,
      store: false,
      input: [{ role: "user", content: [{ type: "input_image", file_id, detail: "auto" }] }],
    })
    expect(got()).toContain(png.toString("base64"))
    expect(got()).not.toContain(file_id)
  })

  it("of OpenAI's chat", async () => {
    says()
    const file_id = await keep(pdf, "a.pdf")
    await openai().chat.completions.create({
      model,
      messages: [
        {
          role: "user",
          content: [
            { type: "text", text: "Read" },
            { type: "file", file: { file_id } },
          ],
        },
      ],
    })
    expect(got()).toContain(pdf.toString("base64"))
    expect(got()).not.toContain(file_id)
  })

  it("of Anthropic", async () => {
    says()
    const file = await toAnthropicFile(pdf, "a.pdf", { type: "application/pdf" })
    const { id: file_id } = await anthropic().beta.files.upload({ file })
    await anthropic().beta.messages.create({
      model,
      max_tokens: 100,
      messages: [{ role: "user", content: [{ type: "document", source: { type: "file", file_id } }] }],
    })
    expect(got()).toContain(pdf.toString("base64"))
    expect(got()).not.toContain(file_id)
  })

  it("of Gemini", async () => {
    says()
    const id = await keep(pdf, "a.pdf")
    const fileUri = `https://generativelanguage.googleapis.com/v1beta/files/${id.slice(5)}`
    const reply = await fetch(`${gateway().baseUrl}/gemini/v1beta/models/${model}:generateContent`, {
      method: "POST",
      headers: { "content-type": "application/json", "x-goog-api-key": `${ids.key}~${gateway().key}` },
      body: JSON.stringify({
        contents: [{ role: "user", parts: [{ fileData: { fileUri, mimeType: "application/pdf" } }] }],
      }),
    })
    expect(reply.status).toBe(200)
    expect(got()).toContain(pdf.toString("base64"))
  })
})

const asking = (file_id: string, key = "") =>
  openai(key).responses.create({
    model: "main",
    store: false,
    input: [{ role: "user", content: [{ type: "input_file", file_id }] }],
  })

it("a file of another application, or none, is not found, and no vendor is asked", async () => {
  const others = await keep(pdf, "a.pdf", "other")
  const calls = gateway().vendor.calls.length
  await expect(asking(others)).rejects.toMatchObject({ status: 404, message: expect.stringContaining(others) })
  await expect(asking(`file-${"a".repeat(26)}`)).rejects.toMatchObject({ status: 404 })
  expect(gateway().vendor.calls.length).toBe(calls)
  says()
  await asking(others, "other")
})

it("a file that is named twice is read once; together they are not larger than a body", async () => {
  says()
  const id = await keep(Buffer.concat([pdf, Buffer.alloc(6 * 1024 * 1024, "a")]), "large.pdf")
  const file = { type: "input_file" as const, file_id: id }
  const send = (count: number) =>
    openai().responses.create({
      model: "main",
      store: false,
      input: [{ role: "user", content: Array.from({ length: count }, () => file) }],
    })
  await send(2)
  await expect(send(50)).rejects.toMatchObject({ status: 413 })
}, 30_000)

it("a text is a text for Anthropic", async () => {
  says()
  const file_id = await keep(Buffer.from("Plain words."), "notes.txt")
  await anthropic().beta.messages.create({
    model: "claude",
    max_tokens: 100,
    messages: [
      { role: "user", content: [{ type: "document", source: { type: "file", file_id: file_id.replace("-", "_") } }] },
    ],
  })
  expect(got()).toContain("Plain words.")
})
