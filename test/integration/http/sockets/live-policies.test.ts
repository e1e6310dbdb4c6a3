/** Content policies in sessions with Google's Live API. */
import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { answeringLive, liveUsage, soundMessage } from "../../../../src/testing/live-messages.ts"
import type { LiveScript } from "../../../../src/testing/live-twin.ts"
import { type LiveGateway, startLiveGateway } from "../../../support/live-gateway.ts"
import type { SocketMessage, TestSocket } from "../../../support/socket-client.ts"

const usage = liveUsage(30, 20, 10, 40)

const withPolicy = (policy: string, script: LiveScript, use: (test: LiveGateway) => Promise<void>) =>
  Effect.scoped(
    Effect.flatMap(
      startLiveGateway(script, {
        more: `policies:\n  - { id: words, ${policy}, reason: bad_word }\n`,
        orgMore: "policies: [words], ",
      }),
      (test) => Effect.promise(() => use(test)),
    ),
  )

const keyword = "match: { keywords: [forbidden] }"
const contentOf = (message: SocketMessage) => message["serverContent"] as Record<string, unknown> | undefined
const isEnd = (message: SocketMessage) => contentOf(message)?.["turnComplete"] === true
const isReady = (message: SocketMessage) => message["setupComplete"] !== undefined
const reasonsOf = (socket: TestSocket) =>
  socket.messages.filter(isEnd).map((message) => contentOf(message)?.["turnCompleteReason"])
const say = (socket: TestSocket, text: string) =>
  socket.send({ clientContent: { turns: [{ role: "user", parts: [{ text }] }], turnComplete: true } })
const spokenOf = (socket: TestSocket) =>
  socket.messages
    .map((message) => {
      const said = contentOf(message)?.["outputTranscription"] as { readonly text?: string } | undefined
      return said?.text ?? ""
    })
    .join("")

describe("an inbound policy", () => {
  it.live("denies the setup, and later a turn, a text and a result: the vendor gets none of them", () =>
    withPolicy(`direction: inbound, ${keyword}`, answeringLive({ words: ["Hello"], usage }), async ({ open, twin }) => {
      const denied = await open({ model: "models/live", system_instruction: { parts: [{ text: "forbidden" }] } })
      expect((await denied.closed).code).toBe(1008)
      expect(twin.sessions).toHaveLength(0)
      const socket = await open()
      await socket.until(isReady)
      say(socket, "a forbidden word")
      await socket.until(isEnd)
      expect(reasonsOf(socket)).toEqual(["PROHIBITED_INPUT_CONTENT"])
      socket.send({ realtimeInput: { text: "forbidden" } })
      socket.send({
        tool_response: { function_responses: [{ id: "1", name: "f", response: { a: [{ forbidden: 1 }] } }] },
      })
      socket.send({ clientContent: { turns: [{ parts: [{ unknownField: "forbidden" }] }] } })
      await socket.until(() => reasonsOf(socket).length === 4)
      expect(twin.sessions[0]?.received).toEqual([])
      say(socket, "Hello")
      await socket.until(() => spokenOf(socket) === "Hello")
      socket.ws.close()
    }),
  )

  it.live("denies speech by its transcript: the turn that answers it has no content", () => {
    const script: LiveScript = async (session) => {
      for (let turn = 0; (await session.next("realtimeInput")) !== undefined; turn++) {
        if (turn === 0) {
          session.send({ serverContent: { inputTranscription: { text: "say the forb" } } })
          session.send({ serverContent: { inputTranscription: { text: "idden word" } } })
        }
        session.send({ serverContent: { outputTranscription: { text: "Certain" } } })
        await new Promise((resolve) => setTimeout(resolve, 100))
        session.send(soundMessage(Buffer.alloc(960)))
        session.send({ serverContent: { outputTranscription: { text: "ly" } } })
        session.send({ serverContent: { turnComplete: true }, usageMetadata: usage })
      }
    }
    return withPolicy(`direction: inbound, ${keyword}`, script, async ({ open, twin, records }) => {
      const socket = await open({ model: "models/live", inputAudioTranscription: {} })
      await socket.until(isReady)
      const sound = { audio: { data: Buffer.alloc(3200).toString("base64"), mimeType: "audio/pcm;rate=16000" } }
      socket.send({ realtimeInput: sound })
      await socket.until(isEnd)
      expect(reasonsOf(socket)).toEqual(["PROHIBITED_INPUT_CONTENT"])
      expect(spokenOf(socket)).toBe("Certain")
      expect(socket.messages.some((message) => contentOf(message)?.["modelTurn"] !== undefined)).toBe(false)
      expect(socket.messages.some((message) => contentOf(message)?.["interrupted"] === true)).toBe(true)
      expect(twin.sessions[0]?.received).toContainEqual({ clientContent: { turnComplete: false } })
      await expect.poll(async () => (await records())[0]?.policies).toMatchObject([{ policy: "words", at: "request" }])
      socket.send({ realtimeInput: sound })
      await socket.until(() => socket.messages.filter(isEnd).length === 2)
      expect(reasonsOf(socket)[1]).toBeUndefined()
      socket.ws.close()
    })
  })

  it.live("masks: the vendor sees marks, and the client its own values, also split and in calls", () => {
    const script: LiveScript = async (session) => {
      const message = await session.next("clientContent")
      const mark = /\[\[?[A-Z_0-9:]+\]?\]|<[^>]+>/.exec(JSON.stringify(message))?.[0] ?? "no mark"
      session.send({ serverContent: { outputTranscription: { text: `Write to ${mark.slice(0, 4)}` } } })
      session.send({ serverContent: { outputTranscription: { text: `${mark.slice(4)} now` } } })
      session.send({ toolCall: { functionCalls: [{ id: "1", name: "mail", args: { to: mark } }] } })
      session.send({ serverContent: { turnComplete: true }, usageMetadata: usage })
    }
    return withPolicy(
      "direction: inbound, match: { entities: [email] }, action: mask",
      script,
      async ({ open, twin, records }) => {
        const socket = await open()
        await socket.until(isReady)
        say(socket, "Write to ann@example.com please")
        await socket.until(isEnd)
        expect(JSON.stringify(twin.sessions[0]?.received)).not.toMatch(/ann@/)
        expect(spokenOf(socket)).toBe("Write to ann@example.com now")
        expect(JSON.stringify(socket.messages)).toMatch(/"args":\{"to":"ann@example.com"\}/)
        await expect.poll(async () => (await records())[0]?.policies).toMatchObject([{ did: "masked" }])
        socket.ws.close()
      },
    )
  })

  it.live("masks results of tools, by either name of the field", () =>
    withPolicy(
      "direction: inbound, match: { entities: [email] }, parts: [toolResults], action: mask",
      () => {},
      async ({ open, twin }) => {
        const socket = await open()
        await socket.until(isReady)
        const result = { id: "1", name: "who", response: { name: "ann@example.com" } }
        socket.send({ toolResponse: { functionResponses: [result] } })
        socket.send({ tool_response: { function_responses: [result] } })
        socket.send({
          clientContent: { turns: [{ parts: [{ function_response: result }, { text: "bob@example.com" }] }] },
        })
        await expect.poll(() => twin.sessions[0]?.received.length).toBe(3)
        expect(JSON.stringify(twin.sessions[0]?.received)).not.toMatch(/ann@/)
        expect(JSON.stringify(twin.sessions[0]?.received)).toMatch(/bob@/)
        socket.ws.close()
      },
    ),
  )
})

describe("an outbound policy that is enforced on streams", () => {
  const policy = `direction: outbound, ${keyword}, streams: enforce`

  it.live("ends the turn before the word, wherever it is split, and bills it", () => {
    const script: LiveScript = async (session) => {
      for (const word of ["a fine day", "a forbidden day", "another day"]) {
        await session.next("clientContent")
        for (const text of word) session.send({ serverContent: { outputTranscription: { text } } })
        session.send(soundMessage(Buffer.alloc(960)))
        session.send({ serverContent: { modelTurn: { parts: [{ text: word }] } } })
        session.send({ serverContent: { generationComplete: true } })
        session.send({ serverContent: { turnComplete: true }, usageMetadata: usage })
        if (word.includes("forbidden")) await session.next("clientContent")
      }
    }
    return withPolicy(policy, script, async ({ open, records }) => {
      const socket = await open()
      await socket.until(isReady)
      for (const turn of [1, 2, 3]) {
        say(socket, "And the day?")
        await socket.until(() => socket.messages.filter(isEnd).length === turn)
      }
      expect(JSON.stringify(socket.messages)).not.toMatch(/forbidden/)
      expect(spokenOf(socket)).not.toMatch(/forbidden/)
      expect(spokenOf(socket)).toMatch(/^a fine daya .*another day$/)
      expect(reasonsOf(socket)).toEqual([undefined, "RESPONSE_REJECTED", undefined])
      await expect.poll(async () => (await records()).length).toBe(3)
      expect((await records())[1]?.policies).toMatchObject([{ policy: "words", at: "reply", did: "denied" }])
      socket.ws.close()
    })
  })

  it.live("denies the arguments of a call", () => {
    const script: LiveScript = async (session) => {
      await session.next("clientContent")
      session.send({ toolCall: { functionCalls: [{ id: "1", name: "say", args: { text: "forbidden" } }] } })
      await session.next("clientContent")
      session.send({ serverContent: { turnComplete: true }, usageMetadata: usage })
    }
    return withPolicy(policy, script, async ({ open }) => {
      const socket = await open()
      await socket.until(isReady)
      say(socket, "Call it")
      await socket.until(isEnd)
      expect(JSON.stringify(socket.messages)).not.toMatch(/forbidden|toolCall/)
      expect(reasonsOf(socket)).toEqual(["RESPONSE_REJECTED"])
      socket.ws.close()
    })
  })
})
