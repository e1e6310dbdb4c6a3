/** Encodes t.* events: as server-sent events here; other streams frame them in their own way. */
import type { EventEncoder } from "../../dialects/client/client-api.ts"
import type { ErrorBody } from "../../protocol/error.ts"
import type {
  CloseEvent,
  Delta,
  EventName,
  ImageDelta,
  OpenEvent,
  TextDelta,
  ToolResultDelta,
  WarnEvent,
} from "../../protocol/event.ts"
import type { Segment } from "../../protocol/kinds/transcription.ts"
import type { Usage } from "../../protocol/usage.ts"

/** The part that all streams of t.* events share; each stream frames an event in its own way. */
export abstract class TwpEvents implements EventEncoder {
  abstract readonly heartbeat: string

  /** @param json the text in JSON, if it is already encoded */
  abstract delta(delta: Delta, json?: string): string

  protected abstract event(name: EventName, json: string): string

  open(data: typeof OpenEvent.Type): string {
    return this.event("t.open", JSON.stringify(data))
  }

  toolResult(delta: ToolResultDelta): string {
    return this.event("t.delta", JSON.stringify(delta))
  }

  picture(delta: typeof ImageDelta.Type): string {
    return this.event("t.delta", JSON.stringify(delta))
  }

  segment(segment: Segment): string {
    return this.event("t.delta", JSON.stringify({ i: 0, t: "segment", ...segment }))
  }

  warn(data: WarnEvent): string {
    return this.event("t.warn", JSON.stringify(data))
  }

  usage(data: Usage): string {
    return this.event("t.usage", JSON.stringify(data))
  }

  close(data: typeof CloseEvent.Type): string {
    return this.event("t.close", JSON.stringify(data))
  }

  error(data: ErrorBody): string {
    return this.event("t.err", JSON.stringify(data))
  }
}

/** A delta that has a text and nothing else. */
export const isPlainText = ({ citations, logprobs, phase, reply }: typeof TextDelta.Type): boolean =>
  citations === undefined && logprobs === undefined && phase === undefined && reply === undefined

/** Server-sent events: `id` counts from 0, `event`, one `data` line of JSON. */
export class EventWriter extends TwpEvents {
  /** A comment that prevents load balancers from closing a silent stream. */
  readonly heartbeat = ": hb\n\n"
  #nextId = 0

  /** The hot path: text deltas are by far the most frequent events and are concatenated by hand. */
  delta(delta: Delta, json?: string): string {
    return delta.t === "text" && isPlainText(delta)
      ? `id: ${this.#nextId++}\nevent: t.delta\ndata: {"i":${delta.i},"t":"text","v":${json ?? JSON.stringify(delta.v)}}\n\n`
      : this.event("t.delta", JSON.stringify(delta))
  }

  sound(bytes: Uint8Array): string {
    const data = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString("base64")
    return this.event("t.delta", `{"i":0,"t":"audio","data":"${data}"}`)
  }

  protected event(name: EventName, json: string): string {
    return `id: ${this.#nextId++}\nevent: ${name}\ndata: ${json}\n\n`
  }
}
