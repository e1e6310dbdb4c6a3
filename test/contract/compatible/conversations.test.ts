/** OpenAI's own SDK, unchanged: conversations that are kept, continued, read and erased, at vendors of four APIs. */
import { Effect, Schema } from "effect"
import OpenAI from "openai"
import { describe, expect, it } from "vitest"
import { answering, newTestIds } from "../../../src/testing/index.ts"
import { openaiChunk } from "../../../src/testing/vendor-replies.ts"
import { useGateway } from "../../support/gateway.ts"
import { onClouds, served } from "./clouds.ts"
import { callsTools, vendorBodyOf } from "./vendors.ts"

const options = onClouds()
const ids = options.ids ?? newTestIds()
/** Another application of the organisation, and one of an organisation that keeps nothing. */
const [otherKey, offKey] = [`${ids.key}-other`, `${ids.key}-off`]
const decodeToken = Schema.decodeUnknownSync(Schema.Struct({ token: Schema.String }))
const secret = 'secret: "env:WEIR_TEST_KEY"'

const gateway = useGateway({
  ...options,
  catalogue: (urls) =>
    [
      ["name: Test,", 'name: Test, keeps: { responses: "30d" },'],
      ["orgs:\n", `orgs:\n  - { id: ${ids.org}-off, name: Off, plan: team, currency: USD, models: [main] }\n`],
      ["apps:\n", `apps:\n  - { id: ${ids.app}-other, org: ${ids.org} }\n`],
      ["apps:\n", `apps:\n  - { id: ${ids.app}-off, org: ${ids.org}-off }\n`],
      ["keys:\n", `keys:\n  - { id: ${otherKey}, app: ${ids.app}-other, ${secret} }\n`],
      ["keys:\n", `keys:\n  - { id: ${offKey}, app: ${ids.app}-off, ${secret} }\n`],
      ["topups:\n", `topups:\n  - { id: ${ids.org}-off-start, org: ${ids.org}-off, amount: "1000" }\n`],
    ].reduce((text, [from = "", to = ""]) => text.replace(from, to), options.catalogue?.(urls) ?? ""),
})

const client = (keyId = gateway().keyId, headers: Readonly<Record<string, string | null>> = {}) =>
  new OpenAI({
    baseURL: `${gateway().baseUrl}/openai/v1`,
    apiKey: `${keyId}~${gateway().key}`,
    maxRetries: 0,
    defaultHeaders: headers,
  })

const [main = ""] = served

const saying = (...words: ReadonlyArray<string>) => answering({ words, inTokens: 100, outTokens: 20 })

const user = (content: string) => ({ type: "message" as const, role: "user" as const, content })

const textOf = (item: object): string => JSON.stringify("content" in item ? item.content : item)

/** The items of a conversation, the oldest first. */
const itemsOf = async (id: string) => {
  const items: Array<OpenAI.Conversations.ConversationItem> = []
  for await (const item of client().conversations.items.list(id, { order: "asc", limit: 100 })) items.push(item)
  return items
}

const inOrder = (text: string, parts: ReadonlyArray<string>) => {
  const places = parts.map((part) => text.indexOf(part))
  expect(places).not.toContain(-1)
  expect(places).toEqual(places.toSorted((a, b) => a - b))
}

describe.each(served)("a conversation at %s", (model) => {
  it("is continued by responses, whole, streamed and in the background", async () => {
    const { id } = await client().conversations.create({ items: [user("Remember the colour blue")] })
    gateway().vendor.script(saying("Blue", " it is"))
    const first = await client().responses.create({ model, input: "Which colour?", conversation: id })
    expect(first).toMatchObject({ conversation: { id }, store: true, previous_response_id: null })
    expect(vendorBodyOf(gateway().vendor)).not.toContain(id)

    gateway().vendor.script(saying("You said", " blue"))
    const second = await client()
      .responses.stream({ model, input: [user("Are you sure?")], conversation: { id } })
      .finalResponse()
    expect(second).toMatchObject({ conversation: { id } })

    gateway().vendor.script(saying("Surely"))
    const third = await client().responses.create({ model, input: "Again?", conversation: id, background: true })
    expect(third).toMatchObject({ conversation: { id }, status: "queued" })
    await expect.poll(async () => (await client().responses.retrieve(third.id)).status).toBe("completed")

    const said = [
      "Remember the colour blue",
      "Which colour?",
      "Blue it is",
      "Are you sure?",
      "You said blue",
      "Again?",
      "Surely",
    ]
    inOrder(vendorBodyOf(gateway().vendor), said.slice(0, -1))
    const items = await itemsOf(id)
    expect(items).toHaveLength(said.length)
    items.forEach((item, at) => {
      expect(item).toMatchObject({ type: "message", status: "completed", id: expect.any(String) })
      expect(textOf(item)).toContain(said[at])
    })
    expect(await client().responses.retrieve(second.id)).toMatchObject({ conversation: { id } })

    // A response of it is continued with the items that were before it.
    gateway().vendor.script(saying("ok"))
    await client().responses.create({ model, input: "And then?", previous_response_id: second.id })
    const branch = vendorBodyOf(gateway().vendor)
    inOrder(branch, [...said.slice(0, 5), "And then?"])
    expect(branch).not.toContain("Again?")
    const { data } = await client().responses.inputItems.list(second.id, { order: "asc" })
    expect(data.map(textOf)).toMatchObject(said.slice(0, 4).map((text) => expect.stringContaining(text)))
  })

  it("has calls of tools and their results", async () => {
    const { id } = await client().conversations.create()
    const tools: Array<OpenAI.Responses.Tool> = [
      {
        type: "function",
        name: "weather",
        strict: false,
        parameters: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
      },
    ]
    gateway().vendor.script(callsTools)
    const question = { model, tools, input: "Weather in Oslo and Rome?", conversation: id }
    const first = await client().responses.stream(question).finalResponse()
    const results = first.output.flatMap((item) =>
      item.type === "function_call"
        ? [{ type: "function_call_output" as const, call_id: item.call_id, output: "sunny" }]
        : [],
    )
    expect(results).toHaveLength(2)
    gateway().vendor.script(saying("Sunny in both"))
    // SDKs reference items that the conversation has.
    const references = first.output.map((item) => ({ type: "item_reference" as const, id: item.id ?? "" }))
    await client().responses.create({ model, tools, conversation: id, input: [...references, ...results] })
    const sent = vendorBodyOf(gateway().vendor)
    expect(sent.split("Oslo and Rome")).toHaveLength(2)
    const types = (await itemsOf(id)).map(({ type }) => type)
    expect(types).toEqual([
      "message",
      "function_call",
      "function_call",
      "function_call_output",
      "function_call_output",
      "message",
    ])
  })
})

it("a conversation is created, read, changed and erased", async () => {
  const created = await client().conversations.create({ metadata: { topic: "colours" } })
  expect(created).toEqual({
    id: expect.stringMatching(/^conv_[\w-]{16,}$/),
    object: "conversation",
    created_at: expect.any(Number),
    metadata: { topic: "colours" },
  })
  const { id } = created
  expect(await client().conversations.retrieve(id)).toEqual(created)
  const changed = { ...created, metadata: { topic: "shapes", more: "" } }
  expect(await client().conversations.update(id, { metadata: { topic: "shapes", more: "" } })).toEqual(changed)
  expect(await client().conversations.retrieve(id)).toEqual(changed)
  expect(await client().conversations.update(id, { metadata: null })).toMatchObject({ metadata: {} })
  await client().conversations.items.create(id, { items: [user("Hello")] })
  const [item] = await itemsOf(id)
  expect(await client().conversations.delete(id)).toEqual({ id, object: "conversation.deleted", deleted: true })
  const unknown = { status: 404, error: { message: `Conversation with id '${id}' not found.` } }
  await expect(client().conversations.retrieve(id)).rejects.toMatchObject(unknown)
  await expect(client().conversations.delete(id)).rejects.toMatchObject(unknown)
  await expect(client().conversations.update(id, { metadata: {} })).rejects.toMatchObject(unknown)
  await expect(client().conversations.items.list(id)).rejects.toMatchObject(unknown)
  await expect(client().conversations.items.create(id, { items: [user("Hello")] })).rejects.toMatchObject(unknown)
  const place = { conversation_id: id }
  await expect(client().conversations.items.retrieve(item?.id ?? "", place)).rejects.toMatchObject(unknown)
  await expect(client().conversations.items.delete(item?.id ?? "", place)).rejects.toMatchObject(unknown)
  await expect(client().responses.create({ model: main, input: "Hello", conversation: id })).rejects.toMatchObject(
    unknown,
  )
})

it("the items of a conversation are added, listed, read and removed", async () => {
  const { id } = await client().conversations.create({ items: [user("one")] })
  const added = await client().conversations.items.create(id, {
    items: [user("two"), { type: "message", role: "assistant", content: "three" }, user("four")],
  })
  expect(added).toMatchObject({ object: "list", has_more: false })
  expect(added.data.map(textOf)).toEqual([
    '[{"type":"input_text","text":"two"}]',
    '[{"type":"output_text","text":"three","annotations":[]}]',
    '[{"type":"input_text","text":"four"}]',
  ])
  expect(added.first_id).toBe(added.data[0]?.id)
  const all = await itemsOf(id)
  expect(all.slice(1)).toEqual(added.data)
  const newest = await client().conversations.items.list(id, { limit: 2 })
  expect(newest).toMatchObject({ data: [all[3], all[2]], has_more: true, last_id: all[2]?.id })
  const rest = await newest.getNextPage()
  expect(rest).toMatchObject({ data: [all[1], all[0]], has_more: false })

  const place = { conversation_id: id }
  const second = all[1]?.id ?? ""
  expect(await client().conversations.items.retrieve(second, place)).toEqual(all[1])
  expect(await client().conversations.items.delete(second, place)).toMatchObject({ id, object: "conversation" })
  await expect(client().conversations.items.retrieve(second, place)).rejects.toMatchObject({ status: 404 })
  await expect(client().conversations.items.delete(second, place)).rejects.toMatchObject({ status: 404 })
  await expect(client().conversations.items.list(id, { after: second })).rejects.toMatchObject({
    status: 400,
    param: "after",
  })

  gateway().vendor.script(saying("ok"))
  await client().responses.create({ model: main, input: [{ type: "item_reference", id: all[3]?.id ?? "" }] })
  expect(vendorBodyOf(gateway().vendor)).toContain("four")
})

it.each(["application", "end user"])("a conversation of another %s is unknown", async (another) => {
  const { id } = await client().conversations.create({ items: [user("secret")] })
  const [item] = await itemsOf(id)
  const minted = await gateway().call("POST", "/v1/app-tokens", { endUserId: "ada" })
  const asUser = { authorization: null, "x-svc-app-token": decodeToken(await minted.json()).token }
  const other = another === "application" ? client(otherKey) : client(undefined, asUser)
  const unknown = { status: 404, error: { message: `Conversation with id '${id}' not found.` } }
  const place = { conversation_id: id }
  await expect(other.conversations.retrieve(id)).rejects.toMatchObject(unknown)
  await expect(other.conversations.update(id, { metadata: {} })).rejects.toMatchObject(unknown)
  await expect(other.conversations.delete(id)).rejects.toMatchObject(unknown)
  await expect(other.conversations.items.list(id)).rejects.toMatchObject(unknown)
  await expect(other.conversations.items.create(id, { items: [user("Hello")] })).rejects.toMatchObject(unknown)
  await expect(other.conversations.items.retrieve(item?.id ?? "", place)).rejects.toMatchObject(unknown)
  await expect(other.conversations.items.delete(item?.id ?? "", place)).rejects.toMatchObject(unknown)
  await expect(other.responses.create({ model: main, input: "Hello", conversation: id })).rejects.toMatchObject(unknown)
  await expect(
    other.responses.create({ model: main, input: [{ type: "item_reference", id: item?.id ?? "" }] }),
  ).rejects.toMatchObject({ status: 400 })
  expect(await itemsOf(id)).toHaveLength(1)
})

it("hostile values are refused, and nothing is kept of them", async () => {
  const { conversations, responses } = client()
  const { id } = await conversations.create()
  const refused = (param: string | RegExp) => ({
    status: 400,
    type: "invalid_request_error",
    param: typeof param === "string" ? param : expect.stringMatching(param),
  })
  const pairs = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, at) => [`n${at}`, "v"]))
  await expect(conversations.create({ metadata: pairs(17) })).rejects.toMatchObject(refused("metadata"))
  await expect(conversations.create({ metadata: { ["n".repeat(65)]: "v" } })).rejects.toMatchObject(
    refused(/^metadata/),
  )
  await expect(conversations.create({ metadata: { n: "v".repeat(513) } })).rejects.toMatchObject(refused("metadata.n"))
  const long = { ...pairs(15), ["é".repeat(64)]: "é".repeat(512) }
  expect(await conversations.create({ metadata: long })).toMatchObject({ metadata: long })
  const many = (count: number) => Array.from({ length: count }, () => user("Hello"))
  await expect(conversations.create({ items: many(21) })).rejects.toMatchObject(refused("items"))
  await expect(conversations.items.create(id, { items: many(21) })).rejects.toMatchObject(refused("items"))
  const odd: ReadonlyArray<readonly [body: string, param: string | RegExp]> = [
    ["", "items"],
    ["{}", "items"],
    ['{"items":"Hello"}', "items"],
    ['{"items":{}}', "items"],
    ['{"items":[1]}', "items.0"],
    ['{"items":[null]}', "items.0"],
    ['{"items":[{"role":"user","content":"a"},{"type":"item_reference","id":"msg_1"}]}', "items.1"],
    ['{"items":[{"role":"nobody","content":"a"}]}', /^items\.0/],
    ['{"items":[{"role":"user","content":"a"},{"type":1}]}', "items.1.type"],
    ['{"items":[{"role":"user","content":1}]}', "items.0.content"],
    ['{"items":[{"role":"user","content":[1]}]}', /^items\.0/],
    ['{"items":[{"type":"function_call","call_id":"a","name":"b","arguments":1}]}', /^items\.0/],
    // No request may have these: each later response of the conversation would be refused.
    ['{"items":[{"role":"user","content":"a"},{"type":"nope"}]}', "items.1.type"],
    ['{"items":[{"role":"user","content":[{"type":"nope"}]}]}', "items.0.content.0.type"],
    ['{"items":[{"type":"function_call","call_id":"a","name":"b c","arguments":"{}"}]}', "items.0"],
    ['{"items":[{"type":"function_call_output","output":"a"}]}', "items.0"],
    ['{"items":[],"more":1}', "more"],
  ]
  for (const [body, param] of odd) {
    const reply = await posted(`/${id}/items`, body)
    expect(reply, body).toMatchObject({
      status: 400,
      body: { error: { type: "invalid_request_error", param: refused(param).param } },
    })
  }
  for (const body of ["[]", "1", "{", '{"items":[],"items":[]}', '{"items":['.padEnd(2000, "[")]) {
    expect(await posted(`/${id}/items`, body), body).toMatchObject({ status: 400 })
    expect(await posted("", body), body).toMatchObject({ status: 400 })
  }
  for (const metadata of ['{"n":1}', '{"n":null}', "[]", '"n"']) {
    const param = metadata.startsWith("{") ? "metadata.n" : "metadata"
    const body = `{"metadata":${metadata}}`
    expect(await posted("", body), body).toMatchObject({ status: 400, body: { error: { param } } })
  }
  expect(await posted(`/${id}`, "{}")).toMatchObject({ status: 400, body: { error: { param: "metadata" } } })
  for (const limit of [0, 101, 1.5]) {
    await expect(conversations.items.list(id, { limit })).rejects.toMatchObject(refused("limit"))
  }
  for (const after of ["\u0000", "msg_1", "x".repeat(500)]) {
    await expect(conversations.items.list(id, { after })).rejects.toMatchObject(refused("after"))
  }
  const names = ["conv_", "conv_1", `${id}\u0000`, `${id}'`, "x".repeat(500), "é", "resp_1", `CONV${id.slice(4)}`]
  for (const name of names) {
    await expect(conversations.retrieve(name), name).rejects.toMatchObject({ status: 404 })
    await expect(responses.create({ model: main, input: "Hello", conversation: name })).rejects.toMatchObject({
      status: 404,
      error: { message: `Conversation with id '${name.slice(0, 128)}' not found.` },
    })
  }
  await expect(conversations.items.retrieve("\u0000", { conversation_id: id })).rejects.toMatchObject({ status: 404 })
  await expect(conversations.items.delete("\u0000", { conversation_id: id })).rejects.toMatchObject({ status: 404 })
  for (const conversation of ["1", "true", "[]", "{}", '{"id":1}', `["${id}"]`]) {
    const call = { model: main, input: "Hello", conversation: JSON.parse(conversation) }
    await expect(responses.create(call), conversation).rejects.toMatchObject(refused("conversation"))
  }
  const call = { model: main, input: "Hello", conversation: id }
  await expect(responses.create({ ...call, previous_response_id: "resp_1" })).rejects.toMatchObject(
    refused("conversation"),
  )
  await expect(responses.create({ ...call, store: false })).rejects.toMatchObject(refused("store"))
  expect(await itemsOf(id)).toEqual([])
})

it("a response that is cancelled adds nothing", async () => {
  const { id } = await client().conversations.create()
  gateway().vendor.script(async (call) => {
    call.head()
    await call.write(openaiChunk("Hel"))
    await call.wait(20_000)
  })
  const begun = await client().responses.create({ model: main, input: "Work", conversation: id, background: true })
  await expect.poll(async () => (await client().responses.retrieve(begun.id)).status).toBe("in_progress")
  await client().responses.cancel(begun.id)
  await expect.poll(() => gateway().vendor.calls.at(-1)?.hungUpAt, { timeout: 5000 }).toBeDefined()
  await expect.poll(async () => await settledOf(begun.id)).toBe(true)
  expect(await itemsOf(id)).toEqual([])
})

it("a call that fails adds nothing", async () => {
  const { id } = await client().conversations.create()
  gateway().vendor.script((call) => {
    call.head(400, { "content-type": "application/json" })
    call.end(JSON.stringify({ error: { message: "no", type: "invalid_request_error" } }))
  })
  await expect(client().responses.create({ model: main, input: "Hello", conversation: id })).rejects.toThrow()
  expect(await itemsOf(id)).toEqual([])
})

it.each(["short", "x".repeat(3_000_000)])("a request that is sent again adds nothing again: %#", async (more) => {
  const { id } = await client().conversations.create({ items: [user("Hello")] })
  const headers = { "idempotency-key": `again-${id}` }
  const model = more === "short" ? main : "claude"
  gateway().vendor.script(saying("ok"))
  const call = { model, input: `Well? ${more}`, conversation: id }
  const first = await client().responses.create(call, { headers })
  const again = await client().responses.create(call, { headers })
  expect(again).toMatchObject({ output_text: first.output_text, conversation: { id } })
  expect(await itemsOf(id)).toHaveLength(3)
  const other = { ...call, input: `Well?? ${more}` }
  await expect(client().responses.create(other, { headers })).rejects.toMatchObject({ status: 409 })
})

it("50 additions at once are all there, each whole and in one piece", async () => {
  const { id } = await client().conversations.create()
  gateway().vendor.script(saying("Yes"))
  await Promise.all(
    Array.from({ length: 50 }, (_, at) =>
      at % 2 === 0
        ? client().responses.create({ model: main, input: `asked ${at}.`, conversation: id })
        : client().conversations.items.create(id, { items: [user(`asked ${at}.`), user("Yes")] }),
    ),
  )
  const texts = (await itemsOf(id)).map(textOf)
  expect(texts).toHaveLength(100)
  for (let at = 0; at < 50; at++) {
    const place = texts.findIndex((text) => text.includes(`asked ${at}.`))
    expect(place % 2).toBe(0)
    expect(texts[place + 1]).toContain("Yes")
  }
})

it("a response that ends after its conversation was erased brings nothing back", async () => {
  const { id } = await client().conversations.create({ items: [user("Hello")] })
  gateway().vendor.script(saying("ok"))
  const many = Array.from({ length: 10 }, () =>
    client()
      .responses.create({ model: main, input: "Hello", conversation: id })
      .catch(() => undefined),
  )
  await Promise.race(many)
  await client().conversations.delete(id)
  await Promise.all(many)
  expect(await rowsOf(id)).toEqual({ conversations: 0, items: 0 })
})

it("the past is erased: an addition keeps a conversation, and not its older items", async () => {
  const { sql, retention } = gateway()
  const { id } = await client().conversations.create({ items: [user("old")] })
  const gone = await client().conversations.create({ items: [user("old")] })
  const past = [id, gone.id]
  await Effect.runPromise(sql`
    update conversations set erase_at = now() - interval '1 second' where id = ${gone.id}`)
  await Effect.runPromise(sql`
    update conversation_items set erase_at = now() - interval '1 second' where conversation_id = any(${past}::text[])`)
  await expect(client().conversations.retrieve(gone.id)).rejects.toMatchObject({ status: 404 })
  await client().conversations.items.create(id, { items: [user("new")] })
  expect((await itemsOf(id)).map(textOf)).toEqual(['[{"type":"input_text","text":"new"}]'])
  await Effect.runPromise(retention.run)
  expect(await rowsOf(gone.id)).toEqual({ conversations: 0, items: 0 })
  expect(await rowsOf(id)).toEqual({ conversations: 1, items: 1 })
})

it("the conversations of an application are erased with its responses, and no others", async () => {
  const other = client(otherKey)
  const own = await client().conversations.create({ items: [user("mine")] })
  const { id } = await other.conversations.create({ items: [user("theirs")] })
  await Effect.runPromise(gateway().sql`
    select responses_remove(${ids.org}, null, ${`${ids.app}-other`}, null, null)`)
  expect(await rowsOf(id)).toEqual({ conversations: 0, items: 0 })
  expect(await rowsOf(own.id)).toEqual({ conversations: 1, items: 1 })
})

it("nothing of a conversation can be read in the database", async () => {
  const { id } = await client().conversations.create({ metadata: { n: "plain-words" }, items: [user("plain-words")] })
  const [row] = await Effect.runPromise(gateway().sql<{ found: number }>`
    select (select count(*) from conversations where id = ${id} and position('plain-words'::bytea in metadata) > 0)::int
      + (select count(*) from conversation_items
         where conversation_id = ${id} and position('plain-words'::bytea in content) > 0)::int as found`)
  expect(row?.found).toBe(0)
})

it("an organisation that keeps nothing has no conversations", async () => {
  const { conversations, responses } = client(offKey)
  const { id } = await client().conversations.create()
  const reason = { error: { message: expect.stringContaining("keeps no responses") } }
  await expect(conversations.create({ items: [user("Hello")] })).rejects.toMatchObject({ status: 400, ...reason })
  const unknown = { status: 404, ...reason }
  const place = { conversation_id: id }
  await expect(conversations.retrieve(id)).rejects.toMatchObject(unknown)
  await expect(conversations.update(id, { metadata: {} })).rejects.toMatchObject(unknown)
  await expect(conversations.delete(id)).rejects.toMatchObject(unknown)
  await expect(conversations.items.list(id)).rejects.toMatchObject(unknown)
  await expect(conversations.items.create(id, { items: [user("Hello")] })).rejects.toMatchObject(unknown)
  await expect(conversations.items.retrieve("msg_1", place)).rejects.toMatchObject(unknown)
  await expect(conversations.items.delete("msg_1", place)).rejects.toMatchObject(unknown)
  await expect(responses.create({ model: main, input: "Hello", conversation: id })).rejects.toMatchObject({
    status: 400,
    param: "conversation",
  })
  const [row] = await Effect.runPromise(gateway().sql<{ kept: number }>`
    select count(*)::int as kept from conversations where org_id = ${`${ids.org}-off`}`)
  expect(row?.kept).toBe(0)
})

/** Posts a body as it is. */
const posted = async (path: string, body: string) => {
  const reply = await fetch(`${gateway().baseUrl}/openai/v1/conversations${path}`, {
    method: "POST",
    headers: {
      authorization: `Bearer ${gateway().keyId}~${gateway().key}`,
      "content-type": "application/json",
    },
    body,
  })
  return { status: reply.status, body: await reply.json() }
}

/** Whether the call of a response is billed. */
const settledOf = async (id: string) => {
  const [row] = await Effect.runPromise(gateway().sql<{ settled: boolean }>`
    select exists (select from usage_records where ref = ${`req_${id.slice(5, 21)}`}) as settled`)
  return row?.settled
}

const rowsOf = async (id: string) => {
  const [row] = await Effect.runPromise(gateway().sql<{ conversations: number; items: number }>`
    select (select count(*)::int from conversations where id = ${id}) as conversations,
      (select count(*)::int from conversation_items where conversation_id = ${id}) as items`)
  return row
}
