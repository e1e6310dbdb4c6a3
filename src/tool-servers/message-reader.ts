/** Reads the messages of a server's reply, of one JSON value or of events, as they arrive. */
import { StringDecoder } from "node:string_decoder"
import { Sse } from "effect/encoding"
import { parseLongObject } from "../dialects/parse/json.ts"
import { type Message, readMessage } from "../protocol/mcp/message.ts"

/** A message, with its exact text. */
export interface ReadMessage {
  readonly message: Message
  readonly text: string
}

export class MessageReader {
  readonly #take: (read: ReadMessage) => void
  readonly #decoder = new StringDecoder("utf8")
  readonly #events: ReturnType<typeof Sse.makeParser> | undefined
  readonly #maxBytes: number
  #pieces: Array<string> = []
  #bytes = 0
  /** Whether the reply is too large, or has something that is no message. */
  isMalformed = false

  constructor(contentType: string, maxBytes: number, take: (read: ReadMessage) => void) {
    this.#take = take
    this.#maxBytes = maxBytes
    if (contentType.toLowerCase().startsWith("text/event-stream")) {
      this.#events = Sse.makeParser(
        (event) => {
          // Events without data, and those of other names, are no messages.
          if (event._tag === "Event" && event.data !== "" && event.event === "message") this.#read(event.data)
        },
        { maxEventSize: maxBytes },
      )
    }
  }

  push(bytes: Uint8Array): void {
    this.#bytes += bytes.length
    if (this.#bytes > this.#maxBytes) this.isMalformed = true
    if (this.isMalformed) return
    const text = this.#decoder.write(bytes)
    if (this.#events === undefined) this.#pieces.push(text)
    else if (this.#events.feed(text) !== undefined) this.isMalformed = true
  }

  end(): void {
    if (this.isMalformed) return
    if (this.#events !== undefined) {
      this.#events.feed("\n\n")
      return
    }
    const text = this.#pieces.join("")
    this.#pieces = []
    if (text.trim() !== "") this.#read(text)
  }

  #read(text: string): void {
    const message = readMessage(parseLongObject(text))
    if (message === undefined) this.isMalformed = true
    else this.#take({ message, text })
  }
}
