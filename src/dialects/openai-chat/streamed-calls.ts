/**
 * Tool calls of a reply that vendors stream in many forms: calls with one index, without one, heads before all arguments,
 * names in a later chunk, arguments as an object. Each call is emitted whole before the next one begins.
 */

import { malformed, type VendorEvent } from "../chat-dialect.ts"
import { textCallOpen, textCallPart, toolCallArgs, toolCallOpen } from "../parse/blocks.ts"
import { isObject, type JsonObject, numberAt, objectAt, stringAt } from "../parse/json.ts"
import { JsonEnd } from "./json-end.ts"

interface StreamedCall {
  readonly id: string | undefined
  name: string
  /** Whether the call is of a tool that takes a text. */
  isText: boolean
  /** The part of its arguments, or of its text, that is not emitted yet: an emitted part is not read again. */
  untold: string
  /** The part of its arguments that was not searched for their end yet. */
  unread: string
  readonly end: JsonEnd
  /** Whether it has ended, and another one has begun. */
  isOver: boolean
  /** Its block; absent until it is emitted. */
  block?: number
}

export class StreamedCalls {
  /** Takes the number of the next block. */
  readonly #nextBlock: () => number
  readonly #atIndex = new Map<number, StreamedCall>()
  /** The call that is being emitted, and the calls that wait for its end. */
  readonly #open: Array<StreamedCall> = []
  #last: StreamedCall | undefined

  constructor(nextBlock: () => number) {
    this.#nextBlock = nextBlock
  }

  /** @param calls the calls of one chunk, or of a whole reply, where each is a call of its own */
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
      const part = custom === undefined ? argumentsIn(fn) : (stringAt(custom, "input") ?? "")
      if (call.isOver && part.trim() !== "") events.push(malformed)
      call.untold += part
      if (!call.isText) call.unread += part
    }
    if (isWhole) this.end(events)
    else this.#tell(events)
  }

  /** The end of the reply: all waiting calls are emitted. */
  end(events: Array<VendorEvent>): void {
    for (const call of this.#open.splice(0)) this.#tellOne(call, events)
  }

  /**
   * The call that a piece continues; undefined if it begins one. A vendor that makes up an id for each piece names its call
   * once.
   */
  #known(piece: JsonObject, index: number | undefined): StreamedCall | undefined {
    const known = index === undefined ? this.#last : this.#atIndex.get(index)
    const id = stringAt(piece, "id") || undefined
    const name = stringAt(objectAt(piece, "custom") ?? objectAt(piece, "function"), "name")
    const isOther = id !== undefined && known?.id !== undefined && id !== known.id
    return isOther && (name || index === undefined) ? undefined : known
  }

  #begin(piece: JsonObject): StreamedCall {
    const id = stringAt(piece, "id") || undefined
    const call: StreamedCall = {
      id,
      name: "",
      isText: false,
      untold: "",
      unread: "",
      end: new JsonEnd(),
      isOver: false,
    }
    this.#open.push(call)
    return call
  }

  /**
   * Emits the received part of the first open call. The call ends if another one waits and its arguments are whole. The end
   * of a text is known only at the end of the reply.
   */
  #tell(events: Array<VendorEvent>): void {
    for (;;) {
      const [call, next] = this.#open
      if (call === undefined || call.name === "") return
      this.#tellOne(call, events)
      if (next === undefined || !hasEnded(call)) return
      this.#open.shift()
      call.isOver = true
    }
  }

  #tellOne(call: StreamedCall, events: Array<VendorEvent>): void {
    if (call.block === undefined) {
      call.block = this.#nextBlock()
      const open = call.isText ? textCallOpen : toolCallOpen
      events.push(open(call.block, call.id ?? `call_${call.block}`, call.name))
    }
    const part = call.isText ? textCallPart : toolCallArgs
    if (call.untold !== "") events.push(part(call.block, call.untold))
    call.untold = ""
  }
}

/** Whether the arguments of a call are whole. */
const hasEnded = (call: StreamedCall): boolean => {
  if (call.isText) return false
  call.end.read(call.unread)
  call.unread = ""
  return call.end.isReached
}

/** Some vendors send the arguments as an object instead of its text. */
const argumentsIn = (fn: JsonObject | undefined): string => {
  const args = fn?.["arguments"]
  return isObject(args) ? JSON.stringify(args) : typeof args === "string" ? args : ""
}
