/** A model's reply as lines of JSON, to be stored and given again unchanged. */

import type { CarryingNotes } from "../../calls/connection.ts"
import type { VendorEvent } from "../../dialects/chat-dialect.ts"

/** The values that the client got at the beginning. */
export interface ReplyNotes {
  readonly omittedTools?: ReadonlyArray<string> | undefined
  readonly omitted?: ReadonlyArray<string> | undefined
  readonly clamped?: ReadonlyArray<string> | undefined
  readonly carried?: CarryingNotes | undefined
}

export interface ReplyLine extends ReplyNotes {
  readonly events: ReadonlyArray<VendorEvent>
}

export const lineOf = ({ events, ...notes }: ReplyLine): string =>
  JSON.stringify({ ...notes, events: events.map(shortened) })

/** A text that came with its JSON is written once. */
const shortened = (event: VendorEvent): object =>
  event.kind === "delta" && event.json !== undefined && event.delta.t === "text"
    ? { ...event, delta: { ...event.delta, v: "" } }
    : event

const whole = (event: VendorEvent): VendorEvent =>
  event.kind === "delta" && event.json !== undefined && event.delta.t === "text"
    ? { ...event, delta: { ...event.delta, v: textOf(event.json) } }
    : event

const textOf = (json: string): string => {
  const text: unknown = JSON.parse(json)
  return typeof text === "string" ? text : ""
}

/** Undefined if this is no line. */
export const readLine = (line: string): ReplyLine | undefined => {
  const json: unknown = JSON.parse(line)
  return isLine(json) ? { ...json, events: json.events.map(whole) } : undefined
}

/** Lines are sealed by this program: only their form is checked. */
const isLine = (json: unknown): json is ReplyLine =>
  typeof json === "object" && json !== null && "events" in json && Array.isArray(json.events)
