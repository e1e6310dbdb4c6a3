/** Readers of a whole call's reply: a body at its end, or a vendor's events as they arrive. */
import type { Bill } from "../../calls/settle/bill.ts"
import type { BrokenReason } from "../../calls/settle/outcome.ts"
import { wholeBody } from "../../calls/vendor/whole-body.ts"
import type { Delivered, Reader } from "../../calls/vendor/work.ts"
import type { CallTarget } from "../../catalogue/snapshot.ts"
import type { JsonObject } from "../../dialects/parse/json.ts"
import { JsonEvents } from "../../dialects/parse/json-events.ts"
import { malformedReply, type VendorFault } from "../../dialects/vendor/faults.ts"
import type { LongParts } from "../../media/marked.ts"

/** A reply in events: as the vendor's events arrive, or all at its end. */
export interface WholeStream<Got> {
  readonly write: (events: string) => void
  /** The first events. */
  readonly opening: () => string
  /** The bill of a stream that broke off after its first event. */
  readonly brokenBill: (broken: BrokenReason) => Bill
  /** The events of a reply that came whole. */
  readonly told: (parts: ReadonlyArray<Got>) => string
  /** Reads an event of the vendor; undefined if it says nothing. */
  readonly event: (target: CallTarget, event: JsonObject) => VendorStep<Got> | undefined
}

export type VendorStep<Got> =
  | { readonly events: string }
  | { readonly whole: Got; readonly events: string }
  | { readonly fault: VendorFault }

/** Takes a body as a whole. */
export class BodyReader implements Reader {
  readonly isStreamed = false
  readonly #tell: () => void
  readonly #take: (body: Buffer, bytes: number) => VendorFault | undefined
  readonly #long: LongParts | undefined
  #chunks: Array<Uint8Array> = []
  #bytes = 0
  fault: VendorFault | undefined

  /**
   * @param tell sends the reply to a client that takes events
   * @param take reads a body, whose size includes its long parts, and returns the fault if it cannot be used
   * @param long takes its long parts out
   */
  constructor(tell: () => void, take: (body: Buffer, bytes: number) => VendorFault | undefined, long?: LongParts) {
    this.#tell = tell
    this.#take = take
    this.#long = long
  }

  read(bytes: Uint8Array): boolean {
    this.#bytes += bytes.length
    const read = this.#long === undefined ? bytes : this.#long.take(bytes)
    if (read.length > 0) this.#chunks.push(read)
    return false
  }

  written(): Promise<unknown> | undefined {
    return this.#long?.written?.()
  }

  readEnd(): boolean {
    if (this.#long?.rest !== undefined) this.#chunks.push(this.#long.rest())
    this.fault = this.#long?.isMalformed === true ? malformedReply : this.#take(wholeBody(this.#chunks), this.#bytes)
    this.#chunks = []
    return true
  }

  deliver(): Delivered {
    this.#tell()
    return "whole"
  }
}

interface EventListener<Got> {
  readonly begun: () => void
  readonly whole: (got: Got) => void
}

/** Takes a vendor's events, of which the last has the whole reply. */
export class EventReader<Got> implements Reader {
  readonly isStreamed = true
  readonly #decoder = new JsonEvents()
  readonly #stream: WholeStream<Got>
  readonly #target: CallTarget
  readonly #listener: EventListener<Got>
  readonly #long: LongParts | undefined
  #steps: Array<VendorStep<Got>> = []

  /** @param long takes the long parts out of events */
  constructor(stream: WholeStream<Got>, target: CallTarget, listener: EventListener<Got>, long?: LongParts) {
    this.#stream = stream
    this.#target = target
    this.#listener = listener
    this.#long = long
  }

  read(bytes: Uint8Array): boolean {
    return this.#read(this.#decoder.push(this.#long === undefined ? bytes : this.#long.take(bytes)))
  }

  written(): Promise<unknown> | undefined {
    return this.#long?.written?.()
  }

  readEnd(): boolean {
    return this.#read(this.#decoder.end())
  }

  get fault(): VendorFault | undefined {
    const [first] = this.#steps
    return first !== undefined && "fault" in first ? first.fault : undefined
  }

  deliver(isFirst: boolean): Delivered {
    let events = isFirst ? this.#stream.opening() : ""
    let delivered: Delivered = "more"
    for (const step of this.#steps.splice(0)) {
      if ("fault" in step) delivered = step.fault
      else events += step.events
      if (!("whole" in step) && !("fault" in step)) continue
      if ("whole" in step) {
        this.#listener.whole(step.whole)
        delivered = "whole"
      }
      break
    }
    if (events !== "") {
      this.#listener.begun()
      this.#stream.write(events)
    }
    return delivered
  }

  #read(events: ReadonlyArray<JsonObject>): boolean {
    for (const event of events) {
      const step = this.#stream.event(this.#target, event)
      if (step !== undefined && saysSomething(step)) this.#steps.push(step)
    }
    if (this.#decoder.isMalformed || this.#long?.isMalformed === true) this.#steps.push({ fault: malformedReply })
    return this.#steps.length > 0
  }
}

/** An empty delta has no content for a client. */
const saysSomething = <Got>(step: VendorStep<Got>): boolean =>
  !("events" in step) || "whole" in step || step.events !== ""
