/** Bytes of an event stream to its `data` payloads: Effect's SSE parser behind a streaming UTF-8 decoder. */
import { Sse } from "effect/encoding"

/** The largest single frame a vendor may send; images inside a frame are the largest that vendors do send. */
export const maxFrameBytes = 4 * 1024 * 1024

export interface SseFrames {
  /** Gives each payload that these bytes complete; false when a frame is over the limit. */
  readonly push: (bytes: Uint8Array) => boolean
  /** Gives a payload whose closing blank line never came. */
  readonly end: () => boolean
}

/** @param onData called with each frame's data, multi-line data joined by line feeds */
export const makeSseFrames = (onData: (data: string) => void): SseFrames => {
  const text = new TextDecoder("utf-8")
  const parser = Sse.makeParser((event) => event._tag === "Event" && onData(event.data), {
    maxEventSize: maxFrameBytes,
  })
  return {
    push: (bytes) => parser.feed(text.decode(bytes, { stream: true })) === undefined,
    end: () => parser.feed(`${text.decode()}\n\n`) === undefined,
  }
}
