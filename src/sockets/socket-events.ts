/** Encodes t.* events as messages of a socket that carries many exchanges, in frames: `{id, event, data}`. */
import type { EventEncoder } from "../dialects/client-api.ts"
import type { ErrorBody } from "../protocol/error.ts"
import type { CloseEvent, Delta, EventName, ImageDelta, OpenEvent, WarnEvent } from "../protocol/event.ts"
import type { Usage } from "../protocol/usage.ts"
import { frameAround, frameOf, isAscii } from "./frames.ts"

export class SocketEvents implements EventEncoder {
  /** The socket has pings of its own. */
  readonly heartbeat = ""
  readonly #head: string
  /** Before the text of a delta of the first block. */
  readonly #textHead: string
  readonly #isPlain: boolean

  /** @param id as the client chose it */
  constructor(id: string) {
    this.#head = `{"id":${JSON.stringify(id)},`
    this.#textHead = `${this.#head}"event":"t.delta","data":{"i":0,"t":"text","v":`
    this.#isPlain = isAscii(this.#head)
  }

  /** A message that is no event. @param fields JSON without its braces */
  message(fields: string): string {
    return frameOf(`${this.#head}${fields}}`)
  }

  open(data: typeof OpenEvent.Type): string {
    return this.#event("t.open", JSON.stringify(data))
  }

  /** By hand where events are frequent. @param json the text in JSON, if it is already encoded */
  delta(delta: Delta, json?: string): string {
    const isPlain = this.#isPlain && delta.t === "text" && delta.i === 0
    return isPlain && delta.logprobs === undefined && delta.reply === undefined
      ? frameAround(this.#textHead, json ?? JSON.stringify(delta.v), "}}")
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
    return frameOf(`${this.#head}"event":"${name}","data":${json}}`)
  }
}
