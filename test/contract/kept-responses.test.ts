/** Owners of kept responses, their time, and their rows in the database. */
import { Effect, Redacted, Schema } from "effect"
import { describe, expect, it } from "vitest"
import { AppTokenResponse } from "../../src/protocol/control/app-token.ts"
import { answering, newTestIds, testCatalogue } from "../../src/testing/index.ts"
import { useGateway } from "../support/gateway.ts"

const ids = newTestIds()
const gateway = useGateway({
  ids,
  config: { masterKey: Redacted.make("master") },
  catalogue: (urls) =>
    testCatalogue(urls, ids)
      .replace("name: Test,", 'name: Test, keeps: { responses: "30d" },')
      .replace("apps:\n", `apps:\n  - { id: ${ids.app}-other, org: ${ids.org} }\n`)
      .replace("keys:\n", `keys:\n${otherKeys}`),
})
const otherKeys = [
  `  - { id: ${ids.key}-other, app: ${ids.app}-other, secret: "env:WEIR_TEST_KEY" }`,
  `  - { id: ${ids.key}-second, app: ${ids.app}, secret: "env:WEIR_TEST_KEY" }`,
  "",
].join("\n")

const send = async (key: string, method: string, path: string, body?: object) => {
  const reply = await gateway().call(method, `/openai/v1/responses${path}`, body, {
    "x-svc-key-id": undefined,
    "x-svc-key": undefined,
    ...(key.startsWith("key_") ? { authorization: `Bearer ${key}~${gateway().key}` } : { "x-svc-app-token": key }),
  })
  const json: Record<string, unknown> = JSON.parse(await reply.text())
  return { status: reply.status, json }
}

const create = async (key: string, more: object = {}) => {
  gateway().vendor.script(answering({ words: ["A secret answer"], inTokens: 10, outTokens: 5 }))
  return await send(key, "POST", "", { model: "main", input: "A secret question", ...more })
}
const idOf = ({ json }: Awaited<ReturnType<typeof send>>): string => String(json["id"])

const decodeToken = Schema.decodeUnknownSync(AppTokenResponse)
const endUserToken = async (endUserId: string): Promise<string> => {
  const reply = await gateway().call("POST", "/v1/app-tokens", { endUserId })
  return decodeToken(await reply.json()).token
}

describe("a kept response", () => {
  it("is of its application, by any of its keys, and for others unknown", async () => {
    const id = idOf(await create(ids.key))
    const item = await send(ids.key, "GET", `/${id}/input_items`)
    expect((await send(`${ids.key}-second`, "GET", `/${id}`)).json["id"]).toBe(id)
    const user = await endUserToken("ada")
    const ofUser = idOf(await create(user))
    expect((await send(user, "GET", `/${ofUser}`)).status).toBe(200)
    for (const [key, theirs] of [
      [`${ids.key}-other`, id],
      [user, id],
      [await endUserToken("bob"), ofUser],
      [ids.key, ofUser],
    ] as const) {
      expect(await send(key, "GET", `/${theirs}`)).toMatchObject({ status: 404 })
      expect(await send(key, "GET", `/${theirs}?stream=true`)).toMatchObject({ status: 404 })
      expect(await send(key, "GET", `/${theirs}/input_items`)).toMatchObject({ status: 404 })
      expect(await send(key, "POST", `/${theirs}/cancel`)).toMatchObject({ status: 404 })
      expect(await send(key, "DELETE", `/${theirs}`)).toMatchObject({ status: 404 })
      expect(await create(key, { previous_response_id: theirs })).toMatchObject({
        status: 400,
        json: { error: { code: "previous_response_not_found" } },
      })
      const [{ id: itemId = "" } = {}] = item.json["data"] as ReadonlyArray<{ readonly id?: string }>
      if (theirs === id)
        expect(await create(key, { input: [{ type: "item_reference", id: itemId }] })).toMatchObject({ status: 400 })
    }
    expect((await send(ids.key, "GET", `/${id}`)).status).toBe(200)
  })

  it.each([
    "resp_",
    "resp_unknown",
    `resp_${"x".repeat(20)}`,
    "%00",
    "x".repeat(5000),
    "resp_-ABCDEFGHIJKLMNOzzzz",
    "'; drop table responses",
  ])("of an odd id is unknown: %j", async (id) => {
    expect((await send(ids.key, "GET", `/${encodeURIComponent(id)}`)).status).toBeGreaterThanOrEqual(400)
    expect((await send(ids.key, "GET", `/${encodeURIComponent(id)}`)).status).toBeLessThan(500)
    expect(await create(ids.key, { previous_response_id: id })).toMatchObject({ status: 400 })
  })

  it.each([
    [{ previous_response_id: 5 }, "previous_response_id"],
    [{ background: true, store: false }, "store"],
    [{ input: [{ type: "item_reference", id: "rs_nothing" }] }, "input"],
    [{ input: [{ type: "item_reference", id: "a\u0000b" }] }, "input"],
    [{ input: Array.from({ length: 1001 }, (_, at) => ({ type: "item_reference", id: `rs_${at}` })) }, "input"],
  ])("refuses %.100j, and names the field", async (more, param) => {
    expect(await create(ids.key, more)).toMatchObject({ status: 400, json: { error: { param } } })
  })

  it("has no text in the database, and is removed when its time is over", async () => {
    const id = idOf(await create(ids.key, { background: true }))
    await expect.poll(async () => (await send(ids.key, "GET", `/${id}`)).json["status"]).toBe("completed")
    const { sql, retention } = gateway()
    const rows = async () =>
      await Effect.runPromise(
        Effect.all([
          sql<{ text: string }>`select r::text as text from responses r where org_id = ${ids.org} and id = ${id}`,
          sql<{
            text: string
          }>`select e::text as text from response_events e where org_id = ${ids.org} and response_id = ${id}`,
        ]),
      )
    const [responses, events] = await rows()
    expect(responses).toHaveLength(1)
    expect(events.length).toBeGreaterThan(0)
    for (const { text } of [...responses, ...events]) {
      expect(text).not.toContain(Buffer.from("secret").toString("hex"))
      expect(text).not.toContain("secret")
    }
    await Effect.runPromise(sql`update responses set erase_at = now() - interval '1 second' where id = ${id}`)
    await Effect.runPromise(
      sql`update response_events set erase_at = now() - interval '1 second' where response_id = ${id}`,
    )
    expect(await send(ids.key, "GET", `/${id}`)).toMatchObject({ status: 404 })
    await Effect.runPromise(retention.run)
    expect(await rows()).toEqual([[], []])
  })

  it("has the same id where its request is sent again", async () => {
    gateway().vendor.script(answering({ words: ["once"], inTokens: 10, outTokens: 5 }))
    const again = async () => {
      const reply = await gateway().call(
        "POST",
        "/openai/v1/responses",
        { model: "main", input: "x" },
        {
          "idempotency-key": `kept-${ids.key}`,
        },
      )
      const json: Record<string, unknown> = JSON.parse(await reply.text())
      return json["id"]
    }
    const first = await again()
    expect(await again()).toBe(first)
    expect((await send(ids.key, "GET", `/${String(first)}`)).status).toBe(200)
  })

  it("is billed and kept where its vendor names items oddly", async () => {
    const output = [{ type: "message", id: "a\u0000b", role: "assistant", status: "completed", content: [] }]
    gateway().vendor.script((call) => {
      call.head(200, { "content-type": "application/json" })
      const usage = { input_tokens: 10, output_tokens: 5, total_tokens: 15 }
      const text = { type: "output_text", text: "odd", annotations: [] }
      const [item] = output
      call.end(
        JSON.stringify({
          id: "resp_1",
          object: "response",
          status: "completed",
          output: [{ ...item, content: [text] }],
          usage,
        }),
      )
    })
    const id = idOf(await send(ids.key, "POST", "", { model: "responses", input: "x" }))
    expect((await send(ids.key, "GET", `/${id}`)).json["output"]).toMatchObject([{ content: [{ text: "odd" }] }])
  })

  it("of many items is referenced without a long turn", async () => {
    const input = Array.from({ length: 900 }, (_, at) => ({ role: "user", content: `item ${at}` }))
    const id = idOf(await create(ids.key, { input, model: "claude" }))
    const references = input.map((_, at) => ({ type: "item_reference", id: `msg_${id.slice("resp_".length)}_i${at}` }))
    const startedAt = performance.now()
    expect((await create(ids.key, { input: references, model: "claude" })).status).toBe(200)
    expect(performance.now() - startedAt).toBeLessThan(5000)
    expect(JSON.stringify(gateway().vendor.calls.at(-1)?.body).match(/item \d+/g)).toHaveLength(900)
  })

  it("of a thread that lost its beginning cannot be continued", async () => {
    const first = idOf(await create(ids.key))
    const second = idOf(await create(ids.key, { previous_response_id: first }))
    await send(ids.key, "DELETE", `/${first}`)
    expect(await create(ids.key, { previous_response_id: second })).toMatchObject({
      status: 400,
      json: { error: { message: `Previous response with id '${first}' not found.` } },
    })
    expect((await send(ids.key, "GET", `/${second}`)).status).toBe(200)
  })

  it("that runs is erased: it is not there again when its call has ended", async () => {
    let finish = () => {}
    const finished = new Promise<void>((resolve) => {
      finish = resolve
    })
    gateway().vendor.script(async (call) => {
      await finished
      await answering({ words: ["late"], inTokens: 10, outTokens: 5 })(call)
    })
    const id = idOf(await send(ids.key, "POST", "", { model: "main", input: "x", background: true }))
    expect(await send(ids.key, "DELETE", `/${id}`)).toMatchObject({ status: 200, json: { deleted: true } })
    finish()
    await new Promise((resolve) => setTimeout(resolve, 1500))
    expect(await send(ids.key, "GET", `/${id}`)).toMatchObject({ status: 404 })
  })

  it.each([0, 3, 1000])("whose events are gone ends the stream of a reader that has those up to %i", async (after) => {
    const id = idOf(await create(ids.key, { background: true }))
    await expect.poll(async () => (await send(ids.key, "GET", `/${id}`)).json["status"]).toBe("completed")
    const { sql } = gateway()
    // Its last events are written after its end.
    await expect
      .poll(() => Effect.runPromise(sql`select from response_events where response_id = ${id}`))
      .not.toEqual([])
    await new Promise((resolve) => setTimeout(resolve, 500))
    await Effect.runPromise(sql`delete from response_events where response_id = ${id}`)
    await Effect.runPromise(sql`update responses set created_at = created_at - interval '2 hours' where id = ${id}`)
    const reply = await gateway().call(
      "GET",
      `/openai/v1/responses/${id}?stream=true&starting_after=${after}`,
      undefined,
      { authorization: `Bearer ${ids.key}~${gateway().key}`, "x-svc-key-id": undefined, "x-svc-key": undefined },
    )
    const events = (await reply.text()).split("\n\n").filter((event) => event !== "")
    expect(events).toHaveLength(1)
    const [event = ""] = events
    expect(event).toMatch(/^event: response\.completed\n/)
    expect(JSON.parse(event.slice(event.indexOf("{")))).toMatchObject({
      type: "response.completed",
      sequence_number: after + 1,
      response: { id, status: "completed", output: [{ content: [{ text: "A secret answer" }] }] },
    })
  })

  it("of a hundred turns is continued", async () => {
    let previous: string | undefined
    for (let turn = 0; turn < 100; turn++) {
      const reply = await create(ids.key, {
        input: `turn ${turn}`,
        previous_response_id: previous ?? null,
        model: "pool",
        max_output_tokens: 10,
      })
      expect(reply.status).toBe(200)
      previous = idOf(reply)
    }
    const sent = JSON.stringify(gateway().vendor.calls.at(-1)?.body)
    expect(sent.match(/turn \d+/g)).toHaveLength(100)
  }, 60_000)
})

it.each([
  [
    "cancelled",
    async (id: string) => {
      const { sql } = gateway()
      await expect
        .poll(() => Effect.runPromise(sql`select from response_events where response_id = ${id} and part > 1`))
        .not.toEqual([])
      await send(ids.key, "POST", `/${id}/cancel`)
    },
  ],
  ["failed", () => Promise.resolve()],
] as const)("a response that is billed and %s has its usage", async (status, end) => {
  gateway().vendor.script(async (call) => {
    if (status === "failed") {
      call.head(200, { "content-type": "text/event-stream" })
      await call.write(`data: {"id":"c","choices":[{"index":0,"delta":{"content":"Some words"}}]}\n\n`)
      await call.wait(300)
      return call.reset()
    }
    await answering({ words: Array.from({ length: 100 }, () => "word "), inTokens: 10, outTokens: 5 }, 50)(call)
  })
  const id = idOf(await send(ids.key, "POST", "", { model: "main", input: "x", background: true }))
  await end(id)
  const read = async () => (await send(ids.key, "GET", `/${id}`)).json
  await expect
    .poll(async () => (await read())["usage"], { timeout: 5000 })
    .toMatchObject({
      input_tokens: expect.any(Number),
      output_tokens: expect.any(Number),
    })
  expect(await read()).toMatchObject({ id, status })
})

it("a response that was sealed with another key is unknown, and counted for the operator", async () => {
  const id = idOf(await create(ids.key))
  const { sql } = gateway()
  await Effect.runPromise(sql`
    update responses set content = (select content from responses where id <> ${id} limit 1) where id = ${id}`)
  expect(await send(ids.key, "GET", `/${id}`)).toMatchObject({ status: 404 })
  const metrics = await (
    await gateway().call("GET", "/metrics", undefined, { "x-svc-admin-key": gateway().adminKey })
  ).text()
  expect(metrics).toMatch(/^weir_kept_unopened_total(\{[^}]*\})? [1-9]/m)
  expect(metrics).toMatch(/^weir_background_responses(\{[^}]*\})? \d/m)
})

describe("a request that is refused", () => {
  it.each([
    [{ background: "yes" }, "background", "must be true or false"],
    [{ input: [{ role: "user", content: "x" }, { type: "item_reference" }] }, "input.1.id", "a string is required"],
  ])("names the reason: %j", async (more, param, message) => {
    expect(await create(ids.key, more)).toMatchObject({
      status: 400,
      json: { error: { param, message: expect.stringContaining(message) } },
    })
  })

  it("continues a response that has no reply", async () => {
    gateway().vendor.script(async (call) => await call.wait(20_000))
    const id = idOf(await send(ids.key, "POST", "", { model: "main", input: "x", background: true }))
    const refusal = async () => {
      const { status, json } = await send(ids.key, "POST", "", { model: "main", input: "y", previous_response_id: id })
      return { status, error: json["error"] }
    }
    const because = (message: string) => ({
      status: 400,
      error: { param: "previous_response_id", message: expect.stringContaining(message) },
    })
    expect(await refusal()).toMatchObject(because("is still in progress"))
    await send(ids.key, "POST", `/${id}/cancel`)
    expect(await refusal()).toMatchObject(because("has been cancelled"))
    expect(JSON.stringify(await refusal())).not.toContain("previous_response_not_found")
  })
})
