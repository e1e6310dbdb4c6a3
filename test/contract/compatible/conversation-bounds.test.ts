/** The most conversations of an owner, and of an organisation. */
import OpenAI from "openai"
import { expect, it } from "vitest"
import { newTestIds, testCatalogue } from "../../../src/testing/index.ts"
import { eventually, useGateway } from "../../support/gateway.ts"

const ids = newTestIds()
const others = [`${ids.key}-b`, `${ids.key}-c`]
const gateway = useGateway({
  ids,
  config: { conversations: 4, orgConversations: 10 },
  // A minute is a second.
  backgroundSpeed: 60,
  catalogue: (urls) =>
    others.reduce(
      (text, key) =>
        text
          .replace("apps:\n", `apps:\n  - { id: app-of-${key}, org: ${ids.org} }\n`)
          .replace("keys:\n", `keys:\n  - { id: ${key}, app: app-of-${key}, secret: "env:WEIR_TEST_KEY" }\n`),
      testCatalogue(urls, ids).replace("name: Test,", 'name: Test, keeps: { responses: "30d" },'),
    ),
})
const conversations = (key: string = ids.key) =>
  new OpenAI({ baseURL: `${gateway().baseUrl}/openai/v1`, apiKey: `${key}~${gateway().key}`, maxRetries: 0 })
    .conversations
const refused = { status: 400, error: { code: "bad_request", message: expect.stringContaining("SVC_CONVERSATIONS") } }

/** The ids of those that are made when so many are asked for at once. */
const makeAtOnce = async (count: number, key?: string) => {
  const ends = await Promise.allSettled(Array.from({ length: count }, () => conversations(key).create()))
  for (const end of ends) if (end.status === "rejected") expect(end.reason).toMatchObject(refused)
  return ends.flatMap((end) => (end.status === "fulfilled" ? [end.value.id] : []))
}

it("an owner has no more than it may, also when many are made at once, and has room again when one is deleted", async () => {
  const made = await makeAtOnce(12)
  expect(made).toHaveLength(4)
  await expect(conversations().create()).rejects.toMatchObject(refused)
  await conversations().delete(made[0] ?? "")
  await conversations().create()
  await expect(conversations().create()).rejects.toMatchObject(refused)
})

it("an organisation has no more than it may, and has room again within a minute", async () => {
  const [b = "", c = ""] = others
  const made = await makeAtOnce(4, b)
  expect(made).toHaveLength(4)
  await eventually(async () => (await makeAtOnce(1, c)).length === 0)
  await expect(conversations(c).create()).rejects.toMatchObject(refused)
  await conversations(b).delete(made[0] ?? "")
  await eventually(async () => (await makeAtOnce(1, c)).length === 1)
})
