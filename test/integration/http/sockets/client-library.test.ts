/** `@weir-gateway/client` over sockets. */
import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { connect, WeirRefused, WeirUnreachable } from "../../../../src/client/index.ts"
import type { SocketEvent, SocketLike } from "../../../../src/client/socket-like.ts"
import { hello } from "../../../../src/testing/gateway.ts"
import { answeringRealtime, realtimeUsage } from "../../../../src/testing/scripted-realtime.ts"
import type { VendorScript } from "../../../../src/testing/scripted-vendor.ts"
import { openaiFrames } from "../../../../src/testing/vendor-replies.ts"
import { type RealtimeGateway, startRealtimeGateway } from "../../../support/realtime-gateway.ts"

const spoken = { words: ["Hello"], audioBytes: 960, parts: 2, usage: realtimeUsage(10, 20, 5, 40) }

type Options = Parameters<typeof startRealtimeGateway>[1]
const withClient = (use: (test: RealtimeGateway) => Promise<void>, options: Options = {}) =>
  Effect.scoped(
    Effect.flatMap(
      startRealtimeGateway(answeringRealtime(spoken), {
        ...options,
        config: { outputTokenBytes: 10_000, ...options.config },
      }),
      (test) => Effect.promise(() => use(test)),
    ),
  )
const pairOf = ({ gateway: { baseUrl, keyId, key } }: RealtimeGateway) => ({ baseUrl, credentials: { keyId, key } })

/** More than the room that an exchange has at a time. */
const long = { words: Array.from({ length: 600 }, (_, at) => `${at} `.padEnd(1000, "x")), inTokens: 10, outTokens: 600 }
/** Waits for its reader, and ends when that has left. */
const streaming =
  (words: ReadonlyArray<string>): VendorScript =>
  async (call) => {
    call.head()
    for (const frame of openaiFrames({ ...long, words })) if (!(await call.write(frame))) return
    call.end()
  }

/** A socket that is open at once, and answers each message with an id. */
const answeringSocket = (answer: (id: string) => string): SocketLike => {
  const listeners = new Map<string, (event: SocketEvent) => void>()
  const tell = (type: string, event: SocketEvent) => queueMicrotask(() => listeners.get(type)?.(event))
  return {
    send: (text) => tell("message", { data: answer(JSON.parse(text).id) }),
    close: (code = 1005) => tell("close", { code }),
    addEventListener: (type, listen) => {
      const before = listeners.get(type)
      listeners.set(type, (event) => {
        before?.(event)
        listen(event)
      })
      if (type === "open") tell("open", {})
    },
  }
}

describe("connect(…).socket()", () => {
  it.live("has exchanges, streams and text over one connection", () =>
    withClient(async (test) => {
      const socket = await connect(pairOf(test)).socket()
      expect(test.gateway.calls.hasRun()).toBe(false)
      const [whole, ...texts] = await Promise.all([
        socket.exchange(hello),
        ...Array.from({ length: 20 }, async () => {
          let text = ""
          for await (const part of socket.text(hello)) text += part
          return text
        }),
      ])
      expect(whole).toMatchObject({ stop: "end", blocks: [{ t: "text", v: "Hello there" }] })
      expect(texts).toEqual(Array.from({ length: 20 }, () => "Hello there"))
      const events = []
      for await (const { event, id } of socket.stream(hello)) events.push(`${id} ${event}`)
      expect(events).toEqual(["0 t.open", "1 t.delta", "2 t.delta", "3 t.delta", "4 t.usage", "5 t.close"])
      await expect(socket.exchange({ ...hello, model: "foreign" })).rejects.toMatchObject({
        code: "model_not_authorized",
      })
      await expect(socket.exchange({ ...hello, model: "foreign" })).rejects.toBeInstanceOf(WeirRefused)
      await socket.close()
      await expect(socket.exchange(hello)).rejects.toBeInstanceOf(WeirUnreachable)
      await expect.poll(() => test.gateway.calls.open()).toBe(0)
      expect(test.gateway.calls.hasRun()).toBe(true)
    }),
  )

  it.live("gives room as it reads, and cancels what is not read to its end", () =>
    withClient(
      async (test) => {
        const socket = await connect(pairOf(test)).socket()
        let text = ""
        for await (const part of socket.text(hello)) text += part
        expect(text).toBe(long.words.join(""))
        for await (const part of socket.text(hello)) {
          expect(part).not.toBe("")
          break
        }
        await expect.poll(() => test.gateway.calls.open()).toBe(0)
        expect((await test.records()).map((row) => row.estimated_reason).sort()).toEqual(["client_disconnected", null])
        await socket.close()
      },
      {
        script: streaming(long.words),
      },
    ),
  )

  it.live("gives room in bytes, of which a character may be three", () =>
    withClient(
      async (test) => {
        const socket = await connect(pairOf(test)).socket()
        let text = ""
        for await (const part of socket.text(hello)) text += part
        expect(text).toBe("水".repeat(600_000))
        await socket.close()
      },
      {
        config: { streamStallMs: 3000 },
        script: streaming(Array.from({ length: 600 }, () => "水".repeat(1000))),
      },
    ),
  )

  it.each([
    [
      {
        status: 403,
        body: { error: { code: "content_blocked", message: "no", requestId: "r", detail: { reason: "x" } } },
      },
      { _tag: "WeirRefused", code: "content_blocked", status: 403, detail: { reason: "x" } },
    ],
    [
      { status: 202, body: { status: "in_progress", requestId: "mine", retryAfterMs: 500 } },
      { _tag: "WeirStillRunning", requestId: "mine" },
    ],
    [{ status: 200, body: { surprise: true } }, { _tag: "WeirUnreadable" }],
  ])("rejects with what was answered: %j", async (reply, failure) => {
    const socket = await connect({
      baseUrl: "http://gateway",
      credentials: { keyId: "k", key: "s" },
      webSocket: () => answeringSocket((id) => JSON.stringify({ id, headers: {}, ...reply })),
    }).socket()
    await expect(socket.exchange(hello)).rejects.toMatchObject(failure)
    await socket.close()
  })

  it.live("takes an end user's token, and rejects what is refused", () =>
    withClient(async (test) => {
      const { token } = await connect(pairOf(test)).mintAppToken({ endUserId: "u1" })
      const { baseUrl } = test.gateway
      const socket = await connect({ baseUrl, credentials: { appToken: token } }).socket()
      expect(await socket.exchange(hello)).toMatchObject({ stop: "end" })
      await socket.close()
      await expect(connect({ baseUrl, credentials: { appToken: "a.b.c" } }).socket()).rejects.toBeInstanceOf(
        WeirUnreachable,
      )
      await expect(
        connect({ baseUrl: "http://127.0.0.1:9", credentials: { appToken: "a.b.c" } }).socket(),
      ).rejects.toBeInstanceOf(WeirUnreachable)
    }),
  )
})

describe("connect(…).realtime()", () => {
  it.live("has the events of a session", () =>
    withClient(async (test) => {
      const realtime = await connect(pairOf(test)).realtime("voice")
      const types: Array<string> = []
      for await (const event of realtime) {
        types.push(event.type)
        if (event.type === "session.created") realtime.send({ type: "response.create" })
        if (event.type === "response.done") break
      }
      expect(types).toEqual([
        "session.created",
        "response.created",
        "response.output_audio_transcript.delta",
        "response.output_audio.delta",
        "response.output_audio.delta",
        "response.done",
      ])
      await realtime.close()
      await expect.poll(async () => (await test.records()).length).toBe(1)
      await expect(connect(pairOf(test)).realtime("main")).rejects.toBeInstanceOf(WeirUnreachable)
    }),
  )
})
