/** Events of a response that are read again: from a sequence number on, or made of the response when they are gone. Pure. */
import { isObject, parseObject, placedObjectsAt } from "../parse/json.ts"
import { messagesOf } from "./socket.ts"

/** The events of a text whose sequence numbers are greater than one. */
export const eventsAfter = (text: string, after: number): string =>
  after < 0
    ? text
    : text
        .split("\n\n")
        .filter((block) => block !== "" && numberOf(block) > after)
        .map((block) => `${block}\n\n`)
        .join("")

/** An event without a number, such as an error, is never left out. */
const numberOf = (block: string): number => {
  const number = parseObject(messagesOf(`${block}\n\n`)[0] ?? "")?.["sequence_number"]
  return typeof number === "number" ? number : Number.POSITIVE_INFINITY
}

const lastEvents = ["completed", "incomplete", "failed", "cancelled"] as const
const atEnd = new RegExp(`^event: response\\.(?:${lastEvents.join("|")})$`, "m")

/** Whether a text of events has the last one of its response. */
export const hasEnd = (text: string): boolean => atEnd.test(text)

const event = (type: string, sequence_number: number, data: object): string =>
  `event: ${type}\ndata: ${JSON.stringify({ type, sequence_number, ...data })}\n\n`

/**
 * The events of a response that has ended.
 * @param response its JSON
 * @param isBegun whether its reader has its first events
 */
export const eventsOfEnded = (response: string, isBegun: boolean, from: number): string => {
  const json = parseObject(response) ?? {}
  const status = lastEvents.find((each) => each === json["status"]) ?? "failed"
  let number = from
  if (isBegun) return event(`response.${status}`, number, { response: json })
  const begun = { response: { ...json, status: "in_progress", output: [], usage: null, error: null } }
  const items = placedObjectsAt(json, "output").map(([output_index, item]) => {
    const added = isObject(item) && "content" in item ? { ...item, status: "in_progress", content: [] } : item
    return (
      event("response.output_item.added", number++, { output_index, item: added }) +
      event("response.output_item.done", number++, { output_index, item })
    )
  })
  const first = [event("response.created", number++, begun), event("response.in_progress", number++, begun)]
  return [...first, ...items, event(`response.${status}`, number, { response: json })].join("")
}
