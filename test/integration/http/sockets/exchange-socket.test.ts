/** `GET /t1/socket`: many exchanges over one connection. */
import { connect } from "node:net"
import { setTimeout as sleep } from "node:timers/promises"
import { describe, expect, it } from "@effect/vitest"
import { Effect, Exit, Schema, Scope } from "effect"
import { ServerMessage } from "../../../../src/protocol/socket.ts"
import { type GatewayOptions, hello, startGateway, type TestGateway } from "../../../../src/testing/gateway.ts"
import { openaiChunk, openaiFrames } from "../../../../src/testing/vendor-replies.ts"
import { openSocket, RefusedUpgrade, type SocketMessage, type TestSocket } from "../../../support/socket-client.ts"

const headersOf = ({ keyId, key }: TestGateway) => ({ "x-svc-key-id": keyId, "x-svc-key": key })
const open = (gateway: TestGateway, more: Readonly<Record<string, string>> = {}) =>
  openSocket(`${gateway.baseUrl}/t1/socket`, { ...headersOf(gateway), ...more })

const withGateway = (use: (gateway: TestGateway) => Promise<void>, options: GatewayOptions = {}) =>
  Effect.scoped(
    Effect.flatMap(startGateway({ ...options, config: { ...longWords, ...options.config } }), (gateway) =>
      Effect.promise(() => use(gateway)),
    ),
  )
/** Vendors send more here than they were asked for. */
const longWords = { outputTokenBytes: 100_000 }

const ended =
  (id: string) =>
  ({ id: of, event }: SocketMessage) =>
    of === id && (event === "t.close" || event === "t.err")
const of = (socket: TestSocket, id: string) => socket.messages.filter((message) => message.id === id)
const textOf = (messages: ReadonlyArray<SocketMessage>) =>
  messages.flatMap(({ event, data }) => (event === "t.delta" && isText(data) ? [data.v] : [])).join("")
const isText = (data: unknown): data is { readonly v: string } =>
  typeof data === "object" && data !== null && "v" in data

/** A long answer in pieces of about 1000 bytes. */
const long = { words: Array.from({ length: 300 }, (_, at) => `${at} `.padEnd(1000, "x")), inTokens: 10, outTokens: 300 }

describe("GET /t1/socket", () => {
  it.live("gives the events of an exchange as they come over SSE", () =>
    withGateway(async (gateway) => {
      const socket = await open(gateway)
      socket.send({ id: "a", exchange: hello })
      await socket.until(ended("a"))
      const own = of(socket, "a")
      expect(own.map(({ event }) => event)).toEqual(["t.open", "t.delta", "t.delta", "t.delta", "t.usage", "t.close"])
      for (const message of own) expect(Schema.is(ServerMessage)(message)).toBe(true)
      const overHttp = await (await gateway.exchange({ ...hello, stream: true })).text()
      const data = overHttp.match(/^data: (.*)$/gm)?.map((line) => JSON.parse(line.slice(6)))
      const plain = (value: unknown) =>
        JSON.parse(JSON.stringify(value, (key, each) => (key === "requestId" || key === "balance" ? "" : each)))
      expect(plain(own.map((message) => message["data"]))).toEqual(plain(data))
      socket.ws.close()
    }),
  )

  it.live("gives a long prompt to the next vendor as it gave it to the first", () =>
    withGateway(async (gateway) => {
      gateway.vendor.script((call) => {
        call.head(503, { "content-type": "application/json" })
        call.end("{}")
      })
      const socket = await open(gateway)
      const text = `é\u2028"\\ ${"words of a river ".repeat(2400)}`
      const thread = [{ role: "user", blocks: [{ t: "text", v: text }] }]
      socket.send({ id: "a", exchange: { model: "pool", thread } })
      await socket.until(ended("a"))
      expect(of(socket, "a").at(-1)?.event).toBe("t.close")
      const [first, second] = [gateway.vendor, gateway.second].map(({ calls }) => calls.at(-1)?.body)
      expect(JSON.stringify(second)).toContain(JSON.stringify(text).slice(1, -1))
      expect({ ...second, model: "" }).toEqual({ ...first, model: "" })
      socket.ws.close()
    }),
  )

  it.live("runs many at once, and gives an id again that has ended", () =>
    withGateway(async (gateway) => {
      const socket = await open(gateway)
      const ids = Array.from({ length: 100 }, (_, at) => `x${at}`)
      for (const id of ids) socket.send({ id, exchange: hello })
      for (const id of ids) {
        await socket.until(ended(id))
        expect(textOf(of(socket, id))).toBe("Hello there")
      }
      socket.send({ id: "x0", exchange: hello })
      await socket.until(() => socket.messages.filter(ended("x0")).length === 2)
      socket.ws.close()
    }),
  )

  it.live("answers with one message what is not streamed, is repeated, or is a heartbeat", () =>
    withGateway(async (gateway) => {
      const socket = await open(gateway)
      const exchange = { ...hello, stream: false, meta: { requestId: "01JZZZZZZZZZZZZZZZZZZZZZZZ-1" } }
      socket.send({ id: "a", exchange })
      expect(await socket.until(({ id }) => id === "a")).toMatchObject({ status: 200, body: { stop: "end" } })
      socket.send({ id: "b", exchange })
      const again = await socket.until(({ id }) => id === "b")
      expect(again).toMatchObject({ status: 200, headers: { "x-svc-idempotent-replay": "1" }, body: { stop: "end" } })
      socket.send({ id: "c", heartbeat: { client: "cli" } })
      const beat = await socket.until(({ id }) => id === "c")
      expect(beat).toMatchObject({ status: 200, body: { licenseStatus: "none" } })
      socket.send({ id: "d", heartbeat: { sessionId: 5 } })
      expect(await socket.until(({ id }) => id === "d")).toMatchObject({
        event: "t.err",
        data: { code: "bad_request" },
      })
      for (const message of socket.messages) expect(Schema.is(ServerMessage)(message)).toBe(true)
      socket.ws.close()
    }),
  )

  it.live("sends what there is room for, and stops no other exchange", () =>
    withGateway(
      async (gateway) => {
        const socket = await open(gateway)
        socket.send({ id: "slow", exchange: { ...hello, params: { maxTokens: 400 } }, room: 5000 })
        await socket.until(({ id, event }) => id === "slow" && event === "t.delta")
        for (let at = 0; at < 5; at++) {
          socket.send({ id: `fast${at}`, exchange: hello })
          await socket.until(ended(`fast${at}`))
        }
        const sent = () => of(socket, "slow").reduce((sum, each) => sum + Buffer.byteLength(JSON.stringify(each)), 0)
        expect(sent()).toBeGreaterThan(5000)
        expect(sent()).toBeLessThan(5000 + 1100)
        socket.send({ id: "slow", room: 10_000 })
        await socket.until(() => sent() > 15_000)
        await sleep(50)
        expect(sent()).toBeLessThan(15_000 + 1100)
        socket.send({ id: "slow", room: 1_000_000 })
        await socket.until(ended("slow"))
        expect(textOf(of(socket, "slow"))).toBe(long.words.join(""))
        socket.ws.close()
      },
      { script: (call) => void writeAll(call, openaiFrames(long)), config: { streamBufferBytes: 4096 } },
    ),
  )

  it.live("does not blame a client with room for a vendor that pauses", () =>
    withGateway(
      async (gateway) => {
        const socket = await open(gateway)
        socket.send({ id: "a", exchange: hello, room: 1 })
        await socket.until(({ id }) => id === "a")
        socket.send({ id: "a", room: 1_000_000 })
        expect(await socket.until(ended("a"))).toMatchObject({ event: "t.close", data: { stop: "end" } })
        socket.ws.close()
      },
      {
        config: { streamStallMs: 200 },
        script: async (call) => {
          call.head()
          for (const frame of openaiFrames({ words: Array(10).fill("word "), inTokens: 1, outTokens: 10 })) {
            await call.write(frame)
            await call.wait(100)
          }
          await call.wait(700)
          call.end()
        },
      },
    ),
  )

  it.live("sends one message after the other, to the last, where room is given for one at a time", () =>
    withGateway(async (gateway) => {
      const socket = await open(gateway)
      socket.ws.on("message", (data: Buffer) => {
        socket.send({ id: "a", room: data.length })
      })
      socket.send({ id: "a", exchange: hello, room: 1 })
      expect(await socket.until(ended("a"))).toMatchObject({ event: "t.close" })
      const events = socket.messages.map(({ event }) => event)
      expect(events.filter((event) => event !== "t.delta")).toEqual(["t.open", "t.usage", "t.close"])
      socket.ws.close()
    }),
  )

  it.live("waits for a client that gives room in small pieces, and keeps the id until all is sent", () =>
    withGateway(
      async (gateway) => {
        const socket = await open(gateway)
        socket.send({ id: "a", exchange: hello, room: 1 })
        await socket.until(({ id }) => id === "a")
        for (let piece = 0; piece < 15; piece++) {
          socket.send({ id: "a", room: 1 })
          await sleep(50)
        }
        // The vendor has said everything, and most of it waits for room.
        socket.send({ id: "a", exchange: hello })
        expect(await socket.until(({ event }) => event === "t.err")).toMatchObject({ data: { code: "conflict" } })
        socket.send({ id: "a", room: 1_000_000 })
        expect(await socket.until(({ id, event }) => id === "a" && event === "t.close")).toMatchObject({
          data: { stop: "end" },
        })
        socket.ws.close()
      },
      {
        config: { streamStallMs: 300 },
        // All in one packet, so that the end has come while most of it waits.
        script: (call) => {
          const frames = openaiFrames({ words: Array(20).fill("word "), inTokens: 1, outTokens: 20 })
          return writeAll(call, [frames.join("")])
        },
      },
    ),
  )

  it.live("ends an exchange that gets no room in time, and leaves the others", () =>
    withGateway(
      async (gateway) => {
        const socket = await open(gateway)
        socket.send({ id: "stuck", exchange: hello, room: 1000 })
        expect(await socket.until(ended("stuck"))).toMatchObject({ data: { code: "stream_backpressure" } })
        await expect.poll(() => gateway.calls.open()).toBe(0)
        socket.send({ id: "next", exchange: hello })
        expect(await socket.until(ended("next"))).toMatchObject({ event: "t.close" })
        socket.ws.close()
      },
      {
        script: (call) => void writeAll(call, openaiFrames(long)),
        config: { streamStallMs: 200, streamBufferBytes: 4096 },
      },
    ),
  )

  it.live("gives every exchange whole to a client that reads nothing for a while", () =>
    withGateway(
      async (gateway) => {
        const socket = await open(gateway)
        socket.send({ id: "first", exchange: hello })
        await socket.until(({ id, event }) => id === "first" && event === "t.delta")
        // The client reads nothing for a while, and what waits is more than a stream may have waiting.
        socket.ws.pause()
        await sleep(300)
        const ids = Array.from({ length: 20 }, (_, at) => `later${at}`)
        for (const id of ids) socket.send({ id, exchange: hello })
        await sleep(500)
        socket.ws.resume()
        for (const id of ["first", ...ids])
          expect(await socket.until(ended(id)), id).toMatchObject({ event: "t.close" })
        socket.ws.close()
      },
      {
        script: (call) =>
          void writeAll(call, openaiFrames({ ...long, words: [...long.words, ...long.words, ...long.words] })),
        config: { streamBufferBytes: 16_384, streamStallMs: 5000 },
      },
    ),
  )

  it.live("loses a client that reads nothing, and settles what it had", () =>
    withGateway(
      async (gateway) => {
        const socket = await open(gateway)
        for (let at = 0; at < 10; at++) socket.send({ id: `x${at}`, exchange: hello })
        await socket.until(({ event }) => event === "t.delta")
        socket.ws.pause()
        await waitFor(() => gateway.calls.open() === 0)
        const rows = await Effect.runPromise(
          gateway.sql<{
            count: number
          }>`select count(*)::int as count from usage_records where org_id = ${gateway.orgId}`,
        )
        expect(rows[0]?.count).toBe(10)
        expect((await gateway.call("GET", "/healthz")).status).toBe(200)
        socket.ws.terminate()
      },
      {
        script: async (call) => {
          call.head()
          for (let at = 0; at < 20_000; at++) if (!(await call.write(openaiChunk("x".repeat(1000))))) return
          call.end()
        },
        config: { streamBufferBytes: 16_384, streamStallMs: 500 },
      },
    ),
  )

  it.live("ends one that is cancelled, bills it, and says so", () =>
    withGateway(
      async (gateway) => {
        const before = await balanceOf(gateway)
        const socket = await open(gateway)
        socket.send({ id: "a", exchange: hello })
        socket.send({ id: "b", exchange: hello })
        await socket.until(({ id, event }) => id === "a" && event === "t.delta")
        await socket.until(({ id, event }) => id === "b" && event === "t.delta")
        socket.send({ id: "a", cancel: true })
        await socket.until(({ id, cancelled }) => id === "a" && cancelled === true)
        expect(of(socket, "a").some(ended("a"))).toBe(false)
        expect(await balanceOf(gateway)).toBeLessThan(before)
        expect(of(socket, "b").some(ended("b"))).toBe(false)
        socket.send({ id: "nobody", cancel: true })
        socket.ws.close()
        await socket.closed
        await waitFor(() => gateway.calls.open() === 0)
        const rows = await Effect.runPromise(
          gateway.sql<{ estimated_reason: string }>`
            select estimated_reason from usage_records where org_id = ${gateway.orgId}`,
        )
        expect(rows.map((row) => row.estimated_reason)).toEqual(["client_disconnected", "client_disconnected"])
      },
      {
        script: async (call) => {
          call.head()
          for (let at = 0; at < 1000 && (await call.write(openaiChunk("word "))); at++) await call.wait(10)
        },
      },
    ),
  )

  it.live("refuses what is no message, and goes on", () =>
    withGateway(async (gateway) => {
      const socket = await open(gateway)
      const bad: ReadonlyArray<readonly [sent: string, told: RegExp]> = [
        ["not json", /not valid JSON/],
        ["null", /./],
        ["[]", /./],
        ['{"id":"a"}', /./],
        ['{"exchange":{}}', /./],
        ['{"id":"","exchange":{}}', /./],
        [JSON.stringify({ id: "x".repeat(65), exchange: {} }), /./],
        ['{"id":"a","exchange":{},"more":1}', /./],
        ['{"id":"a","cancel":false}', /./],
        ['{"id":"a","room":-1}', /./],
        ['{"id":"a","room":1e300}', /./],
        ["[".repeat(10_000), /./],
        ["[".repeat(100) + "]".repeat(100), /nested deeper/],
      ]
      for (const [text, told] of bad) {
        const count = socket.messages.length
        socket.ws.send(text)
        await socket.until(() => socket.messages.length > count)
        const last = socket.messages.at(-1)
        expect(last).toMatchObject({ event: "t.err", data: { code: "bad_request" } })
        expect(JSON.stringify(last)).toMatch(told)
        expect(last?.id).toBeUndefined()
      }
      // A problem of an exchange is reported under its id.
      socket.send({ id: "a", exchange: { model: "main" } })
      expect(await socket.until(ended("a"))).toMatchObject({ event: "t.err", data: { code: "bad_request" } })
      socket.send({ id: "b", exchange: { ...hello, model: "foreign" } })
      expect(await socket.until(ended("b"))).toMatchObject({ data: { code: "model_not_authorized" } })
      socket.send({ id: "c", exchange: hello })
      expect(await socket.until(ended("c"))).toMatchObject({ event: "t.close" })
      socket.ws.close()
    }),
  )

  it.live("carries 250 exchanges and 250 heartbeats at a time, and answers each of those beyond", () =>
    withGateway(
      async (gateway) => {
        const socket = await open(gateway)
        for (let at = 0; at < 260; at++) socket.send({ id: `x${at}`, exchange: hello })
        for (let at = 0; at < 2000; at++) socket.send({ id: `h${at}`, heartbeat: { client: "cli" } })
        const tooMany = { event: "t.err", data: { code: "rate_limited", detail: { scope: "socket" } } }
        for (let at = 250; at < 260; at++) {
          const refused = await socket.until(({ id }) => id === `x${at}`)
          expect(refused).toMatchObject(tooMany)
        }
        await socket.until(() => new Set(socket.messages.map(({ id }) => id)).size === 2260)
        const answers = socket.messages.filter(({ id }) => id?.startsWith("h"))
        expect(answers).toHaveLength(2000)
        const refused = answers.filter(({ status }) => status !== 200)
        expect(refused.length).toBeGreaterThan(0)
        for (const answer of refused) expect(answer).toMatchObject(tooMany)
        for (let at = 0; at < 250; at++) expect(await socket.until(ended(`x${at}`))).toMatchObject({ event: "t.close" })
        socket.send({ id: "again", heartbeat: { client: "cli" } })
        expect(await socket.until(({ id }) => id === "again")).toMatchObject({ status: 200 })
        socket.ws.close()
      },
      {
        script: async (call) => {
          await call.wait(500)
          await writeAll(call, openaiFrames({ words: ["Hello"], inTokens: 1, outTokens: 1 }))
        },
      },
    ),
  )

  it.live("refuses an id that is in use, without ending that exchange", () =>
    withGateway(
      async (gateway) => {
        const socket = await open(gateway)
        socket.send({ id: "a", exchange: hello })
        socket.send({ id: "a", exchange: hello })
        const refusal = await socket.until(({ event }) => event === "t.err")
        expect(refusal).toMatchObject({ data: { code: "conflict", detail: { id: "a" } } })
        expect(refusal.id).toBeUndefined()
        await socket.until(({ id, event }) => id === "a" && event === "t.close")
        socket.ws.close()
      },
      {
        script: async (call) => {
          await call.wait(100)
          call.head()
          for (const frame of openaiFrames(long)) await call.write(frame)
          call.end()
        },
      },
    ),
  )

  it.live("closes after a binary message, a text that is no UTF-8, and a message that is too large", () =>
    withGateway(
      async (gateway) => {
        const binary = await open(gateway)
        binary.ws.send(Buffer.from("{}"))
        expect(await binary.closed).toMatchObject({ code: 1003 })
        const garbled = await open(gateway)
        garbled.ws.send(Buffer.from([0xff, 0xfe]), { binary: false })
        expect(await garbled.closed).toMatchObject({ code: 1007 })
        const large = await open(gateway)
        large.ws.send("x".repeat(5000))
        expect(await large.closed).toMatchObject({ code: 1009 })
        // In many fragments too.
        const fragments = await open(gateway)
        for (let at = 0; at < 10; at++) fragments.ws.send("x".repeat(1000), { fin: false })
        expect(await fragments.closed).toMatchObject({ code: 1009 })
        expect((await gateway.exchange(hello)).status).toBe(200)
      },
      { config: { socketFrameBytes: 4096 } },
    ),
  )

  it.live("reads a message in fragments, between pings", () =>
    withGateway(async (gateway) => {
      const socket = await open(gateway)
      const text = JSON.stringify({ id: "a", exchange: hello })
      for (let at = 0; at < 1000; at++) socket.ws.ping()
      for (let at = 0; at < text.length; at += 3) {
        socket.ws.send(text.slice(at, at + 3), { fin: at + 3 >= text.length })
        socket.ws.ping()
      }
      await socket.until(ended("a"))
      expect(textOf(of(socket, "a"))).toBe("Hello there")
      socket.ws.close()
    }),
  )

  it.live("refuses an upgrade with the envelope, before it is made", () =>
    withGateway(async (gateway) => {
      const url = `${gateway.baseUrl}/t1/socket`
      const refusal = await openSocket(url).catch((error: unknown) => error)
      expect(refusal).toBeInstanceOf(RefusedUpgrade)
      expect(refusal).toMatchObject({ status: 401, error: { code: "app_key_invalid" } })
      const wrong = await openSocket(url, { ...headersOf(gateway), "x-svc-key": "wrong" }).catch((error) => error)
      expect(wrong).toMatchObject({ status: 401, error: { code: "app_key_invalid" } })
      const query = await openSocket(`${url}?key=${gateway.keyId}~${gateway.key}`).catch((error) => error)
      expect(query).toMatchObject({ status: 401 })
      const signed = await openSocket(url, { ...headersOf(gateway), "x-svc-sign": "0".repeat(64) }).catch(
        (error) => error,
      )
      expect(signed).toMatchObject({ status: 401, error: { code: "signature_invalid" } })
      // Without an upgrade it is an unknown route, and other routes take no notice of one.
      expect((await gateway.call("GET", "/t1/socket")).status).toBe(404)
      const other = await openSocket(`${gateway.baseUrl}/t1/config`, headersOf(gateway)).catch((error) => error)
      expect(other).toMatchObject({ status: 200 })
    }),
  )

  it.live("answers wrong handshakes with 400, and lives", () =>
    withGateway(async (gateway) => {
      const { hostname, port } = new URL(gateway.baseUrl)
      const raw = (lines: ReadonlyArray<string>) =>
        new Promise<string>((resolve) => {
          const socket = connect(Number(port), hostname)
          let text = ""
          socket.on("data", (chunk) => {
            text += chunk.toString("latin1")
          })
          socket.on("close", () => resolve(text))
          socket.on("error", () => resolve(text))
          socket.write(`${lines.join("\r\n")}\r\n\r\n`)
          setTimeout(() => socket.destroy(), 1000)
        })
      const good = [
        "GET /t1/socket HTTP/1.1",
        `host: ${hostname}`,
        "connection: Upgrade",
        "upgrade: websocket",
        `x-svc-key-id: ${gateway.keyId}`,
        `x-svc-key: ${gateway.key}`,
      ]
      const key = "sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ=="
      const version = "sec-websocket-version: 13"
      expect(await raw([...good, key, version])).toMatch(/^HTTP\/1\.1 101 /)
      expect(await raw([...good, version])).toMatch(/^HTTP\/1\.1 400 /)
      expect(await raw([...good, "sec-websocket-key: short", version])).toMatch(/^HTTP\/1\.1 400 /)
      expect(await raw([...good, key])).toMatch(/^HTTP\/1\.1 400 /)
      expect(await raw([...good, key, "sec-websocket-version: 7"])).toMatch(/^HTTP\/1\.1 400 /)
      expect(await raw([...good, key, version, "sec-websocket-protocol: a,,b"])).toMatch(/^HTTP\/1\.1 400 /)
      expect(await raw([good[0]?.replace("GET", "POST") ?? "", ...good.slice(1), key, version])).toMatch(
        /^HTTP\/1\.1 4/,
      )
      expect(await raw(["GET /t1/socket HTTP/1.1", ...good.slice(1, 3), "upgrade: h2c", ...good.slice(4)])).toMatch(
        /^HTTP\/1\.1 400 /,
      )
      expect((await gateway.exchange(hello)).status).toBe(200)
    }),
  )

  it.live("takes an end user's token from a subprotocol, and from a header", () =>
    withGateway(async (gateway) => {
      const minted = await gateway.call("POST", "/v1/app-tokens", { endUserId: "u1", ttlSeconds: 300 })
      const { token } = Schema.decodeUnknownSync(Schema.Struct({ token: Schema.String }))(await minted.json())
      const socket = await openSocket(`${gateway.baseUrl}/t1/socket`, {}, ["twp.1", `x-svc-app-token.${token}`])
      expect(socket.ws.protocol).toBe("twp.1")
      socket.send({ id: "a", exchange: hello })
      expect(await socket.until(ended("a"))).toMatchObject({ event: "t.close" })
      socket.ws.close()
    }),
  )

  it.live("asks who calls before each exchange", () =>
    withGateway(async (gateway) => {
      const socket = await open(gateway)
      socket.send({ id: "a", exchange: hello })
      await socket.until(ended("a"))
      const admin = { authorization: `Bearer ${gateway.adminKey}`, "x-svc-admin-key": gateway.adminKey }
      const revoked = await gateway.call("POST", `/v1/admin/keys/${gateway.keyId}/revoke`, undefined, admin)
      expect(revoked.status).toBeLessThan(300)
      socket.send({ id: "b", exchange: hello })
      expect(await socket.until(ended("b"))).toMatchObject({ data: { code: "app_key_invalid" } })
      socket.ws.close()
    }),
  )

  it.live("has a limit of sockets, which leaves requests alone", () =>
    withGateway(
      async (gateway) => {
        const first = await open(gateway)
        const second = await open(gateway)
        const third = await open(gateway).catch((error: unknown) => error)
        expect(third).toMatchObject({ status: 429, error: { code: "rate_limited" } })
        expect((await gateway.exchange(hello)).status).toBe(200)
        first.ws.close()
        await first.closed
        await waitFor(async () => {
          const next = await open(gateway).catch(() => undefined)
          next?.ws.close()
          return next !== undefined
        })
        second.ws.close()
      },
      { config: { socketsMax: 2 } },
    ),
  )

  it.live("drains: nothing new, what runs ends whole, then 1012", () =>
    Effect.promise(async () => {
      const scope = Scope.makeUnsafe()
      const gateway = await Effect.runPromise(
        Scope.provide(
          startGateway({
            script: async (call) => {
              call.head()
              for (const frame of openaiFrames({
                words: Array.from({ length: 20 }, () => "w "),
                inTokens: 1,
                outTokens: 20,
              })) {
                await call.write(frame)
                await call.wait(20)
              }
              call.end()
            },
          }),
          scope,
        ),
      )
      const idle = await open(gateway)
      const socket = await open(gateway)
      socket.send({ id: "a", exchange: hello })
      await socket.until(({ event }) => event === "t.delta")
      const stopped = Effect.runPromise(Scope.close(scope, Exit.void))
      expect(await idle.closed).toMatchObject({ code: 1012 })
      socket.send({ id: "b", exchange: hello })
      expect(await socket.until(({ id, event }) => id === "b" && event === "t.err")).toMatchObject({
        data: { code: "internal_error", detail: { retryable: true } },
      })
      await socket.until(({ id, event }) => id === "a" && event === "t.close")
      expect(await socket.closed).toMatchObject({ code: 1012 })
      await stopped
    }),
  )
})

const writeAll = async (
  call: { readonly head: () => void; readonly write: (text: string) => Promise<boolean>; readonly end: () => void },
  frames: ReadonlyArray<string>,
) => {
  call.head()
  for (const frame of frames) if (!(await call.write(frame))) return
  call.end()
}

const waitFor = async (is: () => boolean | Promise<boolean>) => {
  for (let at = 0; at < 200; at++) {
    if (await is()) return
    await sleep(25)
  }
  expect.fail("it did not become true")
}

const balanceOf = async (gateway: TestGateway): Promise<number> =>
  Number((await Effect.runPromise(gateway.ledger.balance(gateway.orgId, "USD"))).toString())
