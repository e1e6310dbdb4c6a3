/** Encodes t.* events as messages of a socket that carries many exchanges, in frames: `{id, event, data}`. */
import { isPlainText, TwpEvents } from "../../kinds/chat/event-writer.ts"
import type { Delta, EventName } from "../../protocol/event.ts"
import { frameAround, frameOf, isAscii } from "./frames.ts"

export class SocketEvents extends TwpEvents {
  /** The socket has pings of its own. */
  readonly heartbeat = ""
  readonly #head: string
  /** Before the text of a delta of the first block. */
  readonly #textHead: string
  readonly #isPlain: boolean

  /** @param id as the client chose it */
  constructor(id: string) {
    super()
    this.#head = `{"id":${JSON.stringify(id)},`
    this.#textHead = `${this.#head}"event":"t.delta","data":{"i":0,"t":"text","v":`
    this.#isPlain = isAscii(this.#head)
  }

  /** A message that is no event. @param fields JSON without its braces */
  message(fields: string): string {
    return frameOf(`${this.#head}${fields}}`)
  }

  /** Deltas are written by hand, because they are frequent. */
  delta(delta: Delta, json?: string): string {
    const isPlain = this.#isPlain && delta.t === "text" && delta.i === 0
    return isPlain && isPlainText(delta)
      ? frameAround(this.#textHead, json ?? JSON.stringify(delta.v), "}}")
      : this.event("t.delta", JSON.stringify(delta))
  }

  protected event(name: EventName, json: string): string {
    return frameOf(`${this.#head}"event":"${name}","data":${json}}`)
  }
}
