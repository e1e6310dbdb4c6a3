/** Google's SDK for Node in sessions with its Live API: turns, tools, interruptions, and the money of each turn. */
import { describe, expect, it } from "@effect/vitest"
import { GoogleGenAI, type LiveServerMessage, Modality, type Session } from "@google/genai"
import { Effect } from "effect"
import { answeringLive, liveUsage, soundMessage, turnMessages } from "../../../../src/testing/live-messages.ts"
import type { LiveScript } from "../../../../src/testing/live-twin.ts"
import { type LiveGateway, startLiveGateway } from "../../../support/live-gateway.ts"

const usage = liveUsage(30, 20, 10, 40, 8)
/** (22 full text + 20 sound + 8 cached) in, (10 text + 40 sound) out. */
const cost = (22 * 0.5 + 20 * 3 + 8 * 0.1 + 10 * 2 + 40 * 12) / 1e6
const spoken = { words: ["Hello", " there"], audioBytes: 960, parts: 3, usage }

type Options = Parameters<typeof startLiveGateway>[1]

const withGateway = (script: LiveScript, use: (test: LiveGateway) => Promise<void>, options: Options = {}) =>
  Effect.scoped(Effect.flatMap(startLiveGateway(script, options), (test) => Effect.promise(() => use(test))))

const clientOf = ({ gateway, credential }: LiveGateway, apiKey = credential) =>
  new GoogleGenAI({ apiKey, httpOptions: { baseUrl: `${gateway.baseUrl}/gemini` } })

interface Talk {
  readonly session: Session
  readonly messages: ReadonlyArray<LiveServerMessage>
  readonly closed: Promise<{ readonly code: number; readonly reason: string }>
  readonly until: (is: (message: LiveServerMessage) => boolean, count?: number) => Promise<void>
}

const connect = async (client: GoogleGenAI, config: object = {}, model = "live"): Promise<Talk> => {
  const messages: Array<LiveServerMessage> = []
  let end: (closed: { readonly code: number; readonly reason: string }) => void = () => {}
  const closed = new Promise<{ readonly code: number; readonly reason: string }>((resolve) => {
    end = resolve
  })
  const session = await client.live.connect({
    model,
    config: { responseModalities: [Modality.AUDIO], ...config },
    callbacks: {
      onmessage: (message) => void messages.push(message),
      onclose: ({ code, reason }) => end({ code, reason }),
      onerror: () => {},
    },
  })
  return {
    session,
    messages,
    closed,
    until: (is, count = 1) => expect.poll(() => messages.filter(is).length).toBeGreaterThanOrEqual(count),
  }
}

const isEnd = (message: LiveServerMessage) => message.serverContent?.turnComplete === true
const refused = (connecting: Promise<unknown>) =>
  connecting.then(
    () => expect.fail("the session began"),
    (error: unknown) => String(error),
  )

describe("Google's SDK in a Live session", () => {
  it.live("a turn of text: held before, settled with the vendor's counts", () =>
    withGateway(answeringLive(spoken), async (test) => {
      const { twin, records, held } = test
      const talk = await connect(clientOf(test), { systemInstruction: "Be short." })
      expect(await held()).toBeGreaterThan(0n)
      talk.session.sendClientContent({ turns: "Hello" })
      await talk.until(isEnd)
      const words = talk.messages.map((message) => message.serverContent?.outputTranscription?.text ?? "").join("")
      expect(words).toBe("Hello there")
      expect(talk.messages.at(-1)?.usageMetadata).toMatchObject({ responseTokenCount: 50 })
      const [session] = twin.sessions
      expect(session?.headers["x-goog-api-key"]).toBeDefined()
      expect(session?.setup).toMatchObject({ model: "models/gemini-live-2.5" })
      await expect.poll(async () => (await records()).length).toBe(1)
      const [row] = await records()
      expect(row).toMatchObject({
        model: "live",
        vendor: "google",
        purpose: "realtime",
        estimated_reason: null,
        stop: "end",
        dims: { audio_in: 20, audio_out: 40 },
      })
      expect([Number(row?.in_tokens), Number(row?.out_tokens), Number(row?.cache_read_tokens)]).toEqual([42, 50, 8])
      expect(Number(row?.cost)).toBeCloseTo(cost, 10)
      talk.session.close()
      await expect.poll(held).toBe(0n)
    }),
  )

  it.live("two turns of sound are two records", () =>
    withGateway(answeringLive(spoken), async (test) => {
      const talk = await connect(clientOf(test))
      for (const turn of [1, 2]) {
        const audio = { data: Buffer.alloc(3200, 1).toString("base64"), mimeType: "audio/pcm;rate=16000" }
        talk.session.sendRealtimeInput({ audio })
        talk.session.sendRealtimeInput({ audioStreamEnd: true })
        await talk.until(isEnd, turn)
      }
      const sound = talk.messages.flatMap((message) => message.data ?? [])
      expect(sound).toHaveLength(6)
      await expect.poll(async () => (await test.records()).map((row) => row.cost)).toEqual(["0.0005718", "0.0005718"])
      expect(new Set((await test.records()).map((row) => row.session_id)).size).toBe(1)
      talk.session.close()
      await expect.poll(test.held).toBe(0n)
    }),
  )

  it.live("a tool is called and answered; each generation that the vendor reports is a record", () => {
    const script: LiveScript = async (session) => {
      await session.next("clientContent")
      session.send({
        toolCall: { functionCalls: [{ id: "call_1", name: "weather", args: { city: "Oslo" } }] },
        usageMetadata: liveUsage(40, 0, 12, 0),
      })
      await session.next("toolResponse")
      for (const message of turnMessages({ ...spoken, usage: liveUsage(70, 0, 10, 30) })) session.send(message)
    }
    const parameters = { type: "OBJECT", properties: { city: { type: "STRING" } } }
    const tools = [{ functionDeclarations: [{ name: "weather", description: "The weather", parameters }] }]
    return withGateway(script, async (test) => {
      const talk = await connect(clientOf(test), { tools })
      talk.session.sendClientContent({ turns: "The weather in Oslo?" })
      await talk.until((message) => message.toolCall !== undefined)
      const [call] = talk.messages.find((message) => message.toolCall !== undefined)?.toolCall?.functionCalls ?? []
      expect(call).toMatchObject({ name: "weather", args: { city: "Oslo" } })
      talk.session.sendToolResponse({
        functionResponses: [{ id: call?.id ?? "", name: "weather", response: { output: "rain" } }],
      })
      await talk.until(isEnd)
      await expect.poll(async () => (await test.records()).map((row) => row.stop)).toEqual(["tool_call", "end"])
      expect((await test.records()).map((row) => Number(row.in_tokens))).toEqual([40, 70])
      talk.session.close()
      await expect.poll(test.held).toBe(0n)
    })
  })

  it.live("an interruption ends a turn, which is billed as far as it went", () => {
    const script: LiveScript = async (session) => {
      await session.next("clientContent")
      session.send(soundMessage(Buffer.alloc(4800)))
      await session.next("realtimeInput")
      session.send({ serverContent: { interrupted: true } })
      session.send({ serverContent: { turnComplete: true }, usageMetadata: liveUsage(10, 25, 0, 3) })
      for (const message of turnMessages(spoken)) session.send(message)
    }
    return withGateway(script, async (test) => {
      const talk = await connect(clientOf(test))
      talk.session.sendClientContent({ turns: "Tell a long story" })
      await talk.until((message) => message.serverContent?.modelTurn !== undefined)
      talk.session.sendRealtimeInput({
        audio: { data: Buffer.alloc(320).toString("base64"), mimeType: "audio/pcm;rate=16000" },
      })
      await talk.until((message) => message.serverContent?.interrupted === true)
      await talk.until(isEnd, 2)
      await expect.poll(async () => (await test.records()).map((row) => row.stop)).toEqual(["interrupted", "end"])
      talk.session.close()
      await expect.poll(test.held).toBe(0n)
    })
  })

  it.live("a key that is wrong, a model that is not known, and no money: the reason is in the close", () =>
    withGateway(
      answeringLive(spoken),
      async (test) => {
        expect(await refused(connect(clientOf(test, "nobody~nothing")))).toMatch(/code 1008/)
        expect(await refused(connect(clientOf(test), {}, "nothing"))).toMatch(/code 1008/)
        expect(await refused(connect(clientOf(test), {}, "voice"))).toMatch(/code 1007\): This model has OpenAI's/)
        expect(await refused(connect(clientOf(test)))).toMatch(/code 1008/)
        expect(test.twin.sessions).toHaveLength(0)
      },
      { topup: "0.000001" },
    ),
  )
})
