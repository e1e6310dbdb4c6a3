/** Files of clients on two nodes, which share a database and a folder: there at once, and erased once, everywhere. */
import { mkdtempSync, readdirSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Effect, Exit, Redacted, Scope } from "effect"
import OpenAI, { toFile } from "openai"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { startGateway, type TestGateway, testCatalogue } from "../../../src/testing/gateway.ts"
import {
  answering,
  newTestIds,
  openaiFilesTwin,
  startScriptedVendor,
  type VendorCall,
} from "../../../src/testing/index.ts"
import { testStores } from "../../../src/testing/stores.ts"
import { eventually } from "../../support/gateway.ts"

const onServers = (process.env["SVC_TEST_DATABASE_URL"] ?? "") !== ""
const ids = newTestIds()
const folder = mkdtempSync(join(tmpdir(), "weir-nodes-"))
afterAll(() => rmSync(folder, { recursive: true }))

const twin = openaiFilesTwin()

describe.skipIf(!onServers)("files of two nodes", () => {
  const scope = Scope.makeUnsafe()
  const nodes: Array<TestGateway> = []
  beforeAll(async () => {
    const stores = await Effect.runPromise(Scope.provide(testStores, scope))
    const answers = answering({ words: ["ok"], inTokens: 10, outTokens: 2 })
    const script = (call: VendorCall) => (twin.answers(call) ? undefined : answers(call))
    const { url: vendor } = await Effect.runPromise(Scope.provide(startScriptedVendor(script), scope))
    const options = {
      ids,
      backgroundSpeed: 60,
      config: {
        ...stores,
        masterKey: Redacted.make("of both nodes"),
        redisDeadlineMs: 30_000,
        databaseDeadlineMs: 30_000,
      },
      catalogue: (urls: { readonly vendor: string; readonly second: string }) =>
        testCatalogue(urls, ids, `files: { to: "file://${folder}", orgBytes: 1000 }\n`)
          .replaceAll(urls.vendor, vendor)
          .replace(/(\{ id: responses, dialect.*) \}/, "$1, files: vendor }"),
    }
    for (const _ of [1, 2]) nodes.push(await Effect.runPromise(Scope.provide(startGateway(options), scope)))
  }, 120_000)
  afterAll(() => Effect.runPromise(Scope.close(scope, Exit.void)))

  const client = (node: number) => {
    const gateway = nodes[node % 2]
    if (gateway === undefined) throw new Error("no gateway has started")
    const apiKey = `${gateway.keyId}~${gateway.key}`
    return new OpenAI({ baseURL: `${gateway.baseUrl}/openai/v1`, apiKey, maxRetries: 0 })
  }
  const create = async (node: number, text: string) =>
    (await client(node).files.create({ file: await toFile(Buffer.from(text), "x"), purpose: "user_data" })).id

  it("one kept by a node is read and erased by the other at once", async () => {
    for (let at = 0; at < 50; at++) {
      const id = await create(at, `file ${at}`)
      expect(await (await client(at + 1).files.content(id)).text()).toBe(`file ${at}`)
      await client(at + 1).files.delete(id)
      await expect(client(at).files.retrieve(id)).rejects.toMatchObject({ status: 404 })
    }
    await eventually(() =>
      readdirSync(folder, { recursive: true, withFileTypes: true }).every((each) => !each.isFile()),
    )
  })

  it("together they keep no more than the organisation has room for", async () => {
    const made = await Promise.allSettled(Array.from({ length: 30 }, (_, at) => create(at, "a".repeat(100))))
    const kept = made.flatMap((each) => (each.status === "fulfilled" ? [each.value] : []))
    expect(kept).toHaveLength(10)
    for (const [at, id] of kept.entries()) await client(at).files.delete(id)
  })

  it("one that both upload to a vendor at once has one copy there", async () => {
    const made = await Promise.all(Array.from({ length: 8 }, (_, at) => create(at, `a text of its own ${at}`)))
    const ask = (node: number, file_id: string) =>
      client(node).responses.create({
        model: "responses",
        store: false,
        input: [{ role: "user", content: [{ type: "input_file", file_id }] }],
      })
    await Promise.all(made.flatMap((id) => [ask(0, id), ask(1, id)]))
    expect(twin.uploads()).toBeGreaterThanOrEqual(8)
    await eventually(() => twin.files.size === 8)
    for (const [at, id] of made.entries()) await client(at).files.delete(id)
    await eventually(() => twin.files.size === 0)
  })

  it("an upload goes on at the other node, and is completed once", async () => {
    const upload = await client(0).uploads.create({
      filename: "two",
      purpose: "user_data",
      bytes: 6,
      mime_type: "text/plain",
    })
    const part_ids: Array<string> = []
    for (const [at, text] of ["one", "two"].entries()) {
      const part = await client(at).uploads.parts.create(upload.id, { data: await toFile(Buffer.from(text), "part") })
      part_ids.push(part.id)
    }
    const ends = await Promise.all([0, 1, 0, 1].map((node) => client(node).uploads.complete(upload.id, { part_ids })))
    const [made = ""] = ends.map(({ file }) => file?.id ?? "")
    expect(new Set(ends.map(({ file }) => file?.id))).toEqual(new Set([made]))
    expect(await (await client(1).files.content(made)).text()).toBe("onetwo")
    expect((await client(0).files.list()).data.map(({ id }) => id)).toEqual([made])
    await client(0).files.delete(made)
  })
})
