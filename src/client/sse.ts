/** A parser of server-sent events. @see https://html.spec.whatwg.org/multipage/server-sent-events.html#parsing-an-event-stream */

export interface SentEvent {
  readonly id: string
  readonly event: string
  readonly data: string
}

/** Characters that an event may have. */
const mostPending = 10 * 1024 * 1024

/** Returns the events that each piece of text completes; undefined if one is too large. */
export const makeSseParser = (): ((text: string) => ReadonlyArray<SentEvent> | undefined) => {
  let pending = ""
  let id = ""
  let event = ""
  let data: Array<string> = []
  let dataLength = 0
  return (text) => {
    pending += text
    if (pending.length + dataLength > mostPending) return undefined
    if (!/[\r\n]/.test(text)) return []
    // A carriage return at the end may be the first half of a line's end.
    const lines = pending.split(/\r\n|\n|\r(?!$)/)
    pending = lines.pop() ?? ""
    const events: Array<SentEvent> = []
    for (const line of lines) {
      if (line === "") {
        if (data.length > 0) events.push({ id, event, data: data.join("\n") })
        event = ""
        data = []
        dataLength = 0
        continue
      }
      const colon = line.indexOf(":")
      const name = colon === -1 ? line : line.slice(0, colon)
      const value = colon === -1 ? "" : line.slice(colon + (line[colon + 1] === " " ? 2 : 1))
      if (name === "data") {
        data.push(value)
        dataLength += value.length + 1
      } else if (name === "event") event = value
      else if (name === "id") id = value
    }
    return events
  }
}
