/** Limits of the files of an organisation by its plan, in the format of each API. */
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import Anthropic, { toFile as toAnthropicFile } from "@anthropic-ai/sdk"
import { GoogleGenAI } from "@google/genai"
import { Effect } from "effect"
import OpenAI, { toFile } from "openai"
import { afterAll, afterEach, expect, it } from "vitest"
import { newTestIds, testCatalogue } from "../../../src/testing/index.ts"
import { useGateway } from "../../support/gateway.ts"

const ids = newTestIds()
const folder = mkdtempSync(join(tmpdir(), "weir-file-limits-"))
afterAll(() => rmSync(folder, { recursive: true }))
const gateway = useGateway({
  ids,
  catalogue: (urls) =>
    testCatalogue(urls, ids, `files: { to: "file://${folder}", orgBytes: 100000 }\n`)
      .replace("plans:\n", "plans:\n  - { id: small, maxFiles: 3, maxFilesBytes: 1000 }\n")
      .replace("plan: team", "plan: small"),
})

const apiKey = () => `${ids.key}~${gateway().key}`
const openai = () => new OpenAI({ baseURL: `${gateway().baseUrl}/openai/v1`, apiKey: apiKey(), maxRetries: 0 })
const anthropic = () => new Anthropic({ baseURL: `${gateway().baseUrl}/anthropic`, apiKey: apiKey(), maxRetries: 0 })
const gemini = () => new GoogleGenAI({ apiKey: apiKey(), httpOptions: { baseUrl: `${gateway().baseUrl}/gemini` } })

afterEach(async () => {
  for await (const { id } of openai().files.list()) await openai().files.delete(id)
})

const byOpenai = async (bytes: number) =>
  openai().files.create({ file: await toFile(Buffer.alloc(bytes, "a"), "a.txt"), purpose: "user_data" })
const byAnthropic = async (bytes: number) =>
  anthropic().beta.files.upload({ file: await toAnthropicFile(Buffer.alloc(bytes, "a"), "a.txt") })
const byGemini = (bytes: number) =>
  gemini().files.upload({ file: new Blob([Buffer.alloc(bytes, "a")]), config: { mimeType: "text/plain" } })
const byParts = async (bytes: number) => {
  const upload = await openai().uploads.create({ filename: "a", purpose: "user_data", bytes, mime_type: "text/plain" })
  const part_ids: Array<string> = []
  for (let at = 0; at < bytes; at += 10) {
    const part = await openai().uploads.parts.create(upload.id, { data: await toFile(Buffer.alloc(10), "part") })
    part_ids.push(part.id)
  }
  return openai().uploads.complete(upload.id, { part_ids })
}

it("members and operators see the limits of the plan", async () => {
  const { accessTokens, adminKey, orgId, call } = gateway()
  const { secret } = await Effect.runPromise(accessTokens.issue({ kind: "pat", orgId, scopes: ["control"] }))
  const limits = { plan: "small", maxFiles: 3, maxFilesBytes: 1000 }
  const none = { "x-svc-key-id": undefined, "x-svc-key": undefined }
  for (const [path, headers] of [
    ["/v1/plan", { authorization: `Bearer ${secret}` }],
    [`/v1/admin/orgs/${orgId}/plan`, { "x-svc-admin-key": adminKey }],
  ] as const) {
    expect(await (await call("GET", path, undefined, { ...none, ...headers })).json()).toEqual(limits)
  }
})

const full =
  "The organisation has no room for this file: it keeps at most 3 files, with 1000 bytes together. Erase some"

it.each([
  ["OpenAI's API", byOpenai, { status: 400, message: expect.stringContaining(full) }],
  ["OpenAI's uploads", byParts, { status: 400, message: expect.stringContaining(full) }],
  [
    "Anthropic's API",
    byAnthropic,
    { status: 400, error: { type: "error", error: { type: "invalid_request_error", message: full } } },
  ],
  ["Gemini's API", byGemini, { status: 400, message: expect.stringContaining(full) }],
])("a file beyond the plan is refused by %s", async (_name, upload, error) => {
  const { id } = await byOpenai(10)
  await byParts(50)
  await byGemini(10)
  await expect(upload(10)).rejects.toMatchObject(error)
  await openai().files.delete(id)
  await upload(10)
  await expect(upload(10)).rejects.toMatchObject(error)
})

it("the bytes of a plan hold where they are fewer than those of the catalogue", async () => {
  await expect(byOpenai(1001)).rejects.toMatchObject({ status: 400, message: expect.stringContaining(full) })
  await byOpenai(600)
  await expect(byAnthropic(401)).rejects.toMatchObject({ status: 400 })
  await byOpenai(400)
})

it("files that are sent at once do not exceed the plan together", async () => {
  const ends = await Promise.allSettled(Array.from({ length: 10 }, (_, at) => (at % 2 ? byOpenai(10) : byParts(20))))
  expect(ends.filter(({ status }) => status === "fulfilled")).toHaveLength(3)
})
