/**
 * The events of a response that runs without its client: it is queued before its vendor is asked, so that they begin with
 * three events of the gateway, and the rest is numbered after these. Pure.
 */

import { editJsonText, set } from "../../protocol/json/json-edit.ts"
import { parseObject } from "../parse/json.ts"
import { messagesOf } from "./socket.ts"

/** Events that a response has once, and errors: `response.failed` has the same. */
const leftOut: ReadonlySet<unknown> = new Set(["response.created", "response.queued", "response.in_progress", "error"])

export class NumberedEvents {
  #number = 0

  /** The first events. @param queued the response while it waits, @param running while it runs */
  begin(queued: string, running: string): string {
    return (
      this.#event("response.created", queued) +
      this.#event("response.queued", queued) +
      this.#event("response.in_progress", running)
    )
  }

  /** The last event of a response that came whole. @param response JSON */
  end(response: string): string {
    const { status } = parseObject(response) ?? {}
    return this.#event(status === "incomplete" ? "response.incomplete" : "response.completed", response)
  }

  /** Events of a vendor, or of a translated reply, without the first ones. */
  renumbered(events: string): string {
    return messagesOf(events)
      .map((json) => {
        const type = parseObject(json)?.["type"]
        if (typeof type !== "string" || leftOut.has(type)) return ""
        return `event: ${type}\ndata: ${editJsonText(json, [set(this.#number++, "sequence_number")])}\n\n`
      })
      .join("")
  }

  #event(type: string, response: string): string {
    return `event: ${type}\ndata: {"type":"${type}","sequence_number":${this.#number++},"response":${response}}\n\n`
  }
}
