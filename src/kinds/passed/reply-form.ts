/** The form of a reply that is passed through, by its head. Pure. */
import { isEventStream, type UpstreamHead } from "../../upstream/client.ts"

export type ReplyForm = "json" | "events" | "lines" | "text" | "bytes"

/** Types of lines of JSON. */
export const lineTypes: ReadonlySet<string> = new Set([
  "application/x-ndjson",
  "application/ndjson",
  "application/jsonl",
  "application/x-jsonlines",
])

export const typeOf = (contentType: string | undefined): string =>
  contentType?.split(";", 1)[0]?.trim().toLowerCase() ?? ""

export const formOf = (head: UpstreamHead): ReplyForm => {
  const type = typeOf(head.headers["content-type"])
  if (type === "application/json" || type.endsWith("+json") || isEmpty(head)) return "json"
  if (type === "text/event-stream" && isEventStream(head)) return "events"
  if (lineTypes.has(type)) return "lines"
  return type.startsWith("text/") ? "text" : "bytes"
}

const isEmpty = ({ status, headers }: UpstreamHead): boolean => status === 204 || headers["content-length"] === "0"

/** Whether a reply is read whole: JSON always, other texts where policies review it. */
export const isRead = (form: ReplyForm, isReviewed: boolean): boolean =>
  form === "json" || (isReviewed && form !== "bytes")
