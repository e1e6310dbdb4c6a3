/** Reads a reply that is sent on as it arrives, and sees the values in its events. */
import { StringDecoder } from "node:string_decoder"
import { Sse } from "effect/encoding"
import type { Delivered, Reader } from "../../calls/vendor/work.ts"
import { isObject, parseObject } from "../../dialects/parse/json.ts"
import { malformedReply, type VendorFault } from "../../dialects/vendor/faults.ts"

export interface StreamListener {
  /** Sees a value of the reply before its bytes are sent. */
  readonly value: (json: Readonly<Record<string, unknown>>, text: string) => void
  /** The work that must be done before what was read is sent; undefined if there is none. */
  readonly written: () => Promise<unknown> | undefined
  /** Counts bytes. @returns the fault that ends the call */
  readonly count: (bytes: number) => VendorFault | undefined
  readonly send: (bytes: Uint8Array) => void
}

/** The largest event. */
const maxEventCharacters = 4 * 1024 * 1024

export class StreamReader implements Reader {
  readonly isStreamed = true
  readonly #listener: StreamListener
  readonly #texts: { readonly push: (text: string) => boolean; readonly end: () => void } | undefined
  readonly #decoder = new StringDecoder("utf8")
  #bytes: Array<Uint8Array> = []
  #writing: Promise<unknown> | undefined
  fault: VendorFault | undefined

  /** @param form of the reply; other replies have no values */
  constructor(listener: StreamListener, form: "events" | "lines" | "bytes") {
    this.#listener = listener
    const take = (text: string) => this.#take(text)
    this.#texts = form === "bytes" ? undefined : form === "events" ? eventTexts(take) : lineTexts(take)
  }

  read(bytes: Uint8Array): boolean {
    this.fault ??= this.#listener.count(bytes.length)
    if (this.#texts?.push(this.#decoder.write(bytes)) === false) this.fault ??= malformedReply
    this.#bytes.push(bytes)
    return true
  }

  readEnd(): boolean {
    this.#texts?.end()
    return true
  }

  written(): Promise<unknown> | undefined {
    const writing = this.#writing
    return writing?.then(() => {
      if (this.#writing !== writing) return
      this.#writing = undefined
      this.#flush()
    })
  }

  deliver(_isFirst: boolean, isEnd: boolean): Delivered {
    if (this.fault !== undefined) return this.fault
    // Ids at the end are recorded when the call has concluded.
    const due = isEnd ? undefined : this.#listener.written()
    if (due !== undefined) this.#writing = Promise.all([this.#writing, due])
    if (this.#writing === undefined) this.#flush()
    return isEnd ? "whole" : "more"
  }

  #flush(): void {
    for (const bytes of this.#bytes) this.#listener.send(bytes)
    this.#bytes = []
  }

  #take(text: string): void {
    const json = parseObject(text)
    if (json === undefined) return
    // The vendor's text about a failure stays here.
    if (isObject(json["error"])) this.fault ??= failedInStream
    this.#listener.value(json, text)
  }
}

const failedInStream: VendorFault = { status: 200, code: "error_in_stream", blame: "moment" }

const eventTexts = (take: (text: string) => void) => {
  const parser = Sse.makeParser(
    (event) => {
      if (event._tag === "Event") take(event.data)
    },
    { maxEventSize: maxEventCharacters },
  )
  return { push: (text: string) => parser.feed(text) === undefined, end: () => void parser.feed("\n\n") }
}

const lineTexts = (take: (text: string) => void) => {
  // A line may come in many pieces: they are joined once.
  let pieces: Array<string> = []
  let characters = 0
  const keep = (text: string) => {
    pieces.push(text)
    characters += text.length
  }
  const end = () => {
    take(pieces.join(""))
    pieces = []
    characters = 0
  }
  return {
    push: (text: string): boolean => {
      const [first = "", ...others] = text.split("\n")
      keep(first)
      for (const line of others) {
        end()
        keep(line)
      }
      return characters <= maxEventCharacters
    },
    end,
  }
}
