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

/** The sequence number of the last event of a text; undefined if it has none. */
export const lastNumber = (text: string): number | undefined => {
  const block = text.split("\n\n").findLast((each) => each !== "")
  const number = block === undefined ? Number.POSITIVE_INFINITY : numberOf(block)
  return Number.isFinite(number) ? number : undefined
}

/**
 * The events of a response that has ended.
 * @param response its JSON
 * @param last the number of the last event that is known; undefined if none is
 */
export const eventsOfEnded = (response: string, last: number | undefined): string => {
  const json = parseObject(response) ?? {}
  const status = lastEvents.find((each) => each === json["status"]) ?? "failed"
  if (last !== undefined) return event(`response.${status}`, last + 1, { response: json })
  let number = 0
  const begun = { response: { ...json, status: "in_progress", output: [], usage: null, error: null } }
  const first = [event("response.created", number++, begun), event("response.in_progress", number++, begun)]
  const items = placedObjectsAt(json, "output").map(([output_index, item]) => {
    const added = isObject(item) && "content" in item ? { ...item, status: "in_progress", content: [] } : item
    return (
      event("response.output_item.added", number++, { output_index, item: added }) +
      event("response.output_item.done", number++, { output_index, item })
    )
  })
  return [...first, ...items, event(`response.${status}`, number, { response: json })].join("")
}
