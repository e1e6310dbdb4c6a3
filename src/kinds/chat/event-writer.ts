/** Encodes t.* events as server-sent events: `id` counts from 0, `event`, one `data` line of JSON. */
import type { EventEncoder } from "../../dialects/client-api.ts"
import type { ErrorBody } from "../../protocol/error.ts"
import type { CloseEvent, Delta, EventName, ImageDelta, OpenEvent, WarnEvent } from "../../protocol/event.ts"
import type { Usage } from "../../protocol/usage.ts"

export class EventWriter implements EventEncoder {
  /** A comment that prevents load balancers from closing a silent stream. */
  readonly heartbeat = ": hb\n\n"
  #nextId = 0

  open(data: typeof OpenEvent.Type): string {
    return this.#event("t.open", JSON.stringify(data))
  }

  /**
   * The hot path: text deltas are by far the most frequent events and are concatenated by hand.
   * @param json the text in JSON, if it is already encoded
   */
  delta(delta: Delta, json?: string): string {
    return delta.t === "text" && delta.logprobs === undefined && delta.reply === undefined
      ? `id: ${this.#nextId++}\nevent: t.delta\ndata: {"i":${delta.i},"t":"text","v":${json ?? JSON.stringify(delta.v)}}\n\n`
      : this.#event("t.delta", JSON.stringify(delta))
  }

  picture(delta: typeof ImageDelta.Type): string {
    return this.#event("t.delta", JSON.stringify(delta))
  }

  sound(bytes: Uint8Array): string {
    const data = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString("base64")
    return this.#event("t.delta", `{"i":0,"t":"audio","data":"${data}"}`)
  }

  warn(data: WarnEvent): string {
    return this.#event("t.warn", JSON.stringify(data))
  }

  usage(data: Usage): string {
    return this.#event("t.usage", JSON.stringify(data))
  }

  close(data: typeof CloseEvent.Type): string {
    return this.#event("t.close", JSON.stringify(data))
  }

  error(data: ErrorBody): string {
    return this.#event("t.err", JSON.stringify(data))
  }

  #event(name: EventName, json: string): string {
    return `id: ${this.#nextId++}\nevent: ${name}\ndata: ${json}\n\n`
  }
}
