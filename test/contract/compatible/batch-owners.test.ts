/** Batches and their owners: tags and budgets of each request, a key that is revoked, an application that is disabled, files that are erased. */
import { Schema } from "effect"
import OpenAI, { toFile } from "openai"
import { beforeEach, describe, expect, it } from "vitest"
import { KeyMinted } from "../../../src/protocol/control/admin-directory.ts"
import { answering } from "../../../src/testing/index.ts"
import { chatLine as line, useBatches } from "../../support/batches.ts"

const { gateway, ids, openai, upload, ended, linesOf, books } = useBatches((text, { org, app, key }) =>
  text
    .replace("apps:\n", `apps:\n  - { id: ${app}-small, org: ${org} }\n  - { id: ${app}-few, org: ${org} }\n`)
    .replace(
      "keys:\n",
      `budgets:
  - { id: small, scope: app, subject: ${app}-small, unit: money, period: month, limit: "0.0001" }
  - { id: few, scope: app, subject: ${app}-few, unit: tokens, period: month, limit: 10 }
keys:
  - { id: ${key}small, app: ${app}-small, secret: "env:WEIR_TEST_KEY" }
  - { id: ${key}few, app: ${app}-few, secret: "env:WEIR_TEST_KEY" }
`,
    ),
)

const admin = () => ({ "x-svc-admin-key": gateway().adminKey })
const readMinted = Schema.decodeUnknownSync(KeyMinted)
const lines = (count: number) => Array.from({ length: count }, (_, at) => line(`n${at}`))
const asked = { endpoint: "/v1/chat/completions", completion_window: "24h" } as const

beforeEach(() => {
  gateway().vendor.script(async (call) => {
    await call.wait(100)
    return answering({ words: ["ok"], inTokens: 10, outTokens: 2 })(call)
  })
})

describe("a batch", () => {
  it("has the tags of its request in the record of each call", async () => {
    const input_file_id = await upload(lines(3))
    const made = await openai().batches.create(
      { ...asked, input_file_id },
      { headers: { "x-svc-tags": "team=search, feature=rank" } },
    )
    await ended(made.id)
    const { records, findings, left } = await books(made.id)
    expect(records.map(({ tags }) => tags)).toEqual(records.map(() => ({ team: "search", feature: "rank" })))
    expect([records.length, findings, left]).toEqual([3, [], 0])
  })

  it.each([
    ["small", 402],
    ["few", 429],
  ])("is refused if the budget %s does not cover all of it", async (of, status) => {
    const input_file_id = await upload(lines(3), of)
    await expect(openai(of).batches.create({ ...asked, input_file_id })).rejects.toMatchObject({ status })
  })

  it("has refusals as answers once its key is revoked, and bills only what was answered", async () => {
    const minted = await gateway().call("POST", "/v1/admin/keys", { app: ids.app }, admin())
    const { keyId, key } = readMinted(await minted.json())
    const apiKey = `${keyId}~${key}`
    const client = new OpenAI({ baseURL: `${gateway().baseUrl}/openai/v1`, apiKey, maxRetries: 0 })
    const text = lines(120)
      .map((each) => JSON.stringify(each))
      .join("\n")
    const file = await client.files.create({ file: await toFile(Buffer.from(text), "l.jsonl"), purpose: "batch" })
    const made = await client.batches.create({ ...asked, input_file_id: file.id })
    await expect
      .poll(async () => (await openai().batches.retrieve(made.id)).request_counts?.completed)
      .toBeGreaterThan(0)
    expect((await gateway().call("POST", `/v1/admin/keys/${keyId}/revoke`, undefined, admin())).status).toBe(204)
    const batch = await ended(made.id)
    const refused = await linesOf(batch.error_file_id)
    const answered = await linesOf(batch.output_file_id)
    expect(answered.length + refused.length).toBe(120)
    expect(refused.length).toBeGreaterThan(0)
    expect(refused[0]?.response?.status_code).toBe(401)
    const { records, findings, left } = await books(made.id)
    expect([records.length, findings, left]).toEqual([answered.length, [], 0])
  })
})
