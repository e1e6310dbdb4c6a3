/** `keep` and `after` of twp/1: exchanges that go on from one another, at any vendor, whole and streamed. */
import { describe, expect, it } from "vitest"
import { answering, newTestIds, testCatalogue } from "../../src/testing/index.ts"
import { errorOf, useGateway } from "../support/gateway.ts"
import { openSocket } from "../support/socket-client.ts"

const ids = newTestIds()
const gateway = useGateway({
  ids,
  catalogue: (urls) => testCatalogue(urls, ids).replace("name: Test,", 'name: Test, keeps: { responses: "2h" },'),
})
const other = useGateway()

const say = (v: string) => [{ role: "user", blocks: [{ t: "text", v }] }]
const exchange = (model: string, v: string, more: object = {}) =>
  gateway().exchange({ model, thread: say(v), keep: true, ...more })
const idOf = async (reply: Response): Promise<string> => {
  expect(reply.status, await reply.clone().text()).toBe(200)
  await reply.text()
  return reply.headers.get("x-svc-request-id") ?? ""
}

describe.each(["main", "claude", "responses", "gemini"])("an exchange of %s", (model) => {
  it("goes on from a kept one, whole and streamed", async () => {
    gateway().vendor.script(answering({ words: ["Blue", " it is"], inTokens: 10, outTokens: 5 }))
    const first = await idOf(await exchange(model, "Remember the colour blue"))
    const second = await idOf(await exchange(model, "Which one?", { after: first, stream: true }))
    const third = await exchange(model, "Again?", { after: second })
    expect(third.headers.get("x-svc-warning")).toBeNull()
    expect(third.status).toBe(200)
    expect(JSON.stringify(gateway().vendor.calls.at(-1)?.body)).toMatch(
      /Remember the colour blue.*Blue it is.*Which one.*Blue it is.*Again/,
    )
  })
})

describe("a large exchange", () => {
  const long = "a long text ".repeat(30_000)

  it("is kept, gone on from, and goes on from others", async () => {
    gateway().vendor.script(answering({ words: ["ok"], inTokens: 10, outTokens: 5 }))
    const model = { model: "claude", params: { maxTokens: 10 } }
    const first = await idOf(await gateway().exchange({ ...model, thread: say(`${long}1`), keep: true }))
    const second = await idOf(await gateway().exchange({ ...model, thread: say("short"), keep: true, after: first }))
    await idOf(await gateway().exchange({ ...model, thread: say(`${long}2`), after: second }))
    const sent = JSON.stringify(gateway().vendor.calls.at(-1)?.body)
    expect(sent.split("a long text ")).toHaveLength(60_001)
    expect(sent).toMatch(/a long text 1.*ok.*short.*ok.*a long text 2/)
  })

  it("of a response is continued", async () => {
    const responses = async (body: object) => {
      const reply = await gateway().call("POST", "/openai/v1/responses", { model: "claude", ...body })
      const json: { readonly id?: string } = JSON.parse(await reply.text())
      expect(reply.status).toBe(200)
      return json.id
    }
    const first = await responses({ input: `${long}1` })
    const second = await responses({ input: "short", previous_response_id: first })
    await responses({ input: `${long}2`, previous_response_id: second })
    expect(JSON.stringify(gateway().vendor.calls.at(-1)?.body)).toMatch(/a long text 1.*ok.*short.*ok.*a long text 2/)
  })
})

describe("a kept exchange", () => {
  it.each([
    ["req_AAAAAAAAAAAAAAAA", 404],
    ["req_", 400],
    [5, 400],
    ["resp_AAAAAAAAAAAAAAAA", 400],
  ])("of the id %j is refused", async (after, status) => {
    expect(await errorOf(await exchange("main", "x", { after }))).toMatchObject({ status })
  })

  it("that does not keep cannot be gone on from", async () => {
    const first = await idOf(await exchange("main", "x", { keep: false }))
    expect(await errorOf(await exchange("main", "y", { after: first }))).toMatchObject({
      status: 404,
      code: "not_found",
    })
  })

  it("is read and erased by its id, by its owner alone", async () => {
    gateway().vendor.script(answering({ words: ["A secret"], inTokens: 10, outTokens: 5 }))
    const id = await idOf(await exchange("main", "x"))
    const path = `/openai/v1/responses/${id}`
    const read = () => gateway().call("GET", path)
    expect(await (await read()).json()).toMatchObject({ requestId: id, blocks: [{ t: "text", v: "A secret" }] })
    expect((await other().call("GET", path)).status).toBe(404)
    expect((await other().call("DELETE", path)).status).toBe(404)
    expect(await (await gateway().call("DELETE", path)).json()).toEqual({ id, object: "response", deleted: true })
    expect([(await read()).status, (await gateway().call("DELETE", path)).status]).toEqual([404, 404])
    expect((await exchange("main", "y", { after: id })).status).toBe(404)
  })

  it("of a response is not read by the id of its call", async () => {
    const reply = await gateway().call("POST", "/openai/v1/responses", { model: "main", input: "x" })
    const id = await idOf(reply)
    expect((await gateway().call("GET", `/openai/v1/responses/${id}`)).status).toBe(404)
  })

  it("is gone on from by the id of its reply, not of its request", async () => {
    const requestId = `own-${ids.key}`
    await idOf(await exchange("main", "x", { meta: { requestId } }))
    expect(await errorOf(await exchange("main", "y", { after: requestId }))).toMatchObject({
      status: 400,
      message: expect.stringContaining("x-svc-request-id"),
    })
  })

  it("of an organisation that keeps nothing is answered, with a warning", async () => {
    const reply = await other().exchange({ model: "main", thread: say("x"), keep: true })
    expect([reply.status, reply.headers.get("x-svc-warning")]).toEqual([200, "not_kept"])
  })

  describe("on a socket", () => {
    const open = ({ baseUrl, keyId, key }: ReturnType<typeof gateway>) =>
      openSocket(`${baseUrl}/t1/socket`, { "x-svc-key-id": keyId, "x-svc-key": key })
    type Socket = Awaited<ReturnType<typeof open>>
    let sent = 0
    /** @returns the last message of an exchange, and the gateway's id of it */
    const ask = async (socket: Socket, exchange: object) => {
      const id = `exchange-${++sent}`
      socket.send({ id, exchange: { model: "main", ...exchange } })
      const last = await socket.until(
        (message) =>
          message.id === id && (["t.close", "t.err"].includes(message.event ?? "") || message.status !== undefined),
      )
      const opened = socket.messages.find((message) => message.id === id && message.event === "t.open")
      return {
        id,
        last,
        text: JSON.stringify(last),
        requestId: String(/"(req_[\w-]{16})"/.exec(JSON.stringify(opened ?? last))?.[1]),
      }
    }

    it.each([true, false])("is kept and gone on from, also over HTTP; streamed: %s", async (stream) => {
      gateway().vendor.script(answering({ words: ["Blue", " it is"], inTokens: 10, outTokens: 5 }))
      const socket = await open(gateway())
      const first = await ask(socket, { thread: say("Remember the colour blue"), keep: true, stream })
      const second = await ask(socket, { thread: say("Which one?"), keep: true, after: first.requestId, stream })
      expect(second.text).not.toContain("error")
      await idOf(await exchange("main", "Again?", { after: second.requestId }))
      expect(JSON.stringify(gateway().vendor.calls.at(-1)?.body)).toMatch(
        /Remember the colour blue.*Blue it is.*Which one.*Blue it is.*Again/,
      )
      const erased = await gateway().call("DELETE", `/openai/v1/responses/${first.requestId}`)
      expect(erased.status).toBe(200)
      expect((await ask(socket, { thread: say("x"), after: second.requestId, stream })).text).toContain("not_found")
      socket.ws.close()
    })

    it("that another organisation kept is unknown, and so are odd ids", async () => {
      const first = await idOf(await exchange("main", "x"))
      const socket = await open(other())
      expect((await ask(socket, { thread: say("y"), after: first })).text).toContain("not_found")
      expect((await ask(socket, { thread: say("y"), after: "req_" })).text).toContain("of a kept reply")
      socket.ws.close()
    })

    it("of an organisation that keeps nothing is answered, with a warning", async () => {
      const socket = await open(other())
      const streamed = await ask(socket, { thread: say("x"), keep: true })
      const events = socket.messages.filter(({ id }) => id === streamed.id).map(({ event }) => event)
      expect([events[0], events.includes("t.warn")]).toEqual(["t.open", true])
      expect(JSON.stringify(socket.messages)).toContain("not_kept")
      const whole = await ask(socket, { thread: say("x"), keep: true, stream: false })
      expect(whole.last).toMatchObject({ headers: { "x-svc-warning": "not_kept" } })
      socket.ws.close()
    })

    it("is too large with what it goes on from", async () => {
      gateway().vendor.script(answering({ words: ["ok"], inTokens: 10, outTokens: 5 }))
      const first = await idOf(await exchange("claude", "a long text ".repeat(100_000), { params: { maxTokens: 10 } }))
      const socket = await open(gateway())
      expect((await ask(socket, { thread: say("x"), after: first })).text).toContain("payload_too_large")
      socket.ws.close()
    })
  })
})
