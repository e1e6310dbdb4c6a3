/** Files of clients for operators, and files that this node cannot open. */
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import Anthropic from "@anthropic-ai/sdk"
import { Effect } from "effect"
import OpenAI, { toFile } from "openai"
import { afterAll, afterEach, describe, expect, it } from "vitest"
import { newTestIds, testCatalogue } from "../../src/testing/index.ts"
import { errorOf, useGateway } from "../support/gateway.ts"

const ids = newTestIds()
const folder = mkdtempSync(join(tmpdir(), "weir-admin-files-"))
afterAll(() => rmSync(folder, { recursive: true }))
const gateway = useGateway({
  ids,
  catalogue: (urls) => testCatalogue(urls, ids, `files: { to: "file://${folder}" }\n`),
})

const apiKey = () => `${ids.key}~${gateway().key}`
const openai = () => new OpenAI({ baseURL: `${gateway().baseUrl}/openai/v1`, apiKey: apiKey(), maxRetries: 0 })
const anthropic = () => new Anthropic({ baseURL: `${gateway().baseUrl}/anthropic`, apiKey: apiKey(), maxRetries: 0 })
const make = async () =>
  (await openai().files.create({ file: await toFile(Buffer.from("x"), "x.txt"), purpose: "user_data" })).id
const admin = (method: string, path = "") =>
  gateway().call(method, `/v1/admin/orgs/${ids.org}/files${path}`, undefined, {
    "x-svc-admin-key": gateway().adminKey,
  })
const run = (statement: Effect.Effect<unknown, unknown>) => Effect.runPromise(statement)

afterEach(async () => {
  await admin("DELETE", "?all=true")
})

it("files are listed without names and content, and erased", async () => {
  const [first, second] = [await make(), await make()]
  const text = await (await admin("GET")).text()
  expect(text).not.toContain("x.txt")
  expect(JSON.parse(text)).toMatchObject({
    data: [
      { id: second, purpose: "user_data", bytes: 1, app: ids.app },
      { id: first, purpose: "user_data", bytes: 1, app: ids.app },
    ],
    nextCursor: null,
  })
  expect(await (await admin("DELETE", `/${first}`)).json()).toEqual({ erased: 1 })
  await expect(openai().files.retrieve(first)).rejects.toMatchObject({ status: 404 })
  expect(await errorOf(await admin("DELETE", `/${first}`))).toMatchObject({ code: "not_found" })
  expect(await (await admin("DELETE", `?app=${ids.app}`)).json()).toEqual({ erased: 1 })
})

describe("an unknown application", () => {
  it.each(["GET", "DELETE"])("is named: %s", async (method) => {
    expect(await errorOf(await admin(method, "?app=nope"))).toMatchObject({
      code: "not_found",
      message: "There is no application nope",
    })
  })

  it("is known while it has files, also where it was removed", async () => {
    const id = await make()
    await run(gateway().sql`update client_files set app_id = 'removed' where id = ${id.slice(5)}`)
    expect(await (await admin("GET", "?app=removed")).json()).toMatchObject({ data: [{ id, app: "removed" }] })
    expect(await (await admin("DELETE", "?app=removed")).json()).toEqual({ erased: 1 })
    expect((await admin("DELETE", "?app=removed")).status).toBe(404)
  })
})

describe("files that were sealed with another key", () => {
  it("are left out of lists, which go on, and are reported", async () => {
    const made = [await make(), await make(), await make(), await make(), await make()]
    const [oldest = "", , , second = "", newest = ""] = made
    const lost = made.slice(1, 4).map((id) => id.slice(5))
    await run(gateway().sql`
      update client_files set facts = (select facts from client_files where id = ${newest.slice(5)})
      where id in ${gateway().sql.in(lost)}`)
    const page = await openai().files.list({ limit: 1 })
    expect(page.data.map(({ id }) => id)).toEqual([newest])
    expect(page.has_more).toBe(true)
    const listed: Array<string> = []
    for await (const { id } of openai().files.list({ limit: 1 })) listed.push(id)
    expect(listed).toEqual([newest, oldest])
    const two = await openai().files.list({ limit: 2 })
    expect([two.data.map(({ id }) => id), two.has_more]).toEqual([[newest, oldest], false])
    const { data, has_more } = await openai().files.list({ limit: 1, order: "asc", after: oldest })
    expect([data.map(({ id }) => id), has_more]).toEqual([[newest], false])
    const others: Array<string> = []
    for await (const { id } of anthropic().beta.files.list({ limit: 1 })) others.push(id.slice(5))
    expect(others).toEqual([newest.slice(5), oldest.slice(5)])
    await expect(openai().files.retrieve(second)).rejects.toMatchObject({ status: 404 })
    const metrics = await (
      await gateway().call("GET", "/metrics", undefined, { "x-svc-admin-key": gateway().adminKey })
    ).text()
    expect(metrics).toMatch(/^weir_kept_unopened_total(\{[^}]*\})? [1-9]/m)
  })
})
