/**
 * Tool calls of a reply that vendors stream in many forms: calls with one index, without one, heads before all arguments, names
 * in a later chunk, arguments as an object. Each is told whole before the next one begins.
 */
import { textCallOpen, textCallPart, toolCallArgs, toolCallOpen } from "../blocks.ts"
import type { VendorEvent } from "../dialect.ts"
import { isObject, type JsonObject, numberAt, objectAt, parseObject, stringAt } from "../json.ts"

interface StreamedCall {
  readonly id: string | undefined
  name: string
  /** Whether it is of a tool that takes a text. */
  isText: boolean
  /** Its arguments so far, or its text. */
  args: string
  /** The number of characters that are told. */
  told: number
  /** Its block; absent until it is told. */
  block?: number
}

export class StreamedCalls {
  /** Takes the number of the next block. */
  readonly #nextBlock: () => number
  readonly #atIndex = new Map<number, StreamedCall>()
  /** The call that is told, and those that wait for its end. */
  readonly #open: Array<StreamedCall> = []
  #last: StreamedCall | undefined
  /** The number of calls. */
  count = 0

  constructor(nextBlock: () => number) {
    this.#nextBlock = nextBlock
  }

  /** @param calls of one chunk, or of a whole reply: there each is a call of its own */
  read(calls: ReadonlyArray<JsonObject>, isWhole: boolean, events: Array<VendorEvent>): void {
    for (const [position, piece] of calls.entries()) {
      const index = numberAt(piece, "index") ?? (calls.length > 1 ? position : undefined)
      const call = (isWhole ? undefined : this.#known(piece, index)) ?? this.#begin(piece)
      if (index !== undefined) this.#atIndex.set(index, call)
      this.#last = call
      const custom = objectAt(piece, "custom")
      const fn = custom ?? objectAt(piece, "function")
      call.isText ||= custom !== undefined
      call.name ||= stringAt(fn, "name") ?? ""
      call.args += custom === undefined ? argumentsIn(fn) : (stringAt(custom, "input") ?? "")
    }
    this.#tell(events)
  }

  /** The end of the reply: whatever waits is told. */
  end(events: Array<VendorEvent>): void {
    for (const call of this.#open.splice(0)) this.#tellOne(call, events)
  }

  /** The call that a piece goes on; undefined if it begins one. A vendor that makes up an id for each piece names its call once. */
  #known(piece: JsonObject, index: number | undefined): StreamedCall | undefined {
    const known = index === undefined ? this.#last : this.#atIndex.get(index)
    const id = stringAt(piece, "id") || undefined
    const name = stringAt(objectAt(piece, "custom") ?? objectAt(piece, "function"), "name")
    const isOther = id !== undefined && known?.id !== undefined && id !== known.id
    return isOther && (name || index === undefined) ? undefined : known
  }

  #begin(piece: JsonObject): StreamedCall {
    const call: StreamedCall = { id: stringAt(piece, "id") || undefined, name: "", isText: false, args: "", told: 0 }
    this.#open.push(call)
    this.count++
    return call
  }

  /** Tells the first open call as far as it has come; it ends where another one waits and its arguments are whole. */
  #tell(events: Array<VendorEvent>): void {
    for (;;) {
      const [call, next] = this.#open
      if (call === undefined || call.name === "") return
      this.#tellOne(call, events)
      if (next === undefined || (!call.isText && parseObject(call.args) === undefined)) return
      this.#open.shift()
    }
  }

  #tellOne(call: StreamedCall, events: Array<VendorEvent>): void {
    if (call.block === undefined) {
      call.block = this.#nextBlock()
      const open = call.isText ? textCallOpen : toolCallOpen
      events.push(open(call.block, call.id ?? `call_${call.block}`, call.name))
    }
    const part = call.isText ? textCallPart : toolCallArgs
    if (call.told < call.args.length) events.push(part(call.block, call.args.slice(call.told)))
    call.told = call.args.length
  }
}

/** Some vendors send the arguments as an object instead of its text. */
const argumentsIn = (fn: JsonObject | undefined): string => {
  const args = fn?.["arguments"]
  return isObject(args) ? JSON.stringify(args) : typeof args === "string" ? args : ""
}
