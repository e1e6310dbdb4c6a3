/** OpenAI's Responses over a WebSocket: one conversation, each response an exchange. */
import { describe, expect, it } from "@effect/vitest"
import { Effect, Exit, Scope } from "effect"
import { type GatewayOptions, startGateway, type TestGateway } from "../../../../src/testing/gateway.ts"
import { answering, openaiFrames } from "../../../../src/testing/vendor-replies.ts"
import { openSocket, type SocketMessage, type TestSocket } from "../../../support/socket-client.ts"

const open = ({ baseUrl, keyId, key }: TestGateway, headers: Readonly<Record<string, string>> = {}) =>
  openSocket(`${baseUrl}/openai/v1/responses`, { authorization: `Bearer ${keyId}~${key}`, ...headers })

const withGateway = (use: (gateway: TestGateway) => Promise<void>, options: GatewayOptions = {}) =>
  Effect.scoped(Effect.flatMap(startGateway(options), (gateway) => Effect.promise(() => use(gateway))))

const create = (input: unknown, more: object = {}) => ({ type: "response.create", model: "main", input, ...more })
const isEnd = ({ type }: SocketMessage) =>
  type === "response.completed" || type === "error" || type === "response.failed"
const ended = async (socket: TestSocket, count = 1) => {
  await socket.until(() => socket.messages.filter(isEnd).length >= count)
  return socket.messages.filter(isEnd)[count - 1] ?? {}
}
const idOf = (message: SocketMessage) => String((message["response"] as { readonly id?: string } | undefined)?.id)
const records = (gateway: TestGateway) =>
  Effect.runPromise(
    gateway.sql<{ ref: string; session_id: string | null; in_tokens: number }>`
      select ref, session_id, in_tokens from usage_records where org_id = ${gateway.orgId} order by at`,
  )

describe("GET /openai/v1/responses", () => {
  it.live("gives the same events as over SSE", () =>
    withGateway(async (gateway) => {
      const socket = await open(gateway)
      socket.send(create("Hello"))
      await ended(socket)
      const overHttp = await gateway.call(
        "POST",
        "/openai/v1/responses",
        { model: "main", input: "Hello", stream: true },
        { "x-svc-key-id": undefined, "x-svc-key": undefined, authorization: `Bearer ${gateway.keyId}~${gateway.key}` },
      )
      const events = (await overHttp.text()).match(/^data: (.*)$/gm)?.map((line) => JSON.parse(line.slice(6)))
      const plain = (value: unknown) =>
        JSON.parse(
          JSON.stringify(value, (key, each) => (key === "created_at" || key === "balance" ? 0 : each)).replaceAll(
            /(resp|msg|rs|fc)_[\w-]+/g,
            "$1",
          ),
        )
      expect(plain(socket.messages)).toEqual(plain(events))
      expect(socket.messages.map(({ type }) => type).slice(0, 2)).toEqual(["response.created", "response.in_progress"])
      expect(await records(gateway)).toHaveLength(2)
      socket.ws.close()
    }),
  )

  it.live("goes on from its last response, which the vendor gets whole", () =>
    withGateway(async (gateway) => {
      const socket = await open(gateway, { "x-svc-session-id": "01JZZZZZZZZZZZZZZZZZZZZZZZ" })
      socket.send(create("First", { instructions: "Be short." }))
      const first = await ended(socket)
      socket.send(create([{ type: "message", role: "user", content: "Second" }], { previous_response_id: idOf(first) }))
      const second = await ended(socket, 2)
      socket.send(create("Third", { previous_response_id: idOf(second) }))
      await ended(socket, 3)
      const sent = gateway.vendor.calls.map(
        ({ body }) => body["messages"] as ReadonlyArray<{ role: string; content: unknown }>,
      )
      expect(sent.map((messages) => messages.map(({ role }) => role))).toEqual([
        ["system", "user"],
        ["user", "assistant", "user"],
        ["user", "assistant", "user", "assistant", "user"],
      ])
      expect(JSON.stringify(sent[2])).toMatch(/First.*Hello there.*Second.*Hello there.*Third/)
      // Not from an older one, nor from one of another connection.
      socket.send(create("x", { previous_response_id: idOf(first) }))
      expect(await ended(socket, 4)).toMatchObject({
        type: "error",
        status: 400,
        error: { code: "previous_response_not_found", param: "previous_response_id", type: "invalid_request_error" },
      })
      expect(await records(gateway)).toHaveLength(3)
      expect(new Set((await records(gateway)).map((row) => row.session_id))).toEqual(
        new Set(["01JZZZZZZZZZZZZZZZZZZZZZZZ"]),
      )
      socket.ws.close()
    }),
  )

  it.live("remembers what is not to be answered yet, and bills nothing for it", () =>
    withGateway(async (gateway) => {
      const socket = await open(gateway)
      socket.send(create("Context", { generate: false }))
      const warmed = await ended(socket)
      expect(warmed).toMatchObject({ response: { status: "completed", output: [] } })
      expect(gateway.vendor.calls).toHaveLength(0)
      socket.send(create("Question", { previous_response_id: idOf(warmed) }))
      await ended(socket, 2)
      expect(JSON.stringify(gateway.vendor.calls[0]?.body["messages"])).toMatch(/Context.*Question/)
      expect(await records(gateway)).toHaveLength(1)
      socket.ws.close()
    }),
  )

  it.live("forgets a conversation for which there is no room", () =>
    withGateway(
      async (gateway) => {
        const first = await open(gateway)
        first.send(create("x".repeat(3000)))
        const kept = await ended(first)
        const second = await open(gateway)
        second.send(create("y".repeat(3000)))
        const lost = await ended(second)
        second.send(create("And?", { previous_response_id: idOf(lost) }))
        expect(await ended(second, 2)).toMatchObject({ error: { code: "previous_response_not_found" } })
        first.send(create("And?", { previous_response_id: idOf(kept) }))
        expect(await ended(first, 2)).toMatchObject({ type: "response.completed" })
        first.ws.close()
        await first.closed
        second.send(create("z".repeat(3000)))
        const next = await ended(second, 3)
        second.send(create("And?", { previous_response_id: idOf(next) }))
        expect(await ended(second, 4)).toMatchObject({ type: "response.completed" })
        second.ws.close()
      },
      { config: { largeBodyBytes: 5000 } },
    ),
  )

  it.live("answers one after the other", () =>
    withGateway(
      async (gateway) => {
        const socket = await open(gateway)
        for (let at = 0; at < 5; at++) socket.send(create(`turn ${at}`))
        await ended(socket, 5)
        const kinds = socket.messages
          .map(({ type }) => type)
          .filter((type) => type === "response.created" || type === "response.completed")
        expect(kinds).toEqual(Array.from({ length: 5 }, () => ["response.created", "response.completed"]).flat())
        for (let at = 0; at < 20; at++) socket.send(create(`turn ${at}`))
        await ended(socket, 5 + 20)
        expect(socket.messages.filter(({ type }) => type === "error")).toHaveLength(3)
        socket.ws.close()
      },
      {
        script: async (call) => {
          await call.wait(20)
          call.head()
          for (const frame of openaiFrames({ words: ["a"], inTokens: 1, outTokens: 1 })) await call.write(frame)
          call.end()
        },
      },
    ),
  )

  it.live("tells what is wrong in an event, and goes on", () =>
    withGateway(async (gateway) => {
      const socket = await open(gateway)
      const bad: ReadonlyArray<readonly [sent: unknown, status: number, param: string | null]> = [
        [[], 400, null],
        [{ type: "session.update" }, 400, "type"],
        [{}, 400, "type"],
        [create("x", { generate: "no" }), 400, "generate"],
        [create(5), 400, "input"],
        [create("x", { previous_response_id: "resp_nothing" }), 400, "previous_response_id"],
        [create("x", { conversation: "conv_1" }), 400, "conversation"],
        [create("x", { unknown_field: 1 }), 400, "unknown_field"],
        [create("x", { max_output_tokens: -1 }), 400, "max_output_tokens"],
        [create("x", { model: "foreign" }), 403, null],
      ]
      for (const [at, [sent, status, param]] of bad.entries()) {
        socket.send(sent)
        expect(await ended(socket, at + 1), JSON.stringify(sent)).toMatchObject({
          type: "error",
          status,
          error: { param },
        })
      }
      socket.ws.send("no json")
      expect(await ended(socket, bad.length + 1)).toMatchObject({ type: "error", status: 400 })
      socket.send(create("Hello"))
      expect(await ended(socket, bad.length + 2)).toMatchObject({ type: "response.completed" })
      socket.ws.close()
    }),
  )

  it.live("settles a response whose client leaves", () =>
    withGateway(
      async (gateway) => {
        const socket = await open(gateway)
        socket.send(create("Hello"))
        await socket.until(({ type }) => type === "response.output_text.delta")
        socket.ws.terminate()
        await expect.poll(async () => (await records(gateway)).length).toBe(1)
        await expect.poll(() => gateway.calls.open()).toBe(0)
      },
      {
        script: async (call) => {
          call.head()
          for (const frame of openaiFrames({
            words: Array.from({ length: 500 }, () => "w "),
            inTokens: 1,
            outTokens: 500,
          })) {
            if (!(await call.write(frame))) return
            await call.wait(10)
          }
        },
      },
    ),
  )

  it.live("is refused before the upgrade in the words of the API, and an ordinary request stays one", () =>
    withGateway(async (gateway) => {
      const refusal = await open(gateway, { authorization: "Bearer a~b" }).catch((error: unknown) => error)
      expect(refusal).toMatchObject({ status: 401, error: { type: "authentication_error" } })
      const query = await openSocket(
        `${gateway.baseUrl}/openai/v1/responses?key=${gateway.keyId}~${gateway.key}`,
      ).catch((error: unknown) => error)
      expect(query).toMatchObject({ status: 401, error: { code: "unauthorized" } })
      expect((await gateway.call("GET", "/openai/v1/responses")).status).toBe(404)
    }),
  )

  it.live("drains: the running response ends whole, then 1012", () =>
    Effect.promise(async () => {
      const scope = Scope.makeUnsafe()
      const gateway = await Effect.runPromise(
        Scope.provide(startGateway({ script: answering({ words: ["Hello"], inTokens: 1, outTokens: 1 }) }), scope),
      )
      const socket = await open(gateway)
      socket.send(create("Hello"))
      await ended(socket)
      const stopped = Effect.runPromise(Scope.close(scope, Exit.void))
      expect(await socket.closed).toMatchObject({ code: 1012 })
      await stopped
    }),
  )
})
