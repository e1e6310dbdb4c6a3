/** Uploads in parts, by OpenAI's SDK. */
import { createHash, randomBytes } from "node:crypto"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import OpenAI, { toFile } from "openai"
import { afterAll, expect, it } from "vitest"
import { partBytes } from "../../../src/client-files/file-parts.ts"
import { newTestIds, testCatalogue } from "../../../src/testing/index.ts"
import { useGateway } from "../../support/gateway.ts"

const ids = newTestIds()
const folder = mkdtempSync(join(tmpdir(), "weir-uploads-"))
afterAll(() => rmSync(folder, { recursive: true }))
const gateway = useGateway({
  ids,
  catalogue: (urls) =>
    testCatalogue(urls, ids, `files: { to: "file://${folder}", fileBytes: 20000000 }\n`)
      .replace("apps:\n", `apps:\n  - { id: ${ids.app}-other, org: ${ids.org} }\n`)
      .replace("keys:\n", `keys:\n  - { id: ${ids.key}other, app: ${ids.app}-other, secret: "env:WEIR_TEST_KEY" }\n`),
})
const client = (key = "") =>
  new OpenAI({ baseURL: `${gateway().baseUrl}/openai/v1`, apiKey: `${ids.key}${key}~${gateway().key}`, maxRetries: 0 })

const begin = (bytes: number) =>
  client().uploads.create({ filename: "whole.bin", purpose: "user_data", bytes, mime_type: "application/x-test" })
const add = async (id: string, bytes: Uint8Array) =>
  (await client().uploads.parts.create(id, { data: await toFile(bytes, "part") })).id

it("make a file of their parts, in the order that their client says", async () => {
  const [first, second] = [randomBytes(partBytes + 7), randomBytes(1000)]
  const whole = Buffer.concat([first, second])
  const upload = await begin(whole.length)
  expect(upload).toMatchObject({ object: "upload", status: "pending", filename: "whole.bin", bytes: whole.length })
  const later = await add(upload.id, second)
  const earlier = await add(upload.id, first)
  const md5 = createHash("md5").update(whole).digest("hex")
  const done = await client().uploads.complete(upload.id, { part_ids: [earlier, later], md5 })
  expect(done).toMatchObject({
    id: upload.id,
    status: "completed",
    file: { bytes: whole.length, filename: "whole.bin" },
  })
  const content = await client().files.content(done.file?.id ?? "")
  expect(Buffer.from(await content.arrayBuffer()).equals(whole)).toBe(true)
  const again = await client().uploads.complete(upload.id, { part_ids: [earlier, later] })
  expect(again.file?.id).toBe(done.file?.id)
  expect((await client().files.list()).data.map(({ id }) => id)).toEqual([done.file?.id])
  await expect(add(upload.id, first)).rejects.toMatchObject({ status: 400 })
  await expect(client().uploads.cancel(upload.id)).rejects.toMatchObject({ status: 400 })
})

it.each([4, 3 * partBytes])("of %d bytes that are completed twice at once make one file", async (length) => {
  const upload = await begin(length)
  const part_ids = [await add(upload.id, randomBytes(length))]
  const before = (await client().files.list()).data.length
  const ends = await Promise.all(Array.from({ length: 5 }, () => client().uploads.complete(upload.id, { part_ids })))
  expect(new Set(ends.map(({ file }) => file?.id)).size).toBe(1)
  expect((await client().files.list()).data).toHaveLength(before + 1)
})

it("are cancelled, with their parts", async () => {
  const upload = await begin(4)
  const part = await add(upload.id, Buffer.from("four"))
  expect(await client().uploads.cancel(upload.id)).toMatchObject({ status: "cancelled" })
  await expect(client().uploads.complete(upload.id, { part_ids: [part] })).rejects.toMatchObject({ status: 404 })
  await expect(add(upload.id, Buffer.from("x"))).rejects.toMatchObject({ status: 404 })
})

it("refuse parts of others, another length, another hash, and too large a file", async () => {
  const upload = await begin(4)
  const other = await begin(4)
  const part = await add(upload.id, Buffer.from("four"))
  const foreign = await add(other.id, Buffer.from("four"))
  const complete = (part_ids: Array<string>, md5?: string) =>
    client().uploads.complete(upload.id, { part_ids, ...(md5 !== undefined && { md5 }) })
  await expect(complete([foreign])).rejects.toMatchObject({ status: 400 })
  await expect(complete([part, part])).rejects.toMatchObject({ status: 400 })
  await expect(complete([])).rejects.toMatchObject({ status: 400 })
  await expect(complete([part], "0".repeat(32))).rejects.toMatchObject({ status: 400 })
  expect((await complete([part])).status).toBe("completed")
  await expect(begin(20_000_001)).rejects.toMatchObject({ status: 413 })
  await expect(begin(-1)).rejects.toMatchObject({ status: 400 })
})

it("belong to the application that began them; they and their parts are no files", async () => {
  const upload = await begin(4)
  const part = await add(upload.id, Buffer.from("four"))
  await expect(client("other").uploads.complete(upload.id, { part_ids: [part] })).rejects.toMatchObject({ status: 404 })
  await expect(client("other").uploads.cancel(upload.id)).rejects.toMatchObject({ status: 404 })
  for (const id of [upload.id.replace("upload_", "file-"), part.replace("part_", "file-")]) {
    await expect(client().files.retrieve(id)).rejects.toMatchObject({ status: 404 })
    await expect(client().files.delete(id)).rejects.toMatchObject({ status: 404 })
  }
})
