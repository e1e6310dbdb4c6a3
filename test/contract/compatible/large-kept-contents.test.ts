/** Large contents of kept responses and of items of conversations are objects in the place where files are. */
import { randomBytes } from "node:crypto"
import { Effect } from "effect"
import OpenAI from "openai"
import { afterAll, beforeEach, expect, it } from "vitest"
import { answering, newTestIds, testAwsKeys, testCatalogue } from "../../../src/testing/index.ts"
import { checkSignature, startBucket } from "../../support/bucket.ts"
import { eventually, useGateway } from "../../support/gateway.ts"

const bucket = await startBucket(checkSignature(testAwsKeys.accessKeyId, testAwsKeys.secretAccessKey, "eu-central-1"))
afterAll(() => bucket.stop())

const ids = newTestIds()
const gateway = useGateway({
  ids,
  // A minute is a second.
  backgroundSpeed: 60,
  catalogue: (urls) =>
    testCatalogue(
      urls,
      ids,
      `files:
  to: s3://weir-test/files
  region: eu-central-1
  endpoint: http://127.0.0.1:${bucket.port}
  credentials: { accessKeyId: "env:WEIR_TEST_AWS_ID", secretAccessKey: "env:WEIR_TEST_AWS_SECRET" }
`,
    )
      .replace("name: Test,", 'name: Test, keeps: { responses: "30d" },')
      .replace("contextWindow: 10000", "contextWindow: 2000000")
      .replace('amount: "1000"', 'amount: "100000"'),
})
const client = () =>
  new OpenAI({ baseURL: `${gateway().baseUrl}/openai/v1`, apiKey: `${ids.key}~${gateway().key}`, maxRetries: 0 })

/** A text that is large when it is compressed, too. */
const largeText = (bytes = 100_000) => `begin ${randomBytes(bytes).toString("base64")} end`
const asked = { model: "main", max_output_tokens: 10 }
const create = (input: string, more: Partial<OpenAI.Responses.ResponseCreateParamsNonStreaming> = {}) =>
  client().responses.create({ ...asked, input, ...more })
const user = (content: string) => ({ type: "message" as const, role: "user" as const, content })

const rows = (id: string) =>
  Effect.runPromise(
    gateway().sql<{ place: string; own: number; object: string | null; bytes: number | null }>`
      select 'response' as place, octet_length(content) as own, object_id as object, object_bytes::int as bytes
      from responses where id = ${id}
      union all
      select 'item', octet_length(content), object_id, object_bytes::int from conversation_items where conversation_id = ${id}`,
  )
const objectsOf = async (id: string) => (await rows(id)).flatMap(({ object }) => object ?? [])
const pathOf = (object: string) => `/weir-test/files/${ids.org}/content-${object}/0`
const stored = (object: string) => bucket.objects.has(pathOf(object))
const stateOf = async (object: string) =>
  (await Effect.runPromise(gateway().sql<{ state: string }>`select state from content_objects where id = ${object}`))[0]
    ?.state
/** A reader of the row has a minute for its object. */
const aMinuteLater = () =>
  Effect.runPromise(gateway().sql`update content_objects set tried_at = tried_at - interval '2 minutes'`)
const removed = async (objects: ReadonlyArray<string>) => {
  expect(objects).not.toEqual([])
  for (const object of objects) expect([undefined, "erased"]).toContain(await stateOf(object))
  await aMinuteLater()
  await eventually(async () => {
    const states = await Promise.all(objects.map(stateOf))
    return states.every((state) => state === undefined) && !objects.some(stored)
  })
}
const metrics = async () =>
  (await fetch(`${gateway().baseUrl}/metrics`, { headers: { authorization: `Bearer ${gateway().adminKey}` } })).text()
const notFound = expect.objectContaining({ status: 404 })

beforeEach(() => {
  bucket.answer = () => 200
  gateway().vendor.script(answering({ words: ["ok"], inTokens: 10, outTokens: 5 }))
})

it("a small one is in its row, and nothing is written elsewhere", async () => {
  const written = bucket.written.length
  const { id } = await create("x".repeat(1_000_000))
  expect(await rows(id)).toEqual([{ place: "response", own: expect.any(Number), object: null, bytes: null }])
  expect(bucket.written).toHaveLength(written)
})

it("a large one is written once, before its reply is there, and is read and continued", async () => {
  const [text, written] = [largeText(), bucket.written.length]
  const { id } = await create(text)
  const [row] = await rows(id)
  expect(row).toMatchObject({ own: 0, object: expect.stringMatching(/^[0-9a-f]{64}$/) })
  expect(bucket.written.slice(written)).toEqual([pathOf(row?.object ?? "")])
  const object = bucket.objects.get(pathOf(row?.object ?? ""))
  expect(object?.length).toBe(row?.bytes)
  expect(object?.includes("begin")).toBe(false)
  expect(await stateOf(row?.object ?? "")).toBe("named")
  expect((await client().responses.retrieve(id)).output_text).toBe("ok")
  expect(JSON.stringify((await client().responses.inputItems.list(id)).data)).toContain(text)
  await create("and now", { previous_response_id: id })
  expect(JSON.stringify(gateway().vendor.calls.at(-1)?.body)).toContain(text)
})

it("an erased one leaves no object: by its owner, at its time, and by the operator", async () => {
  const [own, old, last] = [await create(largeText()), await create(largeText()), await create(largeText())]
  const objects = await Promise.all([own, old, last].map(async ({ id }) => (await objectsOf(id))[0] ?? ""))
  await client().responses.delete(own.id)
  await removed(objects.slice(0, 1))
  await Effect.runPromise(
    gateway().sql`update responses set erase_at = now() - interval '1 second' where id = ${old.id}`,
  )
  await Effect.runPromise(gateway().retention.run)
  await removed(objects.slice(1, 2))
  expect([await stateOf(objects[2] ?? ""), stored(objects[2] ?? "")]).toEqual(["named", true])
  const erased = await fetch(`${gateway().baseUrl}/v1/admin/orgs/${ids.org}/responses/${last.id}`, {
    method: "DELETE",
    headers: { "x-svc-admin-key": gateway().adminKey },
  })
  expect(erased.status).toBeLessThan(300)
  await removed(objects.slice(2))
})

it("large items of a conversation are objects, each for itself", async () => {
  const [first, second] = [largeText(), largeText()]
  const { id } = await client().conversations.create({ items: [user(first), user("small")] })
  const response = await create(second, { conversation: id })
  expect((await rows(id)).map(({ object }) => object !== null)).toEqual([true, false, true, false])
  const { data } = await client().conversations.items.list(id, { order: "asc" })
  expect(data.map((item) => JSON.stringify(item).match(/begin|small|ok/)?.[0])).toEqual([
    "begin",
    "small",
    "begin",
    "ok",
  ])
  await create("go on", { conversation: id })
  const sent = JSON.stringify(gateway().vendor.calls.at(-1)?.body)
  expect([sent.includes(first), sent.includes(second)]).toEqual([true, true])
  await create("from there", { previous_response_id: response.id })
  expect(JSON.stringify(gateway().vendor.calls.at(-1)?.body)).toContain(first)

  const [gone = "", ...others] = await objectsOf(id)
  await client().conversations.items.delete(data[0]?.id ?? "", { conversation_id: id })
  await removed([gone])
  expect(others.every(stored)).toBe(true)
  await client().conversations.delete(id)
  await removed(others)
  expect((await client().responses.retrieve(response.id)).output_text).toBe("ok")
})

it("an item that finds no room leaves no object", async () => {
  const { id } = await client().conversations.create({})
  await Effect.runPromise(gateway().sql`
    insert into conversation_items (org_id, conversation_id, place, id, erase_at, content)
    select ${ids.org}, ${id}, n, 'item' || n, now() + interval '1 day', '' from generate_series(1000, 10999) n`)
  const written = bucket.written.length
  await expect(client().conversations.items.create(id, { items: [user(largeText())] })).rejects.toMatchObject({
    status: 400,
  })
  const [path = ""] = bucket.written.slice(written)
  await removed([path.split("content-")[1]?.slice(0, 64) ?? ""])
})

it("one in the background is an object when it has ended: completed, failed or cancelled", async () => {
  const ended = async (id: string, status: string) => {
    await eventually(async () => (await client().responses.retrieve(id)).status === status)
    expect(JSON.stringify((await client().responses.inputItems.list(id)).data)).toContain("begin")
    const [row] = await rows(id)
    expect(row).toMatchObject({ own: 0, object: expect.any(String) })
    await eventually(async () => (await stateOf((await objectsOf(id))[0] ?? "")) === "named")
  }
  const done = await create(largeText(), { background: true })
  await ended(done.id, "completed")
  gateway().vendor.script((call) => {
    call.head(400)
    call.end("{}")
  })
  const failed = await create(largeText(), { background: true })
  await ended(failed.id, "failed")
  gateway().vendor.script(async (call) => await call.wait(30_000))
  const cancelled = await create(largeText(), { background: true })
  await eventually(async () => (await client().responses.retrieve(cancelled.id)).status === "in_progress")
  await client().responses.cancel(cancelled.id)
  await ended(cancelled.id, "cancelled")
})

it("one whose object is missing or changed is unknown, and is reported", async () => {
  const unopened = async () => Number(/weir_kept_unopened_total(?:\{[^}]*\})? (\d+)/.exec(await metrics())?.[1] ?? 0)
  const before = await unopened()
  for (const change of ["missing", "longer", "other"]) {
    const { id } = await create(largeText())
    const path = pathOf((await objectsOf(id))[0] ?? "")
    const object = bucket.objects.get(path) ?? Buffer.alloc(0)
    if (change === "missing") bucket.objects.delete(path)
    else
      bucket.objects.set(
        path,
        change === "longer" ? Buffer.concat([object, randomBytes(200_000)]) : randomBytes(object.length),
      )
    await expect(client().responses.retrieve(id), change).rejects.toEqual(notFound)
    await expect(create("x", { previous_response_id: id }), change).rejects.toMatchObject({ status: 400 })
    await client().responses.delete(id)
  }
  expect(await unopened()).toBeGreaterThanOrEqual(before + 6)
})

it("a bucket that does not answer costs no response: the database has it", async () => {
  const { id: earlier } = await create(largeText())
  const talk = await client().conversations.create({})
  for (const status of [503, -1, 0, -2]) {
    bucket.answer = () => status
    const text = largeText()
    const { id } = await create(text)
    expect((await rows(id))[0]).toMatchObject({ object: null })
    expect(JSON.stringify((await client().responses.inputItems.list(id)).data)).toContain(text)
    await new Promise((resolve) => setTimeout(resolve, 300))
    await client().conversations.items.create(talk.id, { items: [user(text)] })
    expect(JSON.stringify((await client().conversations.items.list(talk.id)).data)).toContain(text)
    await new Promise((resolve) => setTimeout(resolve, 300))
  }
  bucket.answer = () => 503
  await expect(client().responses.retrieve(earlier)).rejects.toMatchObject({ status: 500, code: "internal_error" })
  bucket.answer = () => 200
  expect((await client().responses.retrieve(earlier)).output_text).toBe("ok")
}, 60_000)

it("what no row has named within an hour is removed, and nothing else", async () => {
  const { id } = await create(largeText())
  const [named = ""] = await objectsOf(id)
  const [lost, late] = ["a".repeat(64), "b".repeat(64)]
  for (const object of [lost, late]) bucket.objects.set(pathOf(object), Buffer.from("x"))
  await Effect.runPromise(gateway().sql`
    insert into content_objects (org_id, id, created_at)
    values (${ids.org}, ${lost}, now() - interval '61 minutes'), (${ids.org}, ${late}, now() - interval '50 minutes')`)
  await Effect.runPromise(
    gateway().sql`update content_objects set created_at = now() - interval '3 days' where id = ${named}`,
  )
  await eventually(async () => (await stateOf(lost)) === undefined)
  expect([lost, late, named].map(stored)).toEqual([false, true, true])
})
