/** Sends sound to the client as it arrives. */
import type { ClientReply } from "../../calls/reply/reply.ts"
import type { Delivered, Reader } from "../../calls/vendor/work.ts"
import type { SpeechStream } from "../../dialects/media-dialect.ts"
import { malformedReply, type VendorFault } from "../../dialects/vendor/faults.ts"
import { speechMime } from "../../protocol/kinds/speech.ts"

export interface SoundReaderOptions<Body extends object> {
  readonly reply: ClientReply<Body>
  /** The first events of a stream; empty if the reply is bytes. */
  readonly opening: () => string
  readonly sent: (bytes: number) => void
  readonly whole: () => void
  /** The longest reply. */
  readonly maxBytes: number
}

export class SoundReader<Body extends object> implements Reader {
  readonly isStreamed = true
  readonly #stream: SpeechStream
  readonly #options: SoundReaderOptions<Body>
  #sound: ReadonlyArray<Uint8Array> = []
  #bytes = 0

  constructor(stream: SpeechStream, options: SoundReaderOptions<Body>) {
    this.#stream = stream
    this.#options = options
  }

  read(bytes: Uint8Array): boolean {
    this.#bytes += bytes.length
    return this.#take(this.#stream.push(bytes))
  }

  readEnd(): boolean {
    return this.#take(this.#stream.end())
  }

  get fault(): VendorFault | undefined {
    return this.#bytes > this.#options.maxBytes ? malformedReply : this.#stream.fault
  }

  deliver(isFirst: boolean): Delivered {
    const { reply, opening, sent, whole } = this.#options
    const text = isFirst ? opening() : ""
    if (text !== "") reply.write(text)
    const mime = speechMime[this.#stream.format]
    for (const bytes of this.#sound) {
      sent(bytes.length)
      reply.write(reply.events.sound?.(bytes, mime) ?? "")
    }
    this.#sound = []
    const { fault } = this
    if (fault !== undefined) return fault
    if (!this.#stream.isWhole) return "more"
    whole()
    return "whole"
  }

  #take(sound: ReadonlyArray<Uint8Array>): boolean {
    this.#sound = sound.filter(({ length }) => length > 0)
    return this.#sound.length > 0 || this.#stream.fault !== undefined || this.#stream.isWhole
  }
}
