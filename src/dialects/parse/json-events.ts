/** Event streams whose events are JSON objects. */
import { StringDecoder } from "node:string_decoder"
import { Sse } from "effect/encoding"
import { type JsonObject, parseObject } from "./json.ts"

/** The largest event: a picture in base64. */
const maxEventBytes = 64 * 1024 * 1024

export class JsonEvents {
  readonly #decoder = new StringDecoder("utf8")
  readonly #parser: Sse.Parser
  #events: Array<JsonObject> = []
  /** Whether an event was no JSON, or too large. */
  isMalformed = false

  constructor() {
    this.#parser = Sse.makeParser(
      (event) => {
        if (event._tag !== "Event" || event.data === "[DONE]") return
        const json = parseObject(event.data)
        if (json === undefined) this.isMalformed = true
        else this.#events.push(json)
      },
      { maxEventSize: maxEventBytes },
    )
  }

  push(bytes: Uint8Array): ReadonlyArray<JsonObject> {
    return this.#feed(this.#decoder.write(bytes))
  }

  /** The connection ended: a last event may lack its blank line. */
  end(): ReadonlyArray<JsonObject> {
    return this.#feed(`${this.#decoder.end()}\n\n`)
  }

  #feed(text: string): ReadonlyArray<JsonObject> {
    if (this.#parser.feed(text) !== undefined) this.isMalformed = true
    const events = this.#events
    this.#events = []
    return events
  }
}
