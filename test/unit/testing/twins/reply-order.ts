/** The order of a stream and of a whole reply, by the documentation of a client's API. */
import type { ClientApiName } from "../../../../src/dialects/carry/carried-request.ts"
import {
  type JsonObject,
  numberAt,
  objectAt,
  objectsAt,
  parseObject,
  stringAt,
} from "../../../../src/dialects/parse/json.ts"

export const faultOfReply = (client: ClientApiName, whole: JsonObject, stream: string): string | undefined => {
  // A line ends with a line feed; other ends of lines in unicode stand inside of strings.
  const events = stream.split("\n").flatMap((line) => {
    const event = line.startsWith("data: ") ? parseObject(line.slice("data: ".length)) : undefined
    return event === undefined ? [] : [event]
  })
  switch (client) {
    case "openai-chat":
      return chatFault(whole, events) ?? (stream.endsWith("data: [DONE]\n\n") ? undefined : "no [DONE]")
    case "openai-responses":
      return responsesFault(whole, events)
    case "anthropic":
      return messagesFault(whole, events)
    case "gemini":
      return generateFault(whole, events)
  }
}

const chatFault = (whole: JsonObject, chunks: ReadonlyArray<JsonObject>): string | undefined => {
  const [choice] = objectsAt(whole, "choices")
  const hasCalls = objectsAt(objectAt(choice, "message"), "tool_calls").length > 0
  if (whole["object"] !== "chat.completion") return "object"
  if (hasCalls && choice?.["finish_reason"] !== "tool_calls") return `finish_reason ${choice?.["finish_reason"]}`
  const known = new Set<number>()
  for (const chunk of chunks) {
    if (chunk["object"] !== "chat.completion.chunk") return "object of a chunk"
    for (const call of objectsAt(objectAt(objectsAt(chunk, "choices")[0], "delta"), "tool_calls")) {
      const index = numberAt(call, "index")
      if (index === undefined) return "a call without index"
      if (!known.has(index) && (stringAt(call, "id") ?? "") === "") return "a call that begins without id"
      known.add(index)
    }
  }
  return undefined
}

const responsesFault = (whole: JsonObject, events: ReadonlyArray<JsonObject>): string | undefined => {
  const items = objectsAt(whole, "output")
  const bad = items.find(
    (item) => item["type"] === "function_call" && parseObject(stringAt(item, "arguments") ?? "") === undefined,
  )
  if (bad !== undefined) return `arguments ${bad["arguments"]}`
  const open = new Set<number>()
  for (const [at, event] of events.entries()) {
    const type = stringAt(event, "type") ?? ""
    if (numberAt(event, "sequence_number") !== at) return `sequence_number of ${type}`
    const index = numberAt(event, "output_index")
    if (type === "response.output_item.added" && index !== undefined) open.add(index)
    else if (type === "response.output_item.done" && index !== undefined) open.delete(index)
    else if (index !== undefined && !open.has(index)) return `${type} outside of its item`
  }
  if (open.size > 0) return "an item without end"
  const last = stringAt(events.at(-1), "type") ?? ""
  return /^response\.(completed|incomplete)$/.test(last) ? undefined : `the end is ${last}`
}

const messagesFault = (whole: JsonObject, events: ReadonlyArray<JsonObject>): string | undefined => {
  const blocks = objectsAt(whole, "content")
  const calls = blocks.some(({ type }) => type === "tool_use")
  if (calls !== (whole["stop_reason"] === "tool_use")) return `stop_reason ${whole["stop_reason"]}`
  let open: number | undefined
  let next = 0
  for (const event of events) {
    const index = numberAt(event, "index")
    if (event["type"] === "content_block_start") {
      if (open !== undefined || index !== next) return "a block begins within another"
      open = index
      next++
    } else if (event["type"] === "content_block_delta" && index !== open) return "a delta outside of its block"
    else if (event["type"] === "content_block_stop") {
      if (index !== open) return "a block ends that is not open"
      open = undefined
    }
  }
  if (events[0]?.["type"] !== "message_start") return "the beginning"
  return events.at(-1)?.["type"] === "message_stop" ? undefined : "the end"
}

const generateFault = (whole: JsonObject, chunks: ReadonlyArray<JsonObject>): string | undefined => {
  const [candidate] = objectsAt(whole, "candidates")
  if (stringAt(candidate, "finishReason") === undefined) return "finishReason"
  if (objectAt(candidate, "content")?.["role"] !== "model") return "role"
  return objectAt(chunks.at(-1), "usageMetadata") === undefined ? "usageMetadata" : undefined
}
