/** Calls of functions that replace tools of texts: a client gets them in the form that it asked for. */
import type { VendorEvent } from "../../dialects/chat-dialect.ts"
import type { Delta } from "../../protocol/event.ts"
import { ArgumentText } from "./argument-text.ts"

interface OpenCall {
  readonly delta: Pick<Delta, "i" | "reply">
  readonly text: ArgumentText
}

const noEvents: ReadonlyArray<VendorEvent> = []

export class TextCalls {
  readonly #names: ReadonlySet<string>
  /** The call of each reply whose arguments are not whole yet. */
  readonly #open = new Map<number, OpenCall>()

  /** @param names of such functions */
  constructor(names: ReadonlyArray<string>) {
    this.#names = new Set(names)
  }

  translated(events: ReadonlyArray<VendorEvent>): ReadonlyArray<VendorEvent> {
    return events.flatMap((event) => this.#translate(event))
  }

  #translate(event: VendorEvent): ReadonlyArray<VendorEvent> {
    switch (event.kind) {
      case "usage":
      case "tier":
      case "region":
      case "frame":
        return [event]
      case "delta":
        return this.#translateDelta(event, event.delta)
      case "stop":
        return [...this.#end(event.reply ?? 0), event]
      default:
        return [...[...this.#open.keys()].flatMap((reply) => this.#end(reply)), event]
    }
  }

  #translateDelta(event: VendorEvent, delta: Delta): ReadonlyArray<VendorEvent> {
    const { i, reply } = delta
    const open = this.#open.get(reply ?? 0)
    if (delta.t === "tool_call" && open?.delta.i === i) return textOf(open, open.text.push(delta.args ?? ""))
    const before = this.#end(reply ?? 0)
    if (delta.t !== "tool_call" || delta.name === undefined || !this.#names.has(delta.name)) return [...before, event]
    const { args = "", ...head } = delta
    const call = { delta: { i, ...(reply !== undefined && { reply }) }, text: new ArgumentText() }
    this.#open.set(reply ?? 0, call)
    return [...before, { kind: "delta", delta: { ...head, text: call.text.push(args) } }]
  }

  /** The rest of the call that has ended. */
  #end(reply: number): ReadonlyArray<VendorEvent> {
    const call = this.#open.get(reply)
    if (call === undefined) return noEvents
    this.#open.delete(reply)
    return textOf(call, call.text.end())
  }
}

const textOf = ({ delta }: OpenCall, text: string): ReadonlyArray<VendorEvent> =>
  text === "" ? noEvents : [{ kind: "delta", delta: { ...delta, t: "tool_call", text } }]
