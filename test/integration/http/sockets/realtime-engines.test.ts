/** Engines of policies in realtime sessions: the transcripts of the client's speech, and the vendor's text. */
import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { afterAll, beforeAll } from "vitest"
import { type RealtimeScript, responseEvents } from "../../../../src/testing/scripted-realtime.ts"
import { type EnginesOfTest, startEngines } from "../../../support/engines/kinds.ts"
import { address, forbidden } from "../../../support/engines/rules.ts"
import { type RealtimeGateway, startRealtimeGateway } from "../../../support/realtime-gateway.ts"
import type { SocketMessage } from "../../../support/socket-client.ts"

let engines: EnginesOfTest
beforeAll(async () => {
  engines = await startEngines()
})
afterAll(() => engines.stop())

const price = { currency: "USD", perCall: "0.25" }

/** A session under a policy of an engine, which the organisation pays. */
const withPolicy = (script: RealtimeScript, use: (test: RealtimeGateway) => Promise<void>, more: object) =>
  Effect.suspend(() => {
    const match = engines.of("lakera").match()
    const policy = { id: "guarded", direction: "inbound", reason: "flagged", match, forAll: true, ...more }
    engines.of("lakera").twin.received.length = 0
    const options = { more: `policies: ${JSON.stringify([policy])}\n`, config: { reviewStreamRate: 1 } }
    return Effect.scoped(
      Effect.flatMap(startRealtimeGateway(script, options), (test) => Effect.promise(() => use(test))),
    )
  })

const isType = (type: string) => (message: SocketMessage) => message.type === type
const heard = (transcript: string) => ({
  type: "conversation.item.input_audio_transcription.completed",
  item_id: "item_1",
  content_index: 0,
  transcript,
})

/** A session in which the client has said something, until the speech is taken out or the client goes. */
const hearing =
  (transcript: string): RealtimeScript =>
  async (session) => {
    session.send({ type: "session.created", session: { type: "realtime", id: "sess_1" } })
    session.send(heard(transcript))
    await session.next()
  }

const deleted = { type: "conversation.item.delete", item_id: "item_1" }

describe("the engine of speech", () => {
  it.live("is charged for a transcript", () =>
    withPolicy(
      hearing("a fine word"),
      async ({ open, records, held }) => {
        const socket = await open()
        await expect
          .poll(async () => (await records()).map(({ purpose, cost }) => [purpose, cost]))
          .toEqual([["policy", "0.25"]])
        socket.ws.close()
        await expect.poll(held).toBe(0n)
      },
      { price, paidBy: "organisation" },
    ),
  )

  it.live("is not asked without the money for it: the speech is taken out", () =>
    withPolicy(
      hearing("a fine word"),
      async ({ open, records, vendor }) => {
        const socket = await open()
        const error = await socket.until(isType("error"))
        expect(error["error"]).toMatchObject({ code: "insufficient_balance" })
        await expect.poll(() => vendor.sessions[0]?.received).toEqual([deleted])
        expect([engines.of("lakera").twin.received, await records()]).toEqual([[], []])
        socket.ws.close()
      },
      { price: { ...price, perCall: "900000" }, paidBy: "organisation", onFailure: "allow" },
    ),
  )

  it.live("denies values that it would mask", () =>
    withPolicy(
      hearing(`I am ${address}`),
      async ({ open, vendor }) => {
        const socket = await open()
        const error = await socket.until(isType("error"))
        expect(error["error"]).toMatchObject({ code: "content_blocked" })
        await expect.poll(() => vendor.sessions[0]?.received).toEqual([deleted])
        socket.ws.close()
      },
      { match: engines.of("presidio").match(), action: "mask" },
    ),
  )
})

const several: RealtimeScript = async (session) => {
  for (const words of ["one", "two", "three"]) session.send(heard(words))
  await session.next()
}

it.live("a session that has ended does not wait for the engine of speech", () =>
  withPolicy(
    several,
    async ({ open, held }) => {
      const { twin } = engines.of("lakera")
      twin.mood = { afterMs: 500 }
      const socket = await open()
      await expect.poll(() => twin.received.length).toBe(1)
      socket.ws.close()
      await expect.poll(held).toBe(0n)
      expect(twin.received).toHaveLength(1)
      twin.mood = "up"
    },
    { match: engines.of("lakera").match({ timeout: "2s" }) },
  ),
)

describe("the engine of the vendor's text", () => {
  it.live.each(["sample", "enforce"])("is asked at the end of the session (streams: %s)", (streams) =>
    withPolicy(
      async (session) => {
        await session.next("response.create")
        for (const event of responseEvents("r1", { words: ["All ", "is ", forbidden] })) session.send(event)
        await session.next()
      },
      async ({ open }) => {
        const { received } = engines.of("lakera").twin
        const socket = await open()
        socket.send({ type: "response.create" })
        await socket.until(isType("response.done"))
        expect(received).toEqual([])
        socket.ws.close()
        await expect.poll(() => received.map(({ body }) => body)).toEqual([expect.stringContaining(forbidden)])
      },
      { direction: "outbound", streams },
    ),
  )
})
