/**
 * Frames of `application/vnd.amazon.eventstream`: the codec checks the checksums of each frame and of its prelude.
 * Source: https://smithy.io/2.0/aws/amazon-eventstream.html
 */
import { createRequire } from "node:module"
import type { EventStreamCodec } from "@smithy/eventstream-codec"
import { maxFrameBytes } from "../parse/sse-frames.ts"

/** A frame: what it is, and its JSON. */
export interface EventFrame {
  readonly kind: "event" | "exception" | "error"
  readonly type: string
  readonly json: string
}

let codec: EventStreamCodec | undefined

/** Loaded with the first stream: a gateway without Bedrock does not load it. */
const codecOf = (): EventStreamCodec => {
  if (codec === undefined) {
    const library: typeof import("@smithy/eventstream-codec") = createRequire(import.meta.url)(
      "@smithy/eventstream-codec",
    )
    codec = new library.EventStreamCodec(
      (bytes) => (typeof bytes === "string" ? bytes : Buffer.from(bytes).toString("utf8")),
      (text) => Buffer.from(text, "utf8"),
    )
  }
  return codec
}

const lengthBytes = 4
/** Prelude, its checksum, and the checksum of the frame. */
const leastBytes = 16

/** Takes frames out of bytes that may be cut anywhere. */
export class EventFrames {
  #rest: Buffer = Buffer.alloc(0)
  /** A frame failed its checks: nothing after it can be read. */
  isBroken = false

  push(bytes: Uint8Array): ReadonlyArray<EventFrame> {
    if (this.isBroken) return []
    this.#rest = this.#rest.length === 0 ? Buffer.from(bytes) : Buffer.concat([this.#rest, bytes])
    const frames: Array<EventFrame> = []
    while (this.#rest.length >= lengthBytes) {
      const length = this.#rest.readUInt32BE(0)
      if (length < leastBytes || length > maxFrameBytes) {
        this.isBroken = true
        break
      }
      if (this.#rest.length < length) break
      const frame = readFrame(this.#rest.subarray(0, length))
      if (frame === undefined) {
        this.isBroken = true
        break
      }
      frames.push(frame)
      this.#rest = this.#rest.subarray(length)
    }
    return frames
  }
}

/** A frame with JSON. */
export const writeFrame = (kind: "event" | "exception", type: string, json: string): Uint8Array =>
  codecOf().encode({
    headers: {
      [`:${kind}-type`]: { type: "string", value: type },
      ":content-type": { type: "string", value: "application/json" },
      ":message-type": { type: "string", value: kind },
    },
    body: Buffer.from(json),
  })

const readFrame = (bytes: Uint8Array): EventFrame | undefined => {
  try {
    const { headers, body } = codecOf().decode(bytes)
    const header = (name: string) => String(headers[name]?.value ?? "")
    const json = Buffer.from(body).toString("utf8")
    switch (header(":message-type")) {
      case "event":
        return { kind: "event", type: header(":event-type"), json }
      case "exception":
        return { kind: "exception", type: header(":exception-type"), json }
      default:
        return { kind: "error", type: header(":error-code"), json }
    }
  } catch {
    return undefined
  }
}
