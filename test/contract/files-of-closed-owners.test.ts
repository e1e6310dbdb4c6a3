/** Files of applications that are closed, and files whose time is over: their content goes too. */
import { mkdtempSync, readdirSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Effect, Schema } from "effect"
import OpenAI, { toFile } from "openai"
import { afterAll, expect, it } from "vitest"
import { newTestIds, testCatalogue } from "../../src/testing/index.ts"
import { eventually, useGateway } from "../support/gateway.ts"

const ids = newTestIds()
const folder = mkdtempSync(join(tmpdir(), "weir-closed-"))
afterAll(() => rmSync(folder, { recursive: true }))
const gateway = useGateway({
  ids,
  // An hour is about three seconds.
  backgroundSpeed: 1200,
  catalogue: (urls) => testCatalogue(urls, ids, `files: { to: "file://${folder}" }\n`),
})
const admin = (method: string, path: string, body?: object) =>
  fetch(`${gateway().baseUrl}/v1/admin/${path}`, {
    method,
    headers: { "x-svc-admin-key": gateway().adminKey, "content-type": "application/json" },
    ...(body && { body: JSON.stringify(body) }),
  })
const readId = Schema.decodeUnknownSync(Schema.Struct({ id: Schema.String }))
const readKey = Schema.decodeUnknownSync(Schema.Struct({ keyId: Schema.String, key: Schema.String }))

const keep = async (apiKey = `${ids.key}~${gateway().key}`) => {
  const { files } = new OpenAI({ baseURL: `${gateway().baseUrl}/openai/v1`, apiKey, maxRetries: 0 })
  return (await files.create({ file: await toFile(Buffer.from("x"), "x"), purpose: "user_data" })).id.slice(5)
}
const stored = () => readdirSync(join(folder, ids.org))

it("are removed, and others stay", async () => {
  const { id: app } = readId(await (await admin("POST", "apps", { org: ids.org })).json())
  const { keyId, key } = readKey(await (await admin("POST", "keys", { app })).json())
  const [own, leaving, old] = [await keep(), await keep(`${keyId}~${key}`), await keep()]
  expect(stored().toSorted()).toEqual([own, leaving, old].toSorted())
  const { sql } = gateway()
  await Effect.runPromise(sql`update client_files set erase_at = now() - interval '1 second' where id = ${old}`)
  expect((await admin("DELETE", `apps/${app}`)).status).toBeLessThan(300)
  await eventually(() => stored().length === 1, 30_000)
  expect(stored()).toEqual([own])
}, 60_000)
