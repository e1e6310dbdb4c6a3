/** The media of the simulated vendor: a plain picture, a tone, the length of a recording, and a job for a video. */
import { createHash } from "node:crypto"
import { crc32, deflateSync } from "node:zlib"
import { numberAt, stringAt } from "../dialects/parse/json.ts"
import type { VendorCall } from "../testing/scripted-vendor.ts"

export type MediaAnswer = { readonly json: object } | { readonly type: string; readonly bytes: Buffer }

/** The answer to a call about pictures or sound; undefined if the path is of none. */
export const answerMedia = ({ path, body, sent }: VendorCall): MediaAnswer | undefined => {
  switch (path) {
    case "/v1/images/generations":
      return { json: draw(stringAt(body, "prompt") ?? "", stringAt(body, "size"), numberAt(body, "n")) }
    case "/v1/images/edits":
      return { json: draw(sent.toString("latin1"), undefined, undefined) }
    case "/v1/audio/speech":
      return speak(stringAt(body, "input") ?? "", stringAt(body, "response_format"))
    case "/v1/audio/transcriptions":
    case "/v1/audio/translations":
      return { json: hear(sent) }
    case "/v1/videos":
      return { json: { id: `video_${Date.now()}`, object: "video", status: "queued", progress: 0 } }
    default:
      return path.startsWith("/v1/videos/video_") ? film(path.slice("/v1/videos/".length)) : undefined
  }
}

/** The time that a video takes. */
const filmMs = 2000

/** The state of a video; its id says when it was begun. Its content is the head of a file without pictures. */
const film = (place: string): MediaAnswer => {
  const [id = "", content] = place.split("/")
  if (content === "content") return { type: "video/mp4", bytes: Buffer.from("\0\0\0\u0010ftypisom\0\0\0\0", "latin1") }
  const progress = Math.min(100, Math.round(((Date.now() - Number(id.slice("video_".length))) / filmMs) * 100))
  return { json: { id, object: "video", status: progress < 100 ? "in_progress" : "completed", progress } }
}

const draw = (prompt: string, size = "256x256", n = 1): object => {
  const [width = 256, height = width] = size.split("x").map((side) => Number(side) || 256)
  const data = Array.from({ length: n }, (_, at) => {
    const color = createHash("sha256").update(`${prompt}${at}`).digest().subarray(0, 3)
    return { b64_json: pngOf(Math.min(width, 2048), Math.min(height, 2048), color).toString("base64") }
  })
  return { created: 0, data }
}

/** A picture of one colour. Source: https://www.w3.org/TR/png-3/ */
const pngOf = (width: number, height: number, color: Buffer): Buffer => {
  const head = Buffer.alloc(13)
  head.writeUInt32BE(width, 0)
  head.writeUInt32BE(height, 4)
  head.set([8, 2, 0, 0, 0], 8)
  const row = Buffer.concat([Buffer.alloc(1), Buffer.alloc(width * 3, color)])
  const rows = Buffer.concat(Array.from({ length: height }, () => row))
  const signature = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a])
  return Buffer.concat([
    signature,
    chunk("IHDR", head),
    chunk("IDAT", deflateSync(rows)),
    chunk("IEND", Buffer.alloc(0)),
  ])
}

const chunk = (type: string, data: Buffer): Buffer => {
  const named = Buffer.concat([Buffer.from(type, "latin1"), data])
  const [length, sum] = [Buffer.alloc(4), Buffer.alloc(4)]
  length.writeUInt32BE(data.length)
  sum.writeUInt32BE(crc32(named))
  return Buffer.concat([length, named, sum])
}

const rate = 24_000
/** The time for which a character is spoken. */
const secondsPerCharacter = 0.06

/** A tone as long as the text; silence if the format has to be compressed. */
const speak = (input: string, format = "mp3"): MediaAnswer => {
  const seconds = Math.min(60, input.length * secondsPerCharacter)
  if (format !== "wav" && format !== "pcm") return { type: "audio/mpeg", bytes: silence(seconds) }
  const samples = Buffer.alloc(Math.round(seconds * rate) * 2)
  for (let at = 0; at < samples.length / 2; at++) {
    samples.writeInt16LE(Math.round(8000 * Math.sin((2 * Math.PI * 440 * at) / rate)), at * 2)
  }
  return format === "pcm"
    ? { type: "audio/pcm", bytes: samples }
    : { type: "audio/wav", bytes: Buffer.concat([wavHead(samples.length), samples]) }
}

/** Frames of MPEG 1 layer III: 144 bytes and 36 ms each. */
const silence = (seconds: number): Buffer => {
  const frame = Buffer.alloc(144)
  frame.set([0xff, 0xfb, 0x18, 0xc0])
  return Buffer.concat(Array.from({ length: Math.ceil(seconds / 0.036) }, () => frame))
}

const wavHead = (bytes: number): Buffer => {
  const head = Buffer.alloc(44)
  head.write("RIFF", 0, "latin1")
  head.writeUInt32LE(36 + bytes, 4)
  head.write("WAVEfmt ", 8, "latin1")
  head.writeUInt32LE(16, 16)
  head.writeUInt16LE(1, 20)
  head.writeUInt16LE(1, 22)
  head.writeUInt32LE(rate, 24)
  head.writeUInt32LE(rate * 2, 28)
  head.writeUInt16LE(2, 32)
  head.writeUInt16LE(16, 34)
  head.write("data", 36, "latin1")
  head.writeUInt32LE(bytes, 40)
  return head
}

/** The length of a WAV file by its head; of anything else by its bytes. */
const hear = (sent: Buffer): object => {
  const at = sent.indexOf("RIFF")
  const perSecond = at === -1 ? 4000 : sent.readUInt32LE(at + 28)
  const duration = Math.max(0.1, (sent.length - Math.max(0, at)) / Math.max(1, perSecond))
  const text = `A recording of ${Math.round(duration)} seconds.`
  return {
    task: "transcribe",
    language: "english",
    duration,
    text,
    segments: [{ id: 0, start: 0, end: duration, text }],
    words: text.split(" ").map((word, index, all) => ({
      word,
      start: (duration * index) / all.length,
      end: (duration * (index + 1)) / all.length,
    })),
  }
}
