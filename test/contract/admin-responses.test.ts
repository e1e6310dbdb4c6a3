/** Operators list the responses that organisations keep, without their content, and erase them. */
import { Effect, Schema } from "effect"
import { beforeEach, describe, expect, it } from "vitest"
import { type KeptResponseEntry, KeptResponseList } from "../../src/protocol/control/kept-response.ts"
import { answering, newTestIds, testCatalogue } from "../../src/testing/index.ts"
import { errorOf, eventually, useGateway } from "../support/gateway.ts"

const ids = newTestIds()
const gateway = useGateway({
  ids,
  catalogue: (urls) => testCatalogue(urls, ids).replace("name: Test,", 'name: Test, keeps: { responses: "30d" },'),
})

const admin = (method: string, path: string) =>
  gateway().call(method, `/v1/admin/orgs/${ids.org}/responses${path}`, undefined, {
    "x-svc-admin-key": gateway().adminKey,
  })
const decodeList = Schema.decodeUnknownSync(KeptResponseList, { onExcessProperty: "error" })
const list = async (query = "") => decodeList(await (await admin("GET", query)).json())
const idsOf = (data: ReadonlyArray<KeptResponseEntry>) => data.map(({ id }) => id)
const erase = async (path: string) => await (await admin("DELETE", path)).json()

const Made = Schema.Struct({ id: Schema.String })
const bearer = () => ({ authorization: `Bearer ${gateway().keyId}~${gateway().key}` })
const make = async (body: object = {}) => {
  gateway().vendor.script(answering({ words: ["A secret reply"], inTokens: 10, outTokens: 2 }))
  const reply = await gateway().call(
    "POST",
    "/openai/v1/responses",
    { model: "main", input: "A secret question", ...body },
    bearer(),
  )
  expect(reply.status).toBe(200)
  return Schema.decodeUnknownSync(Made)(await reply.json()).id
}
const read = (id: string) => gateway().call("GET", `/openai/v1/responses/${id}`, undefined, bearer())
const rowsOf = (id: string) =>
  Effect.runPromise(gateway().sql<{ rows: number }>`
    select (select count(*) from responses where id = ${id})::int
      + (select count(*) from response_items where response_id = ${id})::int
      + (select count(*) from response_events where response_id = ${id})::int as rows`).then(([row]) => row?.rows)
const audited = () =>
  Effect.runPromise(gateway().sql<{ detail: unknown; actor_id: string }>`
    select detail, actor_id from audit_log where action = 'responses.erased' and org_id = ${ids.org} order by seq desc limit 1`)
/** Gives a response to an end user of another application. */
const giveTo = (id: string, app: string, endUser: string) =>
  Effect.runPromise(gateway().sql`update responses set app_id = ${app}, end_user_id = ${endUser} where id = ${id}`)

beforeEach(() => admin("DELETE", "?all=true"))

describe("the list", () => {
  it("has owners, sizes and times, newest first, and nothing that was said", async () => {
    const first = await make()
    const second = await make({ previous_response_id: first })
    const reply = await admin("GET", "")
    const text = await reply.text()
    expect(text).not.toContain("secret")
    const { data, nextCursor } = decodeList(JSON.parse(text))
    expect(nextCursor).toBeNull()
    expect(data).toEqual([
      expect.objectContaining({ id: second, previous: first, model: "main", state: "completed", app: ids.app }),
      expect.objectContaining({ id: first, background: false, bytes: expect.any(Number) }),
    ])
    const [{ createdAt = "", eraseAt = "", bytes = 0 } = {}] = data
    expect(bytes).toBeGreaterThan(100)
    expect((Date.parse(eraseAt) - Date.parse(createdAt)) / 86_400_000).toBeCloseTo(30, 3)
  })

  it("has pages and filters", async () => {
    const made = [await make(), await make(), await make()]
    const [oldest = "", , newest = ""] = made
    const first = await list("?limit=2")
    expect(first.data).toHaveLength(2)
    const rest = await list(`?limit=2&cursor=${first.nextCursor}`)
    expect([...idsOf(first.data), ...idsOf(rest.data)]).toEqual(made.toReversed())
    expect(rest.nextCursor).toBeNull()
    await giveTo(oldest, "other", "ada")
    expect(idsOf((await list("?app=other")).data)).toEqual([oldest])
    expect(idsOf((await list("?endUser=ada")).data)).toEqual([oldest])
    const { createdAt = "" } = (await list()).data.find(({ id }) => id === newest) ?? {}
    expect(idsOf((await list(`?before=${createdAt}`)).data)).not.toContain(newest)
    expect((await list("?before=2026-01-01")).data).toEqual([])
  })

  it.each([
    ["?limit=0", "bad_request"],
    ["?before=yesterday", "bad_request"],
    ["?before=2026-02-30", "bad_request"],
    ["?app=", "bad_request"],
    ["?cursor=x", "bad_request"],
  ])("refuses %s", async (query, code) => {
    expect(await errorOf(await admin("GET", query))).toMatchObject({ code })
  })

  it("is for operators alone, and of an organisation that there is", async () => {
    const path = `/v1/admin/orgs/${ids.org}/responses`
    for (const headers of [bearer(), { "x-svc-admin-key": "x" }]) {
      expect((await gateway().call("GET", path, undefined, headers)).status).toBe(401)
      expect((await gateway().call("DELETE", `${path}?all=true`, undefined, headers)).status).toBe(401)
      expect((await gateway().call("DELETE", `${path}/resp_1`, undefined, headers)).status).toBe(401)
    }
    const unheard = await gateway().call("GET", "/v1/admin/orgs/org_unheard/responses", undefined, {
      "x-svc-admin-key": gateway().adminKey,
    })
    expect(await errorOf(unheard)).toMatchObject({ code: "not_found" })
  })
})

describe("a conversation", () => {
  const create = async (items: ReadonlyArray<object> = [{ role: "user", content: "A secret item" }]) => {
    const reply = await gateway().call("POST", "/openai/v1/conversations", { items }, bearer())
    return Schema.decodeUnknownSync(Made)(await reply.json()).id
  }
  const readConversation = (id: string) => gateway().call("GET", `/openai/v1/conversations/${id}`, undefined, bearer())

  it("is listed between responses, in pages, without a text", async () => {
    const made = [await make(), await create(), await make(), await create([])]
    const first = await list("?limit=2")
    const rest = await list(`?limit=2&cursor=${first.nextCursor}`)
    const all = [...first.data, ...rest.data]
    expect(idsOf(all)).toEqual(made.toReversed())
    expect(all.map(({ kind }) => kind)).toEqual(["conversation", "response", "conversation", "response"])
    const [, , withItem] = all
    expect(withItem).toMatchObject({ app: ids.app, bytes: expect.any(Number), eraseAt: expect.any(String) })
    expect(withItem?.bytes).toBeGreaterThan(30)
    expect(JSON.stringify(all)).not.toContain("secret")
    expect(idsOf((await list(`?app=${ids.app}`)).data)).toEqual(made.toReversed())
    expect((await list("?endUser=ada")).data).toEqual([])
  })

  it("is erased by its id, and counted beside responses", async () => {
    const [id, other] = [await create(), await create()]
    const response = await make()
    expect(await erase(`/${id}`)).toEqual({ erased: 0, conversations: 1 })
    expect(await audited()).toEqual([{ detail: { conversation: id }, actor_id: "admin" }])
    expect(await errorOf(await admin("DELETE", `/${id}`))).toMatchObject({ code: "not_found" })
    expect([(await readConversation(id)).status, (await readConversation(other)).status]).toEqual([404, 200])
    expect((await read(response)).status).toBe(200)
    expect(await erase(`?app=${ids.app}`)).toEqual({ erased: 1, conversations: 1 })
    expect((await list()).data).toEqual([])
    expect(await erase("?all=true")).toEqual({ erased: 0, conversations: 0 })
  })
})

describe("an unknown application", () => {
  it.each(["GET", "DELETE"])("is named: %s", async (method) => {
    expect(await errorOf(await admin(method, "?app=nope"))).toMatchObject({
      code: "not_found",
      message: "There is no application nope",
    })
  })

  it("is known while something of it is kept, also where it was removed", async () => {
    await giveTo(await make(), "removed", "")
    expect((await list("?app=removed")).data).toHaveLength(1)
    expect(await erase("?app=removed")).toEqual({ erased: 1, conversations: 0 })
    expect(await errorOf(await admin("DELETE", "?app=removed"))).toMatchObject({ code: "not_found" })
  })
})

describe("an operator's erasure", () => {
  it("of one response leaves nothing of it, and the others", async () => {
    const [gone, left] = [await make(), await make()]
    expect(await rowsOf(gone)).toBeGreaterThan(0)
    expect(await erase(`/${gone}`)).toEqual({ erased: 1, conversations: 0 })
    expect(await rowsOf(gone)).toBe(0)
    expect((await read(gone)).status).toBe(404)
    expect((await read(left)).status).toBe(200)
    expect(await audited()).toEqual([{ detail: { response: gone }, actor_id: "admin" }])
    expect(await errorOf(await admin("DELETE", `/${gone}`))).toMatchObject({ code: "not_found" })
  })

  it("of an end user's responses leaves those of others", async () => {
    const [ada, bo, elsewhere, nobody] = [await make(), await make(), await make(), await make()]
    await giveTo(ada, ids.app, "ada")
    await giveTo(bo, ids.app, "bo")
    await giveTo(elsewhere, "other", "ada")
    expect(await erase(`?app=${ids.app}&endUser=ada`)).toEqual({ erased: 1, conversations: 0 })
    expect(idsOf((await list()).data)).toEqual([nobody, elsewhere, bo])
    expect(await audited()).toEqual([{ detail: { app: ids.app, endUser: "ada" }, actor_id: "admin" }])
  })

  it("of those before a time, and of all", async () => {
    const [old, young] = [await make(), await make()]
    await Effect.runPromise(
      gateway().sql`update responses set created_at = now() - interval '3 days' where id = ${old}`,
    )
    const before = new Date(Date.now() - 86_400_000).toISOString()
    expect(await erase(`?before=${before}`)).toEqual({ erased: 1, conversations: 0 })
    expect(idsOf((await list()).data)).toEqual([young])
    expect(await erase("?all=true")).toEqual({ erased: 1, conversations: 0 })
    expect((await list()).data).toEqual([])
  })

  it.each(["", "?all=true&app=a", "?all=yes", "?before=nonsense", "?endUser="])(
    "refuses %j, and erases nothing",
    async (query) => {
      const id = await make()
      expect(await errorOf(await admin("DELETE", query))).toMatchObject({ code: "bad_request" })
      expect(await rowsOf(id)).toBeGreaterThan(0)
    },
  )

  it("stops a response that runs, and nothing of it comes back", async () => {
    gateway().vendor.script(async (call) => await call.wait(20_000))
    const reply = await gateway().call(
      "POST",
      "/openai/v1/responses",
      { model: "main", input: "Work", background: true },
      bearer(),
    )
    const { id } = Schema.decodeUnknownSync(Made)(await reply.json())
    await eventually(async () => gateway().vendor.calls.length > 0 && (await rowsOf(id)) === 2)
    expect(await erase(`/${id}`)).toEqual({ erased: 1, conversations: 0 })
    await expect.poll(() => gateway().vendor.calls.at(-1)?.hungUpAt, { timeout: 5000 }).toBeDefined()
    await new Promise((resolve) => setTimeout(resolve, 600))
    expect(await rowsOf(id)).toBe(0)
  })
})
