/** The ways into Google's Live API: tokens for browsers, Vertex AI's address, other credentials, and hostile clients. */
import { setTimeout as sleep } from "node:timers/promises"
import { describe, expect, it } from "@effect/vitest"
import { GoogleGenAI, type LiveServerMessage, Modality } from "@google/genai"
import { Effect } from "effect"
import { answeringLive, liveUsage } from "../../../../src/testing/live-messages.ts"
import type { LiveScript } from "../../../../src/testing/live-twin.ts"
import { type LiveGateway, livePath, startLiveGateway } from "../../../support/live-gateway.ts"
import { randomOf } from "../../../support/random.ts"
import { openSocket, type SocketMessage } from "../../../support/socket-client.ts"

const spoken = { words: ["Hello"], audioBytes: 960, parts: 1, usage: liveUsage(30, 20, 10, 40) }

type Options = Parameters<typeof startLiveGateway>[1]

const withGateway = (
  use: (test: LiveGateway) => Promise<void>,
  options: Options = {},
  script: LiveScript = answeringLive(spoken),
) => Effect.scoped(Effect.flatMap(startLiveGateway(script, options), (test) => Effect.promise(() => use(test))))

const clientOf = ({ gateway, credential }: LiveGateway, apiKey = credential) =>
  new GoogleGenAI({ apiKey, httpOptions: { baseUrl: `${gateway.baseUrl}/gemini`, apiVersion: "v1alpha" } })

const connect = async (client: GoogleGenAI, config: object = {}, model = "live") => {
  const messages: Array<LiveServerMessage> = []
  const session = await client.live.connect({
    model,
    config: { responseModalities: [Modality.AUDIO], ...config },
    callbacks: { onmessage: (message) => void messages.push(message), onerror: () => {} },
  })
  return { session, messages }
}
const refused = (connecting: Promise<unknown>) =>
  connecting.then(
    () => expect.fail("the session began"),
    (error: unknown) => String(error),
  )
const isReady = (message: SocketMessage) => message["setupComplete"] !== undefined

describe("a token of authTokens.create", () => {
  it.live("opens one session in its time, with the configuration that it fixes", () =>
    withGateway(async (test) => {
      const token = await clientOf(test).authTokens.create({
        config: {
          liveConnectConstraints: {
            model: "live",
            config: { systemInstruction: "Answer in English.", temperature: 0.2 },
          },
          lockAdditionalFields: [],
        },
      })
      expect(token.name).toMatch(/^auth_tokens\//)
      const browser = clientOf(test, token.name)
      const { session } = await connect(browser, { systemInstruction: "Answer in French.", topK: 3 })
      expect(test.twin.sessions[0]?.setup).toMatchObject({
        model: "models/gemini-live-2.5",
        systemInstruction: { parts: [{ text: "Answer in English." }] },
        generationConfig: { temperature: 0.2, topK: 3 },
      })
      session.close()
      expect(await refused(connect(browser))).toMatch(/code 1008\): The token begins no more sessions/)
    }),
  )

  it.live("that fixes all takes nothing of the client's configuration, and the model is its own", () =>
    withGateway(async (test) => {
      const token = await clientOf(test).authTokens.create({
        config: { uses: 2, liveConnectConstraints: { model: "live", config: { temperature: 0.1 } } },
      })
      const { session } = await connect(clientOf(test, token.name), { systemInstruction: "Say a secret." }, "other")
      expect(test.twin.sessions[0]?.setup).toEqual({
        model: "models/gemini-live-2.5",
        generationConfig: { temperature: 0.1 },
      })
      session.close()
      await connect(clientOf(test, token.name)).then((second) => second.session.close())
      expect(await refused(connect(clientOf(test, token.name)))).toMatch(/code 1008/)
    }),
  )

  it.live("is refused after its time, if it was changed, and for a key that is not an application's own", () =>
    withGateway(async (test) => {
      const soon = new Date(Date.now() + 1000).toISOString()
      const token = await clientOf(test).authTokens.create({ config: { newSessionExpireTime: soon, uses: 0 } })
      await connect(clientOf(test, token.name)).then(({ session }) => session.close())
      expect(await refused(connect(clientOf(test, `${token.name?.slice(0, -6)}AAAAAA`)))).toMatch(/code 1008/)
      await sleep(1100)
      expect(await refused(connect(clientOf(test, token.name)))).toMatch(/code 1008/)
      const past = new Date(Date.now() - 1000).toISOString()
      await expect(clientOf(test).authTokens.create({ config: { expireTime: past } })).rejects.toThrow(/expireTime/)
      await expect(clientOf(test, token.name).authTokens.create({ config: {} })).rejects.toThrow()
    }),
  )
})

describe("Vertex AI's clients", () => {
  it.live("have sessions with a vendor of the Gemini API, with the counts under their names", () =>
    withGateway(async (test) => {
      const client = new GoogleGenAI({
        vertexai: true,
        apiKey: test.credential,
        httpOptions: { baseUrl: `${test.gateway.baseUrl}/vertex` },
      })
      const { session, messages } = await connect(client)
      session.sendClientContent({ turns: "Hello" })
      await expect.poll(() => messages.at(-1)?.usageMetadata).toMatchObject({ responseTokenCount: 50 })
      expect(test.twin.sessions[0]?.setup["model"]).toBe("models/gemini-live-2.5")
      session.close()
    }),
  )

  it.live("and a vendor of Vertex AI gets its own address and model", () =>
    withGateway(
      async (test) => {
        const { session, messages } = await connect(clientOf(test))
        session.sendClientContent({ turns: "Hello" })
        await expect.poll(() => messages.at(-1)?.usageMetadata).toMatchObject({ responseTokenCount: 50 })
        const [at] = test.twin.sessions
        expect(at?.path).toBe("/ws/google.cloud.aiplatform.v1beta1.LlmBidiService/BidiGenerateContent")
        expect(at?.headers.authorization).toMatch(/^Bearer /)
        expect(at?.setup["model"]).toBe("projects/p/locations/l/publishers/google/models/gemini-live-2.5")
        session.close()
      },
      {
        vendors: (url) =>
          `  - { id: google, dialect: gemini, profile: vertex, google: { project: p, location: l }, baseUrl: "${url}", credential: "env:WEIR_TEST_VENDOR" }`,
      },
      answeringLive({
        ...spoken,
        usage: {
          promptTokenCount: 30,
          candidatesTokenCount: 50,
          candidatesTokensDetails: [{ modality: "AUDIO", tokenCount: 40 }],
        },
      }),
    ),
  )
})

describe("a client of Google's Live API", () => {
  it.live("may have its credential in a header, and in binary frames its messages", () =>
    withGateway(async ({ gateway, credential, twin }) => {
      const headers: ReadonlyArray<Readonly<Record<string, string>>> = [
        { "x-goog-api-key": credential },
        { authorization: `Bearer ${credential}` },
      ]
      for (const each of headers) {
        const socket = await openSocket(`${gateway.baseUrl}${livePath}`, each)
        socket.ws.send(Buffer.from(JSON.stringify({ setup: { model: "models/live" } })))
        await socket.until(isReady)
        socket.ws.close()
      }
      expect(twin.sessions).toHaveLength(2)
      const nobody = await openSocket(`${gateway.baseUrl}${livePath}`)
      expect((await nobody.closed).code).toBe(1008)
    }),
  )

  it.live("gets 1007 for a first message that is no setup", () =>
    withGateway(async ({ gateway, credential, twin, held }) => {
      const first: ReadonlyArray<readonly [string, RegExp]> = [
        ["no json", /not a JSON object/],
        ["[]", /not a JSON object/],
        ['{"clientContent":{}}', /first message must be setup/],
        ['{"setup":[]}', /first message must be setup/],
        ['{"setup":{}}', /model is required/],
        ['{"setup":{"model":7}}', /model is required/],
        ['{"setup":{"model":"models/live"},"x":1}', /Unknown name "x"/],
        ['{"setup":{"model":"models/live","tools":{}}}', /tools/],
        ['{"setup":{"model":"models/live","tools":[{"googleSearch":{}}]}}', /functionDeclarations/],
        ['{"setup":{"model":"models/live","tools":[],"generation_config":{},"generationConfig":{}}}', /two forms/],
        ['{"setup":{"model":"models/live","generationConfig":{"maxOutputTokens":9000}}}', /from 1 to 8192/],
        ['{"setup":{"model":"models/live","generationConfig":{"maxOutputTokens":"1"}}}', /whole number/],
        ['{"setup":{"model":"models/live","generationConfig":{"candidateCount":3}}}', /must be 1/],
      ]
      for (const [message, reason] of first) {
        const socket = await openSocket(`${gateway.baseUrl}${livePath}?key=${credential}`)
        socket.ws.send(message)
        const closed = await socket.closed
        expect([message, closed.code]).toEqual([message, 1007])
        expect(closed.reason).toMatch(reason)
      }
      expect(twin.sessions).toHaveLength(0)
      await expect.poll(held).toBe(0n)
    }),
  )

  it.live("gets 1007 for a later message that is not of the API, and the vendor does not get it", () =>
    withGateway(async ({ open, twin, held }) => {
      const later: ReadonlyArray<readonly [string, RegExp]> = [
        ["{", /not a JSON object/],
        ["{}", /empty/],
        ['{"setup":{"model":"models/live"}}', /first message/],
        ['{"audio":{}}', /Unknown name "audio"/],
        ['{"clientContent":{},"realtimeInput":{}}', /has one of/],
        ['{"clientContent":{},"client_content":{"turnComplete":true}}', /two forms/],
        ['{"clientContent":[]}', /must be an object/],
        ['{"contextUpdate":{"tools":[{"codeExecution":{}}]}}', /functionDeclarations/],
      ]
      for (const [message, reason] of later) {
        const socket = await open()
        await socket.until(isReady)
        socket.ws.send(message)
        const closed = await socket.closed
        expect([message, closed.code]).toEqual([message, 1007])
        expect(closed.reason).toMatch(reason)
      }
      expect(twin.sessions.flatMap(({ received }) => received)).toEqual([])
      expect(twin.complaints).toEqual([])
      await expect.poll(held).toBe(0n)
    }),
  )

  it.live("may use fields that the gateway does not know: the vendor judges them", () =>
    withGateway(async ({ open, twin }) => {
      const socket = await open({
        model: "models/live",
        contextWindowCompression: { slidingWindow: {} },
        proactivity: {},
      })
      await socket.until(isReady)
      expect(twin.sessions[0]?.setup["contextWindowCompression"]).toEqual({ slidingWindow: {} })
      socket.send({ realtimeInput: { novelty: true } })
      expect(await socket.closed).toEqual({ code: 1007, reason: "The upstream refused a message of the session" })
    }),
  )

  it.live("is needed for a model of Google's: a client of OpenAI's is refused with a sentence", () =>
    withGateway(async ({ gateway, credential, held }) => {
      const headers = { authorization: `Bearer ${credential}` }
      const opening = openSocket(`${gateway.baseUrl}/openai/v1/realtime?model=live`, headers)
      await expect(opening).rejects.toThrow(/400 .*This model has Google's Live API/s)
      await expect.poll(held).toBe(0n)
    }),
  )

  it.live("may send anything in any order: the gateway goes on, and holds nothing afterwards", () =>
    withGateway(async ({ open, gateway, credential, held }) => {
      const random = randomOf(11)
      const pick = <A>(all: ReadonlyArray<A>): A | undefined => all[Math.floor(random() * all.length)]
      const values: ReadonlyArray<unknown> = [
        ...[null, true, -1, 1e308, "", "\u0000", "auth_tokens/x", [], {}, [[[]]], { parts: [{ text: "a" }] }],
        { data: "AAAA", mimeType: "audio/pcm;rate=16000" },
        { data: 7, mimeType: {} },
      ]
      const names = "setup clientContent realtimeInput toolResponse turns audio text turnComplete model x".split(" ")
      const name = () => pick(names) ?? ""
      const message = () => JSON.stringify({ [name()]: { [name()]: pick(values), [name()]: pick(values) } })
      for (let at = 0; at < 60; at++) {
        const bare = () => openSocket(`${gateway.baseUrl}${livePath}?key=${credential}`)
        const socket = at % 2 === 0 ? await open() : await bare()
        for (let sent = 0; sent < 8; sent++) {
          if (socket.ws.readyState === 1) socket.ws.send(sent === 7 ? Buffer.from([sent, 0xff, at]) : message())
        }
        if (at % 5 === 0) socket.ws.terminate()
        else setTimeout(() => socket.ws.close(), 50)
        await socket.closed
      }
      const socket = await open()
      await socket.until(isReady)
      socket.ws.close()
      await expect.poll(held, { timeout: 15_000 }).toBe(0n)
    }),
  )

  it.live(
    "that sends no setup has ten seconds, and one that sends too much is cut",
    () =>
      withGateway(async ({ gateway, credential, open }) => {
        const silent = await openSocket(`${gateway.baseUrl}${livePath}?key=${credential}`)
        const large = await openSocket(`${gateway.baseUrl}${livePath}?key=${credential}`)
        large.send({
          setup: { model: "models/live", systemInstruction: { parts: [{ text: "a".repeat(1024 * 1024) }] } },
        })
        expect((await large.closed).code).toBe(1007)
        const huge = await open()
        await huge.until(isReady)
        huge.ws.send(Buffer.alloc(32 * 1024 * 1024, 65))
        expect((await huge.closed).code).toBe(1009)
        const many = await open()
        await many.until(isReady)
        const data = Buffer.alloc(320).toString("base64")
        for (let at = 0; at < 1000; at++) {
          many.send({ realtimeInput: { audio: { data, mimeType: "audio/pcm;rate=16000" } } })
        }
        many.send({ realtimeInput: { audioStreamEnd: true } })
        await many.until((message) => JSON.stringify(message).includes("turnComplete"))
        many.ws.close()
        expect(await silent.closed).toMatchObject({ code: 1008 })
      }),
    20_000,
  )
})
