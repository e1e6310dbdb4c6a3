/**
 * A streamed reply: the bytes of one read of the vendor's socket are decoded, counted and written to the client in the
 * same turn of the event loop.
 */
import { type Decoder, type Dialect, malformed, type VendorEvent } from "../dialects/dialect.ts"
import type { ClientReply } from "./reply.ts"
import type { UsageMeter } from "./usage-meter.ts"
import { rejection, type VendorRejected } from "./vendor-errors.ts"

export class StreamPump {
  readonly #decoder: Decoder
  readonly #maxBytes: number
  #bytes = 0

  /** @param maxBytes of the vendor's reply */
  constructor(dialect: Dialect, maxBytes: number) {
    this.#decoder = dialect.decoder()
    this.#maxBytes = maxBytes
  }

  /** Whether a frame has arrived; keep-alives are not frames. */
  get hasFrame(): boolean {
    return this.#decoder.frames() > 0
  }

  /** The events in the bytes of one read. */
  decode(bytes: Uint8Array): ReadonlyArray<VendorEvent> {
    this.#bytes += bytes.length
    return this.#bytes > this.#maxBytes ? [malformed] : this.#decoder.push(bytes)
  }

  /** The events of a last line without a line break. */
  decodeEnd(): ReadonlyArray<VendorEvent> {
    return this.#decoder.end()
  }
}

/**
 * Counts events and writes them to the client.
 * @param opening what is written before them
 * @returns the fault that ends the reply, if there is one
 */
export const deliver = (
  events: ReadonlyArray<VendorEvent>,
  { meter, reply }: { readonly meter: UsageMeter; readonly reply: ClientReply | undefined },
  opening = "",
): VendorRejected | undefined => {
  let text = opening
  let fault: VendorRejected | undefined
  for (const event of events) {
    meter.add(event)
    if (event.kind === "delta" && reply !== undefined) text += reply.events.delta(event.delta, event.json)
    if (event.kind === "fault") fault = rejection(event.fault)
    // Anything after the terminal event is not part of the reply.
    if (event.kind === "fault" || event.kind === "done") break
  }
  if (text !== "") reply?.write(text)
  return fault
}
