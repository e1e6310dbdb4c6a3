/**
 * The bench's vendor: chat completions from memory, so that it costs little. The model's name selects the
 * answer: `short`, `frames-N` (at full speed), `large-N` (N frames of 64 KiB), `paced-N` (N frames, one each
 * PAUSE_MS on average, 20 ms when not set). Prints its port, and that for HTTP/2.
 */
import { createServer, type ServerResponse } from "node:http"
import { createSecureServer } from "node:http2"
import { Readable } from "node:stream"
import { WebSocketServer } from "ws"
import { portOf } from "../../src/testing/port.ts"
import { openaiBody, openaiFrame } from "../../src/testing/vendor-replies.ts"
import { certificate, privateKey } from "../../test/support/certificate.ts"
import { randomOf } from "../../test/support/random.ts"

const pauseMs = Number(process.env["PAUSE_MS"] ?? 20)

/** The JSON around the text in a chunk. */
const envelope = {
  id: "chatcmpl-CVdO5dpRjM4pWnRbXkBMBkkcUQmTz",
  object: "chat.completion.chunk",
  created: 1_767_225_600,
  model: "gpt-5-2025-08-07",
  service_tier: "default",
  system_fingerprint: "fp_0123456789",
}

const whole = openaiBody({ words: ["a short answer"], inTokens: 100, outTokens: 196 })
/** A reply with the other members that a vendor sends: some gateways refuse one without them. */
const body = JSON.stringify({ ...envelope, ...JSON.parse(whole) })
const chunk = (delta: object, finish_reason: string | null = null) =>
  openaiFrame({ ...envelope, choices: [{ index: 0, delta, logprobs: null, finish_reason }] })
const framesOf = (words: ReadonlyArray<string>): ReadonlyArray<string> => [
  chunk({ role: "assistant", content: "", refusal: null }),
  ...words.map((content) => chunk({ content })),
  chunk({}, "stop"),
  openaiFrame({
    ...envelope,
    choices: [],
    usage: { prompt_tokens: 100, completion_tokens: words.length, total_tokens: 100 + words.length },
  }),
  openaiFrame("[DONE]"),
]

/** About sixteen frames in a packet, like a busy vendor's socket. */
const packetsOf = (frames: ReadonlyArray<string>, size: number) =>
  Array.from({ length: Math.ceil(frames.length / size) }, (_, at) => frames.slice(at * size, at * size + size).join(""))

const known = new Map<string, ReadonlyArray<string>>()
const packetsFor = (kind: string, count: number): ReadonlyArray<string> => {
  const key = `${kind}-${count}`
  const made = known.get(key)
  if (made !== undefined) return made
  const word = (at: number) => (kind === "large" ? "x".repeat(64 * 1024) : `word${at} `)
  // Four frames of a stream carry no text: the opening, the stop, the usage and the end.
  const words = Array.from({ length: kind === "large" ? count : Math.max(1, count - 4) }, (_, at) => word(at))
  const [opening = "", first = "", ...others] = framesOf(words)
  // The opening without text comes with the first word: Weir answers at the first content, others at the first byte.
  const packets = packetsOf([opening + first, ...others], kind === "frames" ? 16 : 1)
  known.set(key, packets)
  return packets
}

const random = randomOf(1)

/** One frame at a time, with pauses, which differ: with equal ones, timers let all streams run in step. */
const pace = (response: ServerResponse, frames: ReadonlyArray<string>, at: number): void => {
  const frame = frames[at]
  if (frame === undefined || response.destroyed) {
    response.end()
    return
  }
  response.write(frame)
  setTimeout(pace, pauseMs * (0.5 + random()), response, frames, at + 1)
}

const send = (response: ServerResponse, packets: ReadonlyArray<string>, at: number): void => {
  const packet = packets[at]
  if (packet === undefined || response.destroyed) {
    response.end()
    return
  }
  if (response.write(packet)) setImmediate(send, response, packets, at + 1)
  else response.once("drain", () => send(response, packets, at + 1))
}

const searchBody = JSON.stringify({
  results: Array.from({ length: 8 }, (_, at) => ({
    title: `T${at}`,
    url: `https://x.test/${at}`,
    content: "A snippet",
  })),
})

const vector = Float32Array.from({ length: 1536 }, (_, at) => Math.sin(at) / 40)
const inBase64 = Buffer.from(vector.buffer).toString("base64")
const inNumbers = Array.from(vector, (value) => Number(value.toPrecision(8)))
const embeddings = new Map<string, Buffer>()
const embeddingsOf = (inputs: number, isBase64: boolean): Buffer => {
  const key = `${inputs} ${isBase64}`
  const made = embeddings.get(key)
  if (made !== undefined) return made
  const embedding = isBase64 ? inBase64 : inNumbers
  const text = JSON.stringify({
    object: "list",
    data: Array.from({ length: inputs }, (_, index) => ({ object: "embedding", index, embedding })),
    model: "e",
    usage: { prompt_tokens: 4 * inputs, total_tokens: 4 * inputs },
  })
  const body = Buffer.from(text)
  embeddings.set(key, body)
  return body
}
/** Texts of a request, each in quotes, between the brackets of `input`. */
const inputsOf = (text: string): number => {
  const input = /"input":\[([^\]]*)\]/.exec(text)?.[1]
  return input === undefined ? 1 : input.split('","').length
}

const transcript = JSON.stringify({ task: "transcribe", duration: 10, text: "words", segments: [] })
const soundPart = Buffer.alloc(256 * 1024, 1)

/** 100 MiB. */
function* sound(): Generator<Buffer> {
  for (let part = 0; part < 400; part++) yield soundPart
}

const picturePart = Buffer.alloc(256 * 1024, "A")

/** A picture of 95 MiB in base64, in JSON. */
function* picture(): Generator<Buffer> {
  yield Buffer.from('{"created":1,"data":[{"b64_json":"iVBORw0KGgo')
  for (let part = 0; part < 380; part++) yield picturePart
  yield Buffer.from('"}],"usage":{"input_tokens":20,"output_tokens":1000,"total_tokens":1020}}')
}

/** A server of tools without sessions, with one tool. */
const toolAnswer = (text: string): string => {
  const { id, method } = JSON.parse(text)
  const resultOf = () => {
    if (method === "server/discover") return { supportedVersions: ["2026-07-28"], capabilities: { tools: {} } }
    if (method === "tools/list")
      return { tools: [{ name: "look", description: "Looks", inputSchema: { type: "object" } }] }
    return { content: [{ type: "text", text: "The river is high. ".repeat(50) }], isError: false }
  }
  return JSON.stringify({ jsonrpc: "2.0", id, result: { resultType: "complete", ...resultOf() } })
}

const server = createServer({ keepAliveTimeout: 65_000 }, (request, response) => {
  if (request.method === "GET") {
    response.writeHead(200, { "content-type": "application/json" }).end(searchBody)
    return
  }
  if (request.url === "/v1/audio/transcriptions") {
    request.resume().on("end", () => {
      response.writeHead(200, { "content-type": "application/json" })
      response.end(transcript)
    })
    return
  }
  if (request.url === "/v1/audio/speech") {
    request.resume()
    response.writeHead(200, { "content-type": "audio/mpeg" })
    return Readable.from(sound()).pipe(response)
  }
  if (request.url === "/v1/images/generations") {
    request.resume()
    response.writeHead(200, { "content-type": "application/json" })
    return Readable.from(picture()).pipe(response)
  }
  let text = ""
  request.on("data", (chunk) => {
    text += chunk
  })
  request.on("end", () => {
    if (request.url === "/mcp") {
      response.writeHead(200, { "content-type": "application/json" })
      response.end(toolAnswer(text))
      return
    }
    if (request.url === "/v1/embeddings") {
      response.writeHead(200, { "content-type": "application/json" })
      response.end(embeddingsOf(inputsOf(text), text.includes(`"base64"`)))
      return
    }
    if (!text.includes(`"stream":true`)) {
      response.writeHead(200, { "content-type": "application/json" })
      response.end(body)
      return
    }
    response.writeHead(200, { "content-type": "text/event-stream" })
    const [, kind = "frames", count = "200"] = /(frames|paced|large)-(\d+)/.exec(text) ?? []
    const packets = packetsFor(kind, Number(count))
    if (kind === "paced") pace(response, packets, 0)
    else send(response, packets, 0)
  })
})

const overHttp2 = createSecureServer({ cert: certificate, key: privateKey })
overHttp2.on("request", (request, response) => server.emit("request", request, response))

/** A voice that gives a frame of sound for each that it hears, in one response without an end. */
const soundFrame = JSON.stringify({
  type: "response.output_audio.delta",
  event_id: "event_CVdO5dpRjM4pWnRbXkBMB",
  response_id: "resp_1",
  item_id: "item_CVdO5dpRjM4pWnRbXkBMB",
  output_index: 0,
  content_index: 0,
  delta: Buffer.alloc(960).toString("base64"),
})
const voices = new WebSocketServer({ noServer: true, perMessageDeflate: false })
server.on("upgrade", (request, socket, head) => {
  voices.handleUpgrade(request, socket, head, (ws) => {
    ws.send(JSON.stringify({ type: "session.created", session: { type: "realtime" } }))
    ws.on("message", (data: Buffer) => {
      const isSound = data.includes("input_audio_buffer.append")
      ws.send(isSound ? soundFrame : JSON.stringify({ type: "response.created", response: { id: "resp_1" } }))
    })
  })
})

server.listen(0, "127.0.0.1", 65_535, () => {
  overHttp2.listen(0, "127.0.0.1", () => console.log(`${portOf(server)} ${portOf(overHttp2)}`))
})
