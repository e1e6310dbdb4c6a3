/** OpenAI's SDK for Node over its own sockets, unchanged, and over TLS: its realtime client knows nothing else. */
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import OpenAI, { AzureOpenAI } from "openai"
import { OpenAIRealtimeWS } from "openai/realtime/ws"
import { ResponsesWS } from "openai/resources/responses/ws"
import { writeWholeFile } from "../../../../src/files/whole-file.ts"
import { answeringRealtime, realtimeUsage } from "../../../../src/testing/scripted-realtime.ts"
import { authority, issued } from "../../../support/certificate.ts"
import { startRealtimeGateway } from "../../../support/realtime-gateway.ts"

const dir = mkdtempSync(join(tmpdir(), "weir-sdk-"))
afterAll(() => rmSync(dir, { recursive: true, force: true }))
const tls = { cert: join(dir, "cert.pem"), key: join(dir, "key.pem") }
writeWholeFile(tls.cert, issued.server.cert)
writeWholeFile(tls.key, issued.server.key)

const spoken = { words: ["Hello", " there"], audioBytes: 960, parts: 2, usage: realtimeUsage(10, 20, 5, 40) }

type Use = (
  client: OpenAI,
  records: () => Promise<ReadonlyArray<object>>,
  place: { readonly endpoint: string; readonly apiKey: string },
) => Promise<void>

const withClient = (use: Use) =>
  Effect.scoped(
    Effect.flatMap(startRealtimeGateway(answeringRealtime(spoken), { config: { tls } }), ({ gateway, records }) =>
      Effect.promise(() => {
        const endpoint = gateway.baseUrl.replace(/^http:/, "https:")
        const apiKey = `${gateway.keyId}~${gateway.key}`
        return use(new OpenAI({ baseURL: `${endpoint}/openai/v1`, apiKey }), records, { endpoint, apiKey })
      }),
    ),
  )

describe("OpenAI's SDK", () => {
  it.live("ResponsesWS: a conversation", () =>
    withClient(async (client, records) => {
      const socket = new ResponsesWS(client, { ca: authority })
      let text = ""
      const ended: Array<string> = []
      const next = () =>
        new Promise<string>((resolve, reject) => {
          socket.once("response.completed", ({ response }) => resolve(response.id))
          socket.once("error", reject)
        })
      socket.on("response.output_text.delta", ({ delta }) => {
        text += delta
      })
      const first = next()
      socket.send({ type: "response.create", model: "main", input: "Hello" })
      ended.push(await first)
      const second = next()
      socket.send({ type: "response.create", model: "main", input: "And?", previous_response_id: ended[0] ?? null })
      ended.push(await second)
      expect(text).toBe("Hello thereHello there")
      expect(new Set(ended).size).toBe(2)
      expect(await records()).toHaveLength(2)
      socket.close()
    }),
  )

  it.live("OpenAIRealtimeWS: a response with sound", () =>
    withClient(async (client, records) => {
      const socket = new OpenAIRealtimeWS({ model: "voice", options: { ca: authority } }, client)
      const sound: Array<Buffer> = []
      let text = ""
      const done = new Promise((resolve, reject) => {
        socket.on("response.done", resolve)
        socket.on("error", reject)
      })
      socket.on("response.output_audio.delta", ({ delta }) => sound.push(Buffer.from(delta, "base64")))
      socket.on("response.output_audio_transcript.delta", ({ delta }) => {
        text += delta
      })
      socket.on("session.created", () => {
        socket.send({
          type: "session.update",
          session: { type: "realtime", model: "voice", instructions: "Be short." },
        })
        socket.send({ type: "input_audio_buffer.append", audio: Buffer.alloc(960).toString("base64") })
        socket.send({ type: "response.create" })
      })
      await done
      expect(text).toBe("Hello there")
      expect(Buffer.concat(sound)).toHaveLength(1920)
      await expect.poll(async () => (await records()).length).toBe(1)
      socket.close()
    }),
  )

  it.live("OpenAIRealtimeWS of Azure: a session with the model that is deployed", () =>
    withClient(async (_client, _records, { endpoint, apiKey }) => {
      const client = new AzureOpenAI({
        endpoint: `${endpoint}/azure`,
        apiKey,
        apiVersion: "2025-04-01-preview",
        deployment: "voice",
      })
      const socket = await OpenAIRealtimeWS.azure(client, { options: { ca: authority } })
      const created = await new Promise((resolve, reject) => {
        socket.on("session.created", resolve)
        socket.on("error", reject)
      })
      expect(created).toMatchObject({ type: "session.created" })
      socket.close()
    }),
  )
})
