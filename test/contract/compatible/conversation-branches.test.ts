/** Responses of a conversation that are continued by their ids, after the conversation has gone on or was changed. */
import { Effect } from "effect"
import OpenAI from "openai"
import { expect, it } from "vitest"
import { answering, newTestIds, testCatalogue } from "../../../src/testing/index.ts"
import { useGateway } from "../../support/gateway.ts"
import { vendorBodyOf } from "./vendors.ts"

const ids = newTestIds()
const gateway = useGateway({
  ids,
  catalogue: (urls) => testCatalogue(urls, ids).replace("name: Test,", 'name: Test, keeps: { responses: "30d" },'),
})

const client = () =>
  new OpenAI({
    baseURL: `${gateway().baseUrl}/openai/v1`,
    apiKey: `${gateway().keyId}~${gateway().key}`,
    maxRetries: 0,
  })

const user = (content: string) => ({ type: "message" as const, role: "user" as const, content })

/** A conversation with one item and two responses. */
const converse = async (first: OpenAI.Responses.ResponseCreateParams["input"]) => {
  const { id } = await client().conversations.create({ items: [user("before one")] })
  gateway().vendor.script(answering({ words: ["reply one"], inTokens: 10, outTokens: 5 }))
  const one = await client().responses.create({ model: "main", input: first ?? "", conversation: id })
  gateway().vendor.script(answering({ words: ["reply two"], inTokens: 10, outTokens: 5 }))
  await client().responses.create({ model: "main", input: "after one", conversation: id })
  return { id, one: one.id }
}

const continued = async (previous: string) => {
  await client().responses.create({ model: "main", input: "and then", previous_response_id: previous })
  return vendorBodyOf(gateway().vendor)
}

const itemsOf = async (id: string) => {
  const items: Array<OpenAI.Conversations.ConversationItem> = []
  for await (const item of client().conversations.items.list(id, { order: "asc", limit: 100 })) items.push(item)
  return items
}

const removeItem = async (id: string, at: number) => {
  const item = (await itemsOf(id))[at]?.id ?? ""
  await client().conversations.items.delete(item, { conversation_id: id })
}

const before = ["before one", "asked one", "reply one", "and then"]
const inOrder = (text: string) => {
  const places = before.map((part) => text.indexOf(part))
  expect(places).not.toContain(-1)
  expect(places).toEqual(places.toSorted((a, b) => a - b))
  expect(text).not.toContain("after one")
}

it("cannot be continued when the conversation was erased, and are still read", async () => {
  const { id, one } = await converse("asked one")
  await client().conversations.delete(id)
  const calls = gateway().vendor.calls.length
  await expect(continued(one)).rejects.toMatchObject({ status: 400, code: "previous_response_not_found" })
  expect(gateway().vendor.calls).toHaveLength(calls)
  expect(await client().responses.retrieve(one)).toMatchObject({ output_text: "reply one" })
  const { data } = await client().responses.inputItems.list(one)
  expect(data).toHaveLength(1)
})

it.each([1, 2])("have the items before them when one of their own was removed: %i", async (at) => {
  const { id, one } = await converse("asked one")
  await removeItem(id, at)
  inOrder(await continued(one))
})

it.each([1, 2, 3])("have them also when their own have ids that others made: without %i", async (at) => {
  const named = (itemId: string, content: string) => ({
    id: itemId,
    type: "message" as const,
    role: "user" as const,
    status: "completed" as const,
    content: [{ type: "input_text" as const, text: content }],
  })
  const { id, one } = await converse([named("msg_a", "asked one"), named("msg_b", "asked two")])
  await removeItem(id, at)
  inOrder(await continued(one))
})

it("have no item that was removed before them", async () => {
  const { id, one } = await converse("asked one")
  await removeItem(id, 0)
  const body = await continued(one)
  expect(body).not.toContain("before one")
  expect(body).toContain("asked one")
})

it("have those before them in the background, and none where the conversation was empty", async () => {
  const { id } = await client().conversations.create()
  gateway().vendor.script(answering({ words: ["reply zero"], inTokens: 10, outTokens: 5 }))
  const zero = await client().responses.create({
    model: "main",
    input: "asked zero",
    conversation: id,
    background: true,
  })
  await expect.poll(async () => (await client().responses.retrieve(zero.id)).status).toBe("completed")
  const one = await client().responses.create({ model: "main", input: "asked one", conversation: id, background: true })
  await expect.poll(async () => (await client().responses.retrieve(one.id)).status).toBe("completed")
  expect(await continued(zero.id)).toMatch(/asked zero.*reply zero.*and then/)
  expect(await continued(one.id)).toMatch(/asked zero.*reply zero.*asked one.*and then/)
  const places = await Effect.runPromise(gateway().sql<{ place: number }>`
    select conversation_place::int as place from responses where id in (${zero.id}, ${one.id}) order by 1`)
  expect(places).toEqual([{ place: 0 }, { place: 2 }])
})
