/** Encodes t.* events as messages of a socket that carries many exchanges: `{id, event, data}`, one a line. */
import type { EventEncoder } from "../dialects/client-api.ts"
import type { ErrorBody } from "../protocol/error.ts"
import type { CloseEvent, Delta, EventName, ImageDelta, OpenEvent, WarnEvent } from "../protocol/event.ts"
import type { Usage } from "../protocol/usage.ts"

export class SocketEvents implements EventEncoder {
  /** The socket has pings of its own. */
  readonly heartbeat = ""
  readonly #head: string

  /** @param id as the client chose it */
  constructor(id: string) {
    this.#head = `{"id":${JSON.stringify(id)},`
  }

  /** A message that is no event. @param fields JSON without its braces */
  message(fields: string): string {
    return `${this.#head}${fields}}\n`
  }

  open(data: typeof OpenEvent.Type): string {
    return this.#event("t.open", JSON.stringify(data))
  }

  /** By hand where events are frequent. @param json the text in JSON, if it is already encoded */
  delta(delta: Delta, json?: string): string {
    return delta.t === "text" && delta.logprobs === undefined && delta.reply === undefined
      ? `${this.#head}"event":"t.delta","data":{"i":${delta.i},"t":"text","v":${json ?? JSON.stringify(delta.v)}}}\n`
      : this.#event("t.delta", JSON.stringify(delta))
  }

  picture(delta: typeof ImageDelta.Type): string {
    return this.#event("t.delta", JSON.stringify(delta))
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
    return `${this.#head}"event":"${name}","data":${json}}\n`
  }
}
