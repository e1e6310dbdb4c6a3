/** Calls of functions that stand for tools of texts: a client gets them as it asked for them. */
import type { VendorEvent } from "../../dialects/dialect.ts"
import type { Delta } from "../../protocol/event.ts"
import { textOfArguments } from "./offer.ts"

interface OpenCall {
  readonly delta: Pick<Delta, "i" | "reply">
  args: string
}

export class TextCalls {
  readonly #names: ReadonlySet<string>
  /** Calls whose arguments are not whole yet. */
  #open: ReadonlyArray<OpenCall> = []

  /** @param names of such functions */
  constructor(names: ReadonlyArray<string>) {
    this.#names = new Set(names)
  }

  translated(events: ReadonlyArray<VendorEvent>): ReadonlyArray<VendorEvent> {
    return events.flatMap((event) => this.#translate(event))
  }

  #translate(event: VendorEvent): ReadonlyArray<VendorEvent> {
    if (event.kind === "usage" || event.kind === "tier" || event.kind === "frame") return [event]
    if (event.kind !== "delta" || event.delta.t !== "tool_call") return [...this.#end(), event]
    const { delta } = event
    const { i, reply } = delta
    const known = this.#open.find((call) => call.delta.i === i && call.delta.reply === reply)
    if (known !== undefined) {
      known.args += delta.args ?? ""
      return []
    }
    const before = this.#end()
    if (delta.name === undefined || !this.#names.has(delta.name)) return [...before, event]
    const { args = "", ...head } = delta
    this.#open = [...this.#open, { delta: { i, ...(reply !== undefined && { reply }) }, args }]
    return [...before, { kind: "delta", delta: { ...head, text: "" } }]
  }

  /** The texts of the calls that have ended. */
  #end(): ReadonlyArray<VendorEvent> {
    const ended = this.#open
    this.#open = []
    return ended.map(textOf)
  }
}

const textOf = ({ delta, args }: OpenCall): VendorEvent => ({
  kind: "delta",
  delta: { ...delta, t: "tool_call", text: textOfArguments(args) },
})
