/** Realtime sessions: money, limits, and how they end. */
import { setTimeout as sleep } from "node:timers/promises"
import { describe, expect, it } from "@effect/vitest"
import { Effect, Exit, Schema, Scope } from "effect"
import { vi } from "vitest"
import { SessionMeter } from "../../../../src/kinds/realtime/meter.ts"
import { noTokens } from "../../../../src/money/pricing.ts"
import { OpenExchanges } from "../../../../src/protocol/control/exchange-log.ts"
import { dayMs } from "../../../../src/protocol/values/instant.ts"
import { dayOf } from "../../../../src/protocol/values/utc8.ts"
import {
  answeringRealtime,
  type RealtimeScript,
  type RealtimeVendorSession,
  realtimeUsage,
  responseEvents,
} from "../../../../src/testing/scripted-realtime.ts"
import { eventually } from "../../../support/gateway.ts"
import { type RealtimeGateway, startRealtimeGateway } from "../../../support/realtime-gateway.ts"
import { openSocket, type SocketMessage, type TestSocket } from "../../../support/socket-client.ts"

type Options = Parameters<typeof startRealtimeGateway>[1]

const spoken = { words: ["Hello", " there"], audioBytes: 960, parts: 3, usage: realtimeUsage(20, 30, 10, 40, 8) }
/** (12 full text + 30 sound + 8 cached) in, (10 text + 40 sound) out. */
const spokenCost = (12 * 4 + 30 * 32 + 8 * 0.4 + 10 * 16 + 40 * 64) / 1e6

const withSession = (script: RealtimeScript, use: (test: RealtimeGateway) => Promise<void>, options: Options = {}) =>
  Effect.scoped(Effect.flatMap(startRealtimeGateway(script, options), (test) => Effect.promise(() => use(test))))

const created = { type: "session.created", event_id: "event_0", session: { type: "realtime", id: "sess_1" } }
const isType = (type: string) => (message: SocketMessage) => message.type === type
const errorOf = (message: SocketMessage) => message["error"]
const done = (socket: TestSocket, count = 1) =>
  socket.until(() => socket.messages.filter(isType("response.done")).length >= count)
const rejected = (opening: Promise<unknown>) =>
  opening.then(
    () => expect.fail("the upgrade was accepted"),
    (error: unknown) => error,
  )

/** Sends the events that begin a response; each further step is made by a call. */
const stepping = () => {
  let session: RealtimeVendorSession | undefined
  const script: RealtimeScript = (opened) => {
    session = opened
    opened.send(created)
  }
  return {
    script,
    at: async () => {
      await expect.poll(() => session).toBeDefined()
      if (session === undefined) throw new Error("no session")
      return session
    },
  }
}

describe("money of a realtime session", () => {
  it.live("is held before a response is asked for, and settled with the vendor's counts", () => {
    const vendor = stepping()
    return withSession(vendor.script, async ({ open, records, held, gateway }) => {
      expect(await held()).toBe(0n)
      const socket = await open()
      await socket.until(isType("session.created"))
      const first = await held()
      // A minute of sound that the client may add, and the longest answer, in sound.
      expect(Number(first) / 1e10).toBeGreaterThan((600 * 32 + 4096 * 64) / 1e6)
      socket.send({ type: "response.create" })
      const session = await vendor.at()
      await session.next("response.create")
      expect(await held()).toBeGreaterThanOrEqual(first)
      expect(await records()).toEqual([])
      for (const event of responseEvents("resp_1", spoken)) session.send(event)
      await done(socket)
      await expect.poll(async () => (await records()).length).toBe(1)
      const [row] = await records()
      expect(row).toMatchObject({
        purpose: "realtime",
        model: "voice",
        vendor: "voices",
        estimated_reason: null,
        stop: "end",
        dims: { audio_in: 30, audio_out: 40 },
      })
      expect([Number(row?.in_tokens), Number(row?.out_tokens), Number(row?.cache_read_tokens)]).toEqual([42, 50, 8])
      expect(Number(row?.cost)).toBeCloseTo(spokenCost, 10)
      socket.ws.close()
      await expect.poll(held).toBe(0n)
      expect(Number(await Effect.runPromise(gateway.ledger.balance(gateway.orgId, "USD"))) / 1e10).toBeCloseTo(
        1000 - spokenCost,
        9,
      )
    })
  })

  it.live("takes as much sound and as large a picture at once as the API does", () => {
    const vendor = stepping()
    return withSession(vendor.script, async ({ open }) => {
      const socket = await open()
      await socket.until(isType("session.created"))
      const session = await vendor.at()
      const audio = Buffer.alloc(15 * 1024 * 1024).toString("base64")
      socket.send({ type: "input_audio_buffer.append", audio })
      expect(String((await session.next("input_audio_buffer.append"))?.["audio"]).length).toBe(audio.length)
      const image_url = `data:image/png;base64,${"A".repeat(2_000_000)}`
      const item = { type: "message", role: "user", content: [{ type: "input_image", image_url }] }
      socket.send({ type: "conversation.item.create", item })
      expect(await session.next("conversation.item.create")).toMatchObject({ item })
      socket.ws.close()
    })
  })

  it.live("ends with 1009 if a message is larger than the gateway takes", () =>
    withSession(
      answeringRealtime(spoken),
      async ({ open }) => {
        const socket = await open()
        socket.send({ type: "input_audio_buffer.append", audio: "A".repeat(5000) })
        expect(await socket.closed).toMatchObject({ code: 1009 })
      },
      { config: { realtimeFrameBytes: 4096 } },
    ),
  )

  it.live("has one record a response, all with the session's id", () =>
    withSession(answeringRealtime(spoken), async ({ open, records, held, gateway }) => {
      const socket = await open()
      for (let at = 1; at <= 5; at++) {
        socket.send({ type: "response.create" })
        await done(socket, at)
      }
      const other = await open()
      other.send({ type: "response.create" })
      await done(other)
      await expect.poll(async () => (await records()).length).toBe(6)
      const rows = await records()
      expect(new Set(rows.map((row) => row.session_id)).size).toBe(2)
      expect(new Set(rows.map((row) => row.ref)).size).toBe(6)
      socket.ws.close()
      other.ws.close()
      await expect.poll(held).toBe(0n)
      await expect.poll(() => gateway.calls.services.leased.size).toBe(0)
    }),
  )

  it.live("takes the caller's own session and purpose from headers", () =>
    withSession(answeringRealtime(spoken), async ({ open, records }) => {
      const socket = await open("model=voice", {
        "x-svc-session-id": "01JZZZZZZZZZZZZZZZZZZZZZZZ",
        "x-svc-purpose": "support",
      })
      socket.send({ type: "response.create" })
      await done(socket)
      await expect
        .poll(async () => (await records())[0])
        .toMatchObject({
          session_id: "01JZZZZZZZZZZZZZZZZZZZZZZZ",
          purpose: "support",
        })
      socket.ws.close()
    }),
  )

  it.live("refuses a session that its balance does not cover, before the vendor is asked", () =>
    withSession(
      answeringRealtime(spoken),
      async ({ open, vendor }) => {
        const refusal = await rejected(open())
        expect(refusal).toMatchObject({
          status: 402,
          error: { code: "insufficient_balance", type: "insufficient_quota" },
        })
        expect(vendor.sessions).toHaveLength(0)
      },
      { topup: "0.01" },
    ),
  )

  it.live("ends a session when the next response is not covered: the running one whole, then an error and 1008", () =>
    withSession(
      answeringRealtime({ ...spoken, usage: realtimeUsage(20, 3000, 10, 4000) }),
      async ({ open, records, held }) => {
        const socket = await open()
        socket.send({ type: "response.create" })
        await done(socket)
        socket.send({ type: "response.create", event_id: "mine" })
        const error = await socket.until(isType("error"))
        expect(errorOf(error)).toMatchObject({ code: "insufficient_balance" })
        expect(await socket.closed).toMatchObject({ code: 1008 })
        expect(await records()).toHaveLength(1)
        await expect.poll(held).toBe(0n)
      },
      { topup: "0.5" },
    ),
  )

  it.live("ends one whose vendor answers by itself, at the next sound", () => {
    const vendor = stepping()
    return withSession(
      vendor.script,
      async ({ open, held }) => {
        const socket = await open()
        const session = await vendor.at()
        const usage = realtimeUsage(20, 3000, 10, 4000)
        for (const event of responseEvents("resp_1", { ...spoken, usage })) session.send(event)
        await done(socket)
        for (let at = 0; at < 50 && socket.ws.readyState === 1; at++) {
          socket.send({ type: "input_audio_buffer.append", audio: Buffer.alloc(960).toString("base64") })
          await sleep(20)
        }
        expect(await socket.closed).toMatchObject({ code: 1008 })
        expect(errorOf(socket.messages.find(isType("error")) ?? {})).toMatchObject({ code: "insufficient_balance" })
        await expect.poll(held).toBe(0n)
      },
      { topup: "0.5" },
    )
  })

  it.live("estimates a response without usage, and one whose usage cannot be true", () => {
    const vendor = stepping()
    return withSession(vendor.script, async ({ open, records }) => {
      const socket = await open()
      const session = await vendor.at()
      socket.send({ type: "input_audio_buffer.append", audio: Buffer.alloc(48_000 * 2).toString("base64") })
      await session.next("input_audio_buffer.append")
      const second = Buffer.alloc(48_000).length
      for (const event of responseEvents("resp_1", { words: ["four"], audioBytes: second, parts: 2 }))
        session.send(event)
      await expect.poll(async () => (await records()).length).toBe(1)
      const [row] = await records()
      // Two seconds in at 10 tokens each, two out at 20.
      expect(row).toMatchObject({ estimated_reason: "upstream_usage_missing", dims: { audio_in: 20, audio_out: 40 } })
      const usage = realtimeUsage(1, 1, 1, 50_000)
      for (const event of responseEvents("resp_2", { words: ["four"], usage })) session.send(event)
      await expect.poll(async () => (await records()).length).toBe(2)
      const later = (await records()).find((each) => each.estimated_reason === "upstream_usage_implausible")
      expect(Number(later?.out_tokens)).toBeLessThan(10)
      socket.ws.close()
    })
  })

  it.live("does not bill a response that failed, or was cancelled, before it said anything", () => {
    const vendor = stepping()
    return withSession(vendor.script, async ({ open, records, held }) => {
      const socket = await open()
      const session = await vendor.at()
      for (const [at, status] of ["failed", "cancelled"].entries()) {
        session.send({ type: "response.created", response: { id: `resp_${at}` } })
        session.send({ type: "response.done", response: { id: `resp_${at}`, status, usage: null } })
      }
      await done(socket, 2)
      await sleep(50)
      expect(await records()).toEqual([])
      socket.ws.close()
      await expect.poll(held).toBe(0n)
    })
  })

  it.live("bills zero where the vendor says zero", () => {
    const vendor = stepping()
    return withSession(vendor.script, async ({ open, records }) => {
      const socket = await open()
      const session = await vendor.at()
      for (const event of responseEvents("resp_1", { words: ["a"], usage: realtimeUsage(0, 0, 5, 0) }))
        session.send(event)
      await expect.poll(async () => (await records()).length).toBe(1)
      const [row] = await records()
      expect([Number(row?.in_tokens), Number(row?.out_tokens), row?.estimated_reason]).toEqual([0, 5, null])
      socket.ws.close()
    })
  })

  it.live("is counted on the day on which a response begins, though its hold was ready the day before", () => {
    const vendor = stepping()
    return withSession(vendor.script, async ({ open, records, held, gateway }) => {
      const { sql, orgId, calls } = gateway
      const socket = await open()
      await socket.until(isType("session.created"))
      const tomorrow = Date.now() + dayMs
      const clock = vi.spyOn(calls.services, "nowMs").mockImplementation(() => tomorrow)
      socket.send({ type: "response.create" })
      const session = await vendor.at()
      await session.next("response.create")
      for (const event of responseEvents("resp_1", spoken)) session.send(event)
      await expect.poll(async () => (await records()).length).toBe(1)
      const counted = await Effect.runPromise(
        sql<{ counter: string }>`
          select counter from allotments where org_id = ${orgId} and counter like 'tokens:%' and spent <> 0
          union select counter from counters where org_id = ${orgId} and counter like 'tokens:%' and granted <> 0`,
      )
      expect(counted).toEqual([{ counter: `tokens:${dayOf(tomorrow)}` }])
      clock.mockRestore()
      socket.ws.close()
      await expect.poll(held).toBe(0n)
    })
  })

  it.live("is held for the conversation as the vendor has counted it", () => {
    const vendor = stepping()
    return withSession(vendor.script, async ({ open, held }) => {
      const socket = await open()
      await socket.until(isType("session.created"))
      const first = await held()
      const session = await vendor.at()
      const usage = realtimeUsage(20_000, 0, 10, 0)
      for (const event of responseEvents("resp_1", { words: ["a"], usage })) session.send(event)
      await done(socket)
      socket.send({ type: "response.create" })
      await session.next("response.create")
      // Two are ready now: of this response, and of one that the vendor may begin.
      expect(await held()).toBeGreaterThan(2n * first)
      socket.ws.close()
    })
  })

  it.live("holds for two responses at most, however many there were", () => {
    const vendor = stepping()
    return withSession(vendor.script, async ({ open, held, records }) => {
      const socket = await open()
      await socket.until(isType("session.created"))
      const first = await held()
      const session = await vendor.at()
      for (let count = 1; count <= 4; count++) {
        socket.send({ type: "response.create" })
        await session.next("response.create")
        const short = { words: ["a"], usage: realtimeUsage(1, 0, 1, 0) }
        for (const event of responseEvents(`resp_${count}`, short)) session.send(event)
        await done(socket, count)
        await expect.poll(async () => (await records()).length).toBe(count)
      }
      expect(await held()).toBeLessThan(2n * first)
      socket.ws.close()
    })
  })

  it.live("is held once for a response that the vendor begins twice", () => {
    const vendor = stepping()
    return withSession(vendor.script, async ({ open, records, held }) => {
      const socket = await open()
      const session = await vendor.at()
      socket.send({ type: "response.create" })
      await session.next("response.create")
      session.send({ type: "response.created", response: { id: "resp_1" } })
      for (const event of responseEvents("resp_1", spoken)) session.send(event)
      await expect.poll(async () => (await records()).length).toBe(1)
      socket.ws.close()
      await expect.poll(held).toBe(0n)
      expect(await records()).toHaveLength(1)
    })
  })

  for (const who of ["client", "vendor"] as const) {
    it.live(`settles what was counted when the ${who} breaks off`, () => {
      const vendor = stepping()
      return withSession(vendor.script, async ({ open, records, held }) => {
        const socket = await open()
        const session = await vendor.at()
        session.send({ type: "response.created", response: { id: "resp_1" } })
        const delta = Buffer.alloc(48_000).toString("base64")
        session.send({ type: "response.output_audio.delta", response_id: "resp_1", delta })
        await socket.until(isType("response.output_audio.delta"))
        if (who === "client") socket.ws.terminate()
        else {
          session.reset()
          expect(errorOf(await socket.until(isType("error")))).toMatchObject({ code: "upstream_disconnected" })
          expect(await socket.closed).toMatchObject({ code: 1011 })
        }
        await expect.poll(async () => (await records()).length).toBe(1)
        expect((await records())[0]).toMatchObject({
          estimated_reason: who === "client" ? "client_disconnected" : "upstream_disconnected",
          stop: "interrupted",
          dims: { audio_out: 20 },
        })
        await expect.poll(() => session.closedWith()).toBeDefined()
        await expect.poll(held).toBe(0n)
      })
    })
  }

  it.live("has no sound of the turn before, where it is counted here", () => {
    const vendor = stepping()
    return withSession(vendor.script, async ({ open, records }) => {
      const socket = await open()
      const session = await vendor.at()
      socket.send({ type: "input_audio_buffer.append", audio: Buffer.alloc(480_000).toString("base64") })
      await session.next("input_audio_buffer.append")
      for (const event of responseEvents("resp_1", spoken)) session.send(event)
      await done(socket)
      session.send({ type: "response.created", response: { id: "resp_2" } })
      session.send({ type: "response.output_text.delta", response_id: "resp_2", delta: "Good evening" })
      await socket.until(isType("response.output_text.delta"))
      socket.ws.terminate()
      await expect.poll(async () => (await records()).length).toBe(2)
      const [, second] = await records()
      expect(second?.estimated_reason).toBe("client_disconnected")
      expect(second?.dims).toEqual({})
    })
  })

  it.live("has the seconds that were transcribed, once, where they have a price", () => {
    const vendor = stepping()
    const use = async ({ open, records }: RealtimeGateway) => {
      const socket = await open()
      const session = await vendor.at()
      const short = { words: ["a"], usage: realtimeUsage(1, 0, 1, 0) }
      for (const seconds of [2.5, 4]) {
        session.send({
          type: "conversation.item.input_audio_transcription.completed",
          item_id: "item_1",
          content_index: 0,
          transcript: "Hello",
          usage: { type: "duration", seconds },
        })
      }
      for (const event of responseEvents("resp_1", short)) session.send(event)
      await done(socket)
      for (const event of responseEvents("resp_2", short)) session.send(event)
      await done(socket, 2)
      await expect.poll(async () => (await records()).length).toBe(2)
      socket.ws.close()
      return (await records()).map(({ dims, cost }) => ({ seconds: dims["audio_seconds"], cost: Number(cost) }))
    }
    return withSession(
      vendor.script,
      async (test) => {
        const [first, second] = await use(test)
        expect([first?.seconds, second?.seconds]).toEqual([7, undefined])
        // A million seconds have a price, as a million tokens have.
        expect((first?.cost ?? 0) - (second?.cost ?? 0)).toBeCloseTo(7, 9)
      },
      { dims: 'audio_seconds: "1000000"' },
    )
  })

  const transcribed = (inTokens: number, outTokens: number) => ({
    type: "conversation.item.input_audio_transcription.completed",
    item_id: "item_1",
    content_index: 0,
    transcript: "Hello",
    usage: { type: "tokens", input_tokens: inTokens, output_tokens: outTokens },
  })
  const transcriptPrices = { dims: 'transcript_in: "1000", transcript_out: "10000"' }

  it.live("has the tokens of transcripts, held before they come", () => {
    const vendor = stepping()
    const use = async ({ open, records, held }: RealtimeGateway) => {
      const socket = await open()
      const session = await vendor.at()
      // A minute of sound and a page of text, both ways.
      expect(Number(await held()) / 1e10).toBeGreaterThan(1.6 + 16)
      session.send(transcribed(900, 100))
      for (const event of responseEvents("resp_1", { words: ["a"], usage: realtimeUsage(1, 0, 1, 0) }))
        session.send(event)
      await done(socket)
      await expect.poll(async () => (await records()).length).toBe(1)
      const [row] = await records()
      expect(row?.dims).toEqual({ transcript_in: 900, transcript_out: 100 })
      expect(Number(row?.cost)).toBeCloseTo((4 + 16) / 1e6 + 0.9 + 1, 9)
      socket.ws.close()
      await expect.poll(held).toBe(0n)
      expect((await records()).length).toBe(1)
    }
    return withSession(vendor.script, use, transcriptPrices)
  })

  it.live("has transcripts that no response follows", () => {
    const vendor = stepping()
    const use = async ({ open, records, held }: RealtimeGateway) => {
      const socket = await open()
      const session = await vendor.at()
      session.send(transcribed(1000, 10))
      session.send(transcribed(900, 10))
      // More than a turn is not kept until a response comes.
      await expect.poll(async () => (await records()).length).toBe(1)
      session.send(transcribed(50, 5))
      await socket.until(() => socket.messages.filter(({ type }) => type === transcribed(0, 0).type).length === 3)
      socket.ws.close()
      await expect.poll(async () => (await records()).length).toBe(2)
      // No more than the sound can have.
      expect((await records()).map(({ dims }) => dims)).toEqual([
        { transcript_in: 1600, transcript_out: 20 },
        { transcript_in: 50, transcript_out: 5 },
      ])
      await expect.poll(held).toBe(0n)
    }
    return withSession(vendor.script, use, transcriptPrices)
  })

  it("waits for a transcript until the second response after its sound, and no longer", () => {
    const meter = new SessionMeter()
    const response = { ...noTokens, dims: {} }
    meter.audio(100 * meter.inBytesPerSecond)
    meter.ended(response)
    expect(meter.unbilledSeconds).toBe(100)
    // It comes late, and is billed for all of the sound.
    meter.transcribed({ seconds: 100, inTokens: 0, outTokens: 0 })
    expect(meter.takeTranscripts().seconds).toBe(100)
    expect(meter.unbilledSeconds).toBe(0)
    for (let turn = 0; turn < 50; turn++) {
      meter.audio(100 * meter.inBytesPerSecond)
      meter.ended(response)
    }
    // A session without transcripts does not hold more for them with every turn.
    expect(meter.unbilledSeconds).toBe(100)
    meter.transcribed({ seconds: 5000, inTokens: 0, outTokens: 0 })
    expect(meter.takeTranscripts().seconds).toBe(160)
  })

  it.live("refuses transcripts that have no price, by their model's name", () => {
    const vendor = stepping()
    return withSession(vendor.script, async ({ open }) => {
      const socket = await open()
      const session = { type: "realtime", audio: { input: { transcription: { model: "gpt-4o-transcribe" } } } }
      socket.send({ type: "session.update", session })
      const refused = await socket.until(isType("error"))
      expect(errorOf(refused)).toMatchObject({
        param: "session.audio.input.transcription",
        message: expect.stringContaining("gpt-4o-transcribe"),
      })
      expect((await vendor.at()).received).toEqual([])
      socket.ws.close()
    })
  })

  it.live("is given back when somebody leaves before the vendor has said anything", () => {
    const vendor = stepping()
    return withSession(vendor.script, async ({ open, records, held }) => {
      const socket = await open()
      const session = await vendor.at()
      session.send({ type: "response.created", response: { id: "resp_1" } })
      await socket.until(isType("response.created"))
      socket.ws.terminate()
      await expect.poll(held).toBe(0n)
      expect(await records()).toEqual([])
    })
  })

  it.live("writes down what runs, for those who would settle it", () => {
    const vendor = stepping()
    return withSession(
      vendor.script,
      async ({ open, gateway }) => {
        const socket = await open()
        const session = await vendor.at()
        session.send({ type: "response.created", response: { id: "resp_1" } })
        session.send({
          type: "response.output_audio.delta",
          response_id: "resp_1",
          delta: Buffer.alloc(48_000).toString("base64"),
        })
        await socket.until(isType("response.output_audio.delta"))
        const [leased] = gateway.calls.services.leased
        expect(leased?.checkpoint().settlement?.record).toMatchObject({
          estimatedReason: "gateway_lost",
          counts: { dims: { audio_out: 20 } },
        })
        expect(leased?.view()).toMatchObject({ kind: "realtime", model: "voice", target: "voices/vendor-realtime" })
        socket.ws.close()
      },
      {},
    )
  })
})

describe("open sessions", () => {
  it.live("are told with what they have heard and said, on request", () => {
    const vendor = stepping()
    return withSession(vendor.script, async ({ open, gateway }) => {
      const socket = await open()
      const session = await vendor.at()
      socket.send({ type: "input_audio_buffer.append", audio: Buffer.alloc(48_000).toString("base64") })
      await session.next("input_audio_buffer.append")
      for (const event of responseEvents("resp_1", { ...spoken, audioBytes: 24_000, parts: 2 })) session.send(event)
      await done(socket)
      const admin = { "x-svc-admin-key": gateway.adminKey }
      const listed = async () => {
        const reply = await gateway.call("GET", `/v1/admin/open-exchanges?org=${gateway.orgId}`, undefined, admin)
        return Schema.decodeUnknownSync(OpenExchanges)(await reply.json())
      }
      await expect
        .poll(async () => (await listed()).sessions)
        .toMatchObject([
          { model: "voice", target: "voices/vendor-realtime", responses: 1, secondsIn: 1, secondsOut: 1 },
        ])
      expect((await listed()).data).toEqual([])
      socket.ws.close()
      await socket.closed
      await expect.poll(async () => (await listed()).sessions).toEqual([])
    })
  })
})

describe("what a realtime session allows", () => {
  it.live("refuses events that would change what was admitted, by name, and goes on", () =>
    withSession(
      answeringRealtime(spoken),
      async ({ open, vendor }) => {
        const socket = await open()
        await socket.until(isType("session.created"))
        const bad: ReadonlyArray<readonly [event: object | string, param: string | null]> = [
          ["no json", null],
          ["[]", null],
          [{ event_id: "e" }, "type"],
          [{ type: "session.destroy" }, "type"],
          [{ type: "transcription_session.update", session: {} }, "type"],
          [{ type: "session.update" }, "session"],
          [{ type: "session.update", session: { model: "gpt-realtime-2" } }, "session.model"],
          [{ type: "session.update", session: { type: "transcription" } }, "session.type"],
          [{ type: "session.update", session: { max_output_tokens: 4097 } }, "session.max_output_tokens"],
          [
            { type: "session.update", session: { max_response_output_tokens: 0 } },
            "session.max_response_output_tokens",
          ],
          [{ type: "session.update", session: { max_output_tokens: "many" } }, "session.max_output_tokens"],
          [{ type: "session.update", session: { tools: [{ type: "mcp", server_url: "https://a" }] } }, "session.tools"],
          [{ type: "session.update", session: { tools: "all" } }, "session.tools"],
          [{ type: "session.update", session: { prompt: { id: "pmpt_1" } } }, "session.prompt"],
          [{ type: "response.create", response: { max_output_tokens: 1e9 } }, "response.max_output_tokens"],
          [{ type: "response.create", response: { tools: [{ type: "mcp" }] } }, "response.tools"],
          [
            { type: "response.create", response: { input: [{ type: "mcp_approval_response" }] } },
            "response.input.type",
          ],
          [{ type: "conversation.item.create" }, "item"],
          [{ type: "conversation.item.create", item: { type: "mcp_call" } }, "item.type"],
          [{ type: "input_audio_buffer.append" }, "audio"],
          // A key that comes twice is read by its last.
          [
            '{"type":"input_audio_buffer.append","audio":"AAAA","type":"session.update","session":{"model":"other"}}',
            "session.model",
          ],
        ]
        for (const [at, [event, param]] of bad.entries()) {
          const before = socket.messages.length
          if (typeof event === "string") socket.ws.send(event)
          else socket.send({ event_id: `mine_${at}`, ...event })
          await socket.until(() => socket.messages.length > before)
          const error = socket.messages.at(-1) ?? {}
          expect(error.type, JSON.stringify(event)).toBe("error")
          expect(errorOf(error), JSON.stringify(event)).toMatchObject({ type: "invalid_request_error", param })
        }
        expect(vendor.sessions[0]?.received).toEqual([])
        socket.send({
          type: "session.update",
          session: { model: "voice", instructions: "Be short.", tools: [{ type: "function", name: "f" }] },
        })
        socket.send({ type: "response.create" })
        await done(socket)
        expect(vendor.sessions[0]?.received).toEqual([
          { type: "session.update", session: { instructions: "Be short.", tools: [{ type: "function", name: "f" }] } },
          { type: "response.create" },
        ])
        socket.ws.close()
      },
      {},
    ),
  )

  it.live("has no tools where the model has none", () =>
    withSession(
      answeringRealtime(spoken),
      async ({ open }) => {
        const socket = await open()
        socket.send({ type: "session.update", session: { tools: [{ type: "function", name: "f" }] } })
        expect(errorOf(await socket.until(isType("error")))).toMatchObject({ param: "session.tools" })
        socket.ws.close()
      },
      { model: "contextWindow: 32000" },
    ),
  )

  it.live("goes on after a part that is no JSON, which an outbound policy cannot read", () => {
    const events = responseEvents("r1", { words: ["Hello"], usage: realtimeUsage(10, 0, 5, 0, 0) })
    return withSession(
      async (session) => {
        await session.next("response.create")
        for (const event of events) {
          session.send(event)
          if (event.type === "response.created")
            session.send('{"type":"response.output_text.delta","response_id":"r1","delta":"never closed"')
        }
        await session.next()
      },
      async ({ open, records, held }) => {
        const socket = await open()
        // The event was forwarded unchanged; this client would not read it either.
        socket.ws.removeAllListeners("message")
        socket.send({ type: "response.create" })
        await expect.poll(async () => (await records()).length).toBe(1)
        const [record] = await records()
        expect([Number(record?.in_tokens), Number(record?.out_tokens), record?.stop]).toEqual([10, 5, "end"])
        socket.ws.close()
        await expect.poll(held).toBe(0n)
      },
      {
        more: `policies:\n  - { id: words, direction: outbound, match: { keywords: [forbidden] }, reason: bad_word }\n`,
        orgMore: "policies: [words], ",
      },
    )
  })

  it.live("keeps the order of events, whatever is held or reviewed in between", () =>
    withSession(
      answeringRealtime(spoken),
      async ({ open, vendor }) => {
        const socket = await open()
        const item = (text: string) => ({
          type: "conversation.item.create",
          item: { type: "message", role: "user", content: [{ type: "input_text", text }] },
        })
        const sent: Array<object> = []
        for (let at = 0; at < 20; at++)
          sent.push(
            item(`text ${at}`),
            { type: "response.create" },
            { type: "input_audio_buffer.append", audio: "AAAA" },
          )
        for (const event of sent) socket.send(event)
        await done(socket, 20)
        await expect.poll(() => vendor.sessions[0]?.received.length).toBe(sent.length)
        expect(vendor.sessions[0]?.received).toEqual(sent)
        socket.send(item("a forbidden word"))
        expect(errorOf(await socket.until(isType("error")))).toMatchObject({ code: "content_blocked" })
        socket.send({ type: "session.update", session: { instructions: "say forbidden things" }, event_id: "u1" })
        await socket.until(() => socket.messages.filter(isType("error")).length === 2)
        expect(errorOf(socket.messages.filter(isType("error"))[1] ?? {})).toMatchObject({
          code: "content_blocked",
          event_id: "u1",
        })
        expect(vendor.sessions[0]?.received).toHaveLength(sent.length)
        socket.ws.close()
      },
      {
        more: `policies:\n  - { id: words, direction: inbound, match: { keywords: [forbidden] }, reason: bad_word }\n`,
        orgMore: "policies: [words], ",
      },
    ),
  )

  const words = (...said: ReadonlyArray<string>) => answeringRealtime({ words: said, audioBytes: 10, parts: 1 })
  const transcriptOf = (messages: ReadonlyArray<SocketMessage>) =>
    messages
      .filter(isType("response.output_audio_transcript.delta"))
      .map(({ delta }) => delta)
      .join("")

  it.live("holds back text of which an enforced policy denies a part, and cancels that response", () =>
    withSession(
      words("All is well, ", "and forb", "idd", "en is", " the rest"),
      async ({ open, vendor, records }) => {
        const socket = await open()
        socket.send({ type: "response.create" })
        await done(socket)
        expect(transcriptOf(socket.messages)).toBe("All is well, ")
        await expect.poll(async () => (await records()).length).toBe(1)
        expect((await records())[0]?.policies).toEqual([{ policy: "words", at: "reply", count: 1, did: "denied" }])
        expect(errorOf(await socket.until(isType("error")))).toMatchObject({ code: "content_blocked" })
        await expect.poll(() => vendor.sessions[0]?.received.some(isType("response.cancel"))).toBe(true)
        expect(JSON.stringify(socket.messages)).not.toContain("the rest")
        socket.ws.close()
      },
      {
        more: `policies:\n  - { id: words, direction: outbound, match: { keywords: [forbidden] }, reason: bad_word, streams: enforce }\n`,
        orgMore: "policies: [words], ",
      },
    ),
  )

  const heard = (transcript: string) => ({
    type: "conversation.item.input_audio_transcription.completed",
    item_id: "item_1",
    content_index: 0,
    transcript,
  })
  const speechPolicies = (more: string) => ({
    more: `policies:\n  - { id: words, direction: inbound, match: { keywords: [forbidden] }, reason: bad_word${more} }\n`,
    orgMore: "policies: [words], ",
  })

  it.live("ends the response to speech of which an inbound policy denies the transcript", () =>
    withSession(
      async (session) => {
        await session.next("response.create")
        const [created, first, second, ...end] = responseEvents("r1", { words: ["You said ", "forbidden"] })
        for (const event of [created, first, heard("a FORBIDDEN word")]) session.send(event ?? {})
        await session.next("conversation.item.delete")
        for (const event of [second, ...end]) session.send(event ?? {})
        await session.next()
      },
      async ({ open, vendor, records }) => {
        const socket = await open()
        socket.send({ type: "response.create" })
        await done(socket)
        expect(errorOf(await socket.until(isType("error")))).toMatchObject({ code: "content_blocked" })
        expect(transcriptOf(socket.messages)).toBe("You said ")
        await expect
          .poll(() => vendor.sessions[0]?.received.slice(1))
          .toEqual([
            { type: "response.cancel", response_id: "r1" },
            { type: "conversation.item.delete", item_id: "item_1" },
          ])
        await expect.poll(async () => (await records()).length).toBe(1)
        expect((await records())[0]?.policies).toEqual([{ policy: "words", at: "request", count: 1, did: "denied" }])
        socket.ws.close()
      },
      speechPolicies(""),
    ),
  )

  it.live("records the flags of transcripts of speech, and goes on", () =>
    withSession(
      async (session) => {
        await session.next("response.create")
        const [created, ...rest] = responseEvents("r1", { words: ["forbidden"], usage: realtimeUsage(10, 0, 5, 0, 0) })
        for (const event of [created, heard("a forbidden word"), ...rest]) session.send(event ?? {})
        await session.next()
      },
      async ({ open, vendor, records }) => {
        const socket = await open()
        socket.send({ type: "response.create" })
        await done(socket)
        expect(transcriptOf(socket.messages)).toBe("forbidden")
        await expect.poll(async () => (await records()).length).toBe(1)
        expect((await records())[0]?.policies).toEqual([{ policy: "words", at: "request", count: 1, did: "flagged" }])
        expect(vendor.sessions[0]?.received).toHaveLength(1)
        expect(socket.messages.some(isType("error"))).toBe(false)
        socket.ws.close()
      },
      speechPolicies(", action: flag"),
    ),
  )

  it.live("reads no transcript of speech as a reply", () =>
    withSession(
      async (session) => {
        await session.next("response.create")
        const [created, ...rest] = responseEvents("r1", { words: ["All is well"] })
        for (const event of [created, heard("a forbidden word"), ...rest]) session.send(event ?? {})
        await session.next()
      },
      async ({ open, records }) => {
        const socket = await open()
        socket.send({ type: "response.create" })
        await done(socket)
        expect(socket.messages.some(isType("error"))).toBe(false)
        expect(JSON.stringify(socket.messages)).toContain("a forbidden word")
        expect(transcriptOf(socket.messages)).toBe("All is well")
        await expect.poll(async () => (await records()).length).toBe(1)
        socket.ws.close()
      },
      {
        more: `policies:\n  - { id: words, direction: outbound, match: { keywords: [forbidden] }, reason: bad_word, streams: enforce }\n`,
        orgMore: "policies: [words], ",
      },
    ),
  )

  it.live("gives the vendor marks for masked values, and the client its values", () => {
    let mark = ""
    return withSession(
      async (session) => {
        session.send({ type: "session.created", session: { type: "realtime", id: "sess_1" } })
        const created = JSON.stringify(await session.next("conversation.item.create"))
        mark = /<EMAIL_[A-Z2-7]+>/.exec(created)?.[0] ?? ""
        expect(created).not.toContain("example.com")
        await session.next("response.create")
        for (const event of responseEvents("r1", { words: ["To ", mark.slice(0, 4), mark.slice(4), "."] }))
          session.send(event)
        await session.next()
      },
      async ({ open }) => {
        const socket = await open()
        const content = [{ type: "input_text", text: "Write to ann@example.com" }]
        socket.send({ type: "conversation.item.create", item: { type: "message", role: "user", content } })
        socket.send({ type: "response.create" })
        await done(socket)
        expect(mark).not.toBe("")
        expect(transcriptOf(socket.messages)).toBe("To ann@example.com.")
        socket.ws.close()
      },
      {
        more: `policies:\n  - { id: mails, direction: inbound, match: { entities: [email] }, reason: personal_data, action: mask }\n`,
        orgMore: "policies: [mails], ",
      },
    )
  })

  it.live("counts each response in the caller's rates", () =>
    withSession(
      answeringRealtime(spoken),
      async ({ open, gateway }) => {
        const socket = await open()
        socket.send({ type: "response.create" })
        await done(socket)
        socket.send({ type: "response.create", event_id: "second" })
        expect(errorOf(await socket.until(isType("error")))).toMatchObject({ code: "rate_limited", event_id: "second" })
        expect(socket.ws.readyState).toBe(1)
        expect((await gateway.exchange({})).status).toBe(429)
        socket.ws.close()
      },
      { plan: "perMinute: 2" },
    ),
  )

  it.live("ends soon after its key is revoked where operators want that, and holds nothing more", () =>
    withSession(
      answeringRealtime(spoken),
      async ({ open, gateway, held }) => {
        const socket = await open()
        await socket.until(isType("session.created"))
        const admin = { "x-svc-admin-key": gateway.adminKey }
        expect((await gateway.call("POST", `/v1/admin/keys/${gateway.keyId}/revoke`, undefined, admin)).status).toBe(
          204,
        )
        expect((await socket.closed).code).toBe(1008)
        await eventually(async () => (await held()) === 0n)
      },
      { config: { revokedGraceMs: 300 } },
    ),
  )

  it.live("ends when its key is revoked, with the next response", () =>
    withSession(answeringRealtime(spoken), async ({ open, gateway }) => {
      const socket = await open()
      socket.send({ type: "response.create" })
      await done(socket)
      const admin = { "x-svc-admin-key": gateway.adminKey }
      expect((await gateway.call("POST", `/v1/admin/keys/${gateway.keyId}/revoke`, undefined, admin)).status).toBe(204)
      socket.send({ type: "response.create" })
      expect(errorOf(await socket.until(isType("error")))).toMatchObject({ code: "app_key_invalid" })
      expect(await socket.closed).toMatchObject({ code: 1008 })
    }),
  )

  it.live("takes one place of its plan's concurrency, and gives it back", () =>
    withSession(
      answeringRealtime(spoken),
      async ({ open }) => {
        const first = await open()
        expect(await rejected(open())).toMatchObject({ status: 429, error: { code: "plan_concurrency_exceeded" } })
        first.ws.close()
        await expect
          .poll(
            () =>
              open().then(
                (socket) => socket.ws.close() === undefined,
                () => false,
              ),
            { timeout: 5000 },
          )
          .toBe(true)
      },
      { plan: "perMinute: 1000, concurrency: 1" },
    ),
  )

  it.live("hides what the vendor says of its account, and passes what it says of the client's events", () => {
    const vendor = stepping()
    return withSession(vendor.script, async ({ open }) => {
      const socket = await open()
      const session = await vendor.at()
      session.send({
        type: "error",
        event_id: "e1",
        error: { type: "server_error", code: "org-secret has no code", message: "org-secret is over its limit" },
      })
      session.send({
        type: "error",
        event_id: "e2",
        error: { type: "invalid_request_error", code: "y", message: "No such item" },
      })
      await socket.until(() => socket.messages.filter(isType("error")).length === 2)
      expect(JSON.stringify(socket.messages)).not.toContain("org-secret")
      expect(JSON.stringify(socket.messages)).toContain("No such item")
      socket.ws.close()
    })
  })
})

describe("the upgrade of a realtime session", () => {
  it.live("is refused in the words of the API", () =>
    withSession(answeringRealtime(spoken), async ({ open, vendor, gateway }) => {
      const headers = { authorization: "Bearer nobody~wrong" }
      expect(await rejected(open("model=voice", headers))).toMatchObject({
        status: 401,
        error: { code: "app_key_invalid", type: "authentication_error" },
      })
      expect(await rejected(open(`model=voice&key=${gateway.keyId}~${gateway.key}`))).toMatchObject({
        status: 401,
        error: { code: "unauthorized" },
      })
      expect(await rejected(open(""))).toMatchObject({ status: 400, error: { param: "model" } })
      expect(await rejected(open("model=main"))).toMatchObject({ status: 403, error: { code: "model_not_authorized" } })
      expect(await rejected(open("model=nothing"))).toMatchObject({
        status: 403,
        error: { code: "model_not_authorized" },
      })
      expect(await rejected(open("intent=transcription"))).toMatchObject({ status: 400, error: { param: "intent" } })
      expect(await rejected(open("model=voice", { "x-svc-session-id": "x".repeat(100) }))).toMatchObject({
        status: 400,
      })
      expect(vendor.sessions).toHaveLength(0)
      // A model for sessions is none for exchanges.
      const asChat = await gateway.exchange({
        model: "voice",
        thread: [{ role: "user", blocks: [{ t: "text", v: "x" }] }],
      })
      expect(asChat.status).toBe(403)
    }),
  )

  it.live("takes a browser's key from a subprotocol", () =>
    withSession(answeringRealtime(spoken), async ({ gateway, vendor }) => {
      const minted = await gateway.call("POST", "/v1/app-tokens", { endUserId: "u1", ttlSeconds: 300 })
      const { token } = (await minted.json()) as { readonly token: string }
      const socket = await openSocket(`${gateway.baseUrl}/openai/v1/realtime?model=voice`, {}, [
        "realtime",
        `openai-insecure-api-key.${token}`,
        "openai-beta.realtime-v1",
      ])
      expect(socket.ws.protocol).toBe("realtime")
      socket.send({ type: "response.create" })
      await done(socket)
      expect(vendor.sessions[0]?.headers).toMatchObject({ authorization: "Bearer vendor-credential" })
      expect(vendor.sessions[0]?.path).toBe("/v1/realtime?model=vendor-realtime")
      expect(JSON.stringify(vendor.sessions[0]?.headers)).not.toContain(token)
      socket.ws.close()
    }),
  )

  it.live("names the deployment at Azure, with its own header", () =>
    withSession(
      answeringRealtime(spoken),
      async ({ open, vendor }) => {
        const socket = await open("model=voice", { "openai-beta": "realtime=v1" })
        expect(vendor.sessions[0]?.path).toBe("/openai/v1/realtime?model=vendor-realtime")
        expect(vendor.sessions[0]?.headers).toMatchObject({
          "api-key": "vendor-credential",
          "openai-beta": "realtime=v1",
        })
        socket.ws.close()
      },
      { profile: "azure" },
    ),
  )

  it.live("fails as a plain reply when the vendor refuses or is not there", () =>
    withSession(answeringRealtime(spoken), async ({ open, vendor, held }) => {
      vendor.refuse(401, '{"error":{"code":"invalid_api_key","message":"sk-secret is wrong"}}')
      const refusal = await rejected(open())
      expect(refusal).toMatchObject({ status: 502, error: { code: "upstream_error" } })
      expect(JSON.stringify(refusal)).not.toContain("sk-secret")
      vendor.refuse(503)
      expect(await rejected(open())).toMatchObject({ status: 502, error: { code: "upstream_error" } })
      vendor.refuse(undefined)
      const socket = await open()
      socket.ws.close()
      await expect.poll(held).toBe(0n)
    }),
  )
})

describe("a vendor that refuses a session", () => {
  const only = "targets: [{ vendor: voices, model: vendor-realtime }]"
  const both =
    "targets: [{ vendor: voices, model: vendor-realtime, tier: 1 }, { vendor: openai, model: spare, tier: 2 }]"

  it.live("for its credential is followed by the next, and left alone; for the request, it is not", () =>
    withSession(
      answeringRealtime(spoken),
      async ({ open, vendor, gateway }) => {
        const text = (await Effect.runPromise(gateway.catalogue.inForce)).text ?? ""
        await Effect.runPromise(gateway.catalogue.apply(text.replace(only, both)))
        vendor.refuse(400, '{"error":{"code":"unknown_parameter"}}')
        expect(await rejected(open())).toMatchObject({ status: 502, error: { code: "upstream_error" } })
        vendor.refuse(400, '{"error":{"code":"content_filter"}}')
        expect(await rejected(open())).toMatchObject({ status: 403, error: { code: "content_blocked" } })
        vendor.refuse(401, '{"error":{"code":"invalid_api_key"}}')
        const socket = await open()
        await socket.until(isType("session.created"))
        socket.ws.close()
        // It would take a session now, and is not asked.
        vendor.refuse(undefined)
        const again = await open()
        await again.until(isType("session.created"))
        expect(vendor.sessions.length).toBe(0)
        again.ws.close()
      },
      { realtime: answeringRealtime(spoken) },
    ),
  )
})

describe("how a realtime session ends", () => {
  it.live("after silence on both sides", () =>
    withSession(
      (session) => session.send(created),
      async ({ open, held }) => {
        const socket = await open()
        expect(errorOf(await socket.until(isType("error")))).toMatchObject({ code: "upstream_idle_timeout" })
        await socket.closed
        await expect.poll(held).toBe(0n)
      },
      { config: { realtimeIdleMs: 200 } },
    ),
  )

  it.live("if the vendor says nothing at all", () =>
    withSession(
      () => {},
      async ({ open }) => {
        const socket = await open()
        expect(errorOf(await socket.until(isType("error")))).toMatchObject({ code: "upstream_ttfb_timeout" })
        await socket.closed
      },
      { config: { upstreamTimeouts: { connect: undefined, ttfb: 200, idle: undefined, total: undefined } } },
    ),
  )

  it.live("if the client reads nothing: the vendor is not read further, and what was said is settled", () => {
    const vendor = stepping()
    return withSession(
      vendor.script,
      async ({ open, records, gateway }) => {
        const socket = await open()
        await socket.until(isType("session.created"))
        const session = await vendor.at()
        session.send({ type: "response.created", response: { id: "resp_1" } })
        await socket.until(isType("response.created"))
        socket.ws.pause()
        const before = process.memoryUsage().rss
        const delta = Buffer.alloc(48_000).toString("base64")
        const event = JSON.stringify({ type: "response.output_audio.delta", response_id: "resp_1", delta })
        for (let at = 0; at < 2000 && session.closedWith() === undefined; at++) {
          session.send(event)
          if (at % 50 === 0) await sleep(10)
        }
        await expect.poll(async () => (await records()).length).toBe(1)
        expect((await records())[0]).toMatchObject({ estimated_reason: "stream_backpressure" })
        // The vendor of this test keeps what it could not send.
        expect(process.memoryUsage().rss - before).toBeLessThan(400 * 2 ** 20)
        await expect.poll(() => gateway.calls.services.leased.size).toBe(0)
        socket.ws.terminate()
      },
      { config: { streamStallMs: 500 } },
    )
  })

  it.live("if the vendor sends what is no event", () => {
    const vendor = stepping()
    return withSession(vendor.script, async ({ open }) => {
      const socket = await open()
      ;(await vendor.at()).send("no json")
      expect(errorOf(await socket.until(isType("error")))).toMatchObject({ code: "upstream_disconnected" })
      expect(await socket.closed).toMatchObject({ code: 1011 })
    })
  })

  it.live("at a drain: it is told, its response ends whole, then 1012", () => {
    const vendor = stepping()
    return Effect.promise(async () => {
      const scope = Scope.makeUnsafe()
      const { open, records } = await Effect.runPromise(Scope.provide(startRealtimeGateway(vendor.script), scope))
      const idle = await open()
      await vendor.at()
      const socket = await open()
      await socket.until(isType("session.created"))
      const session = await vendor.at()
      session.send({ type: "response.created", response: { id: "resp_1" } })
      await socket.until(isType("response.created"))
      const stopped = Effect.runPromise(Scope.close(scope, Exit.void))
      expect(errorOf(await socket.until(isType("error")))).toMatchObject({ retry: true })
      expect(socket.messages.some(isType("session.ending"))).toBe(true)
      expect(await idle.closed).toMatchObject({ code: 1012 })
      socket.send({ type: "response.create" })
      await socket.until(() => socket.messages.filter(isType("error")).length === 2)
      for (const event of responseEvents("resp_1", spoken).slice(1)) session.send(event)
      await done(socket)
      expect(await socket.closed).toMatchObject({ code: 1012 })
      void records
      await stopped
    })
  })
})
