/** The messages of OpenAI's Realtime API in a session. Pure. */
import { objectAt, parseObject, stringAt } from "../parse/json.ts"
import type { RealtimeMessages, VendorEvent, VendorMessage } from "../realtime-dialect.ts"
import { machineCode } from "../vendor/faults.ts"
import { openaiRates } from "./audio.ts"
import { isSoundEvent, readClientEvent } from "./client-events.ts"
import { type OpenAiEvent, readVendorEvent } from "./vendor-events.ts"

export const openaiMessages: RealtimeMessages = {
  api: "openai",
  rates: openaiRates,
  isSound: isSoundEvent,
  readClient: readClientEvent,
  makeReader: () => ({ read: (bytes) => messageOf(readVendorEvent(bytes)), settled: () => none }),
  cancel: (responseId) => JSON.stringify({ type: "response.cancel", response_id: responseId }),
  wordsOf: (bytes) => {
    const event = parseObject(bytes.toString("utf8"))
    const item = `${stringAt(event, "item_id") ?? ""} ${stringAt(event, "type") ?? ""}`
    return [item, stringAt(event, "delta") ?? ""]
  },
  joinsRequests: false,
  refusedCode: undefined,
}

const none: ReadonlyArray<VendorEvent> = []
const withoutEvents: VendorMessage = { events: none }

const messageOf = (event: OpenAiEvent): VendorMessage => {
  switch (event.is) {
    case "other":
      return withoutEvents
    case "transcribed":
      return { events: [{ is: "transcribed", usage: event.usage, speech: speechOf(event) }] }
    case "error":
      return { events: [{ is: "unanswered" }], ...(event.ofAccount && { sent: withoutText(event) }) }
    default:
      return { events: [event] }
  }
}

const speechOf = ({ event }: Extract<OpenAiEvent, { readonly is: "transcribed" }>) => {
  const item = stringAt(event, "item_id")
  return {
    words: stringAt(event, "transcript") ?? "",
    takeOut: item && JSON.stringify({ type: "conversation.item.delete", item_id: item }),
  }
}

/** An error of the vendor's account: its text is for operators. */
const withoutText = ({ event }: Extract<OpenAiEvent, { readonly is: "error" }>): string => {
  const error = objectAt(event, "error")
  return JSON.stringify({
    type: "error",
    event_id: stringAt(event, "event_id"),
    error: {
      type: machineCode(stringAt(error, "type")),
      code: machineCode(stringAt(error, "code")),
      message: "The upstream could not complete the request",
      param: null,
      event_id: stringAt(error, "event_id") ?? null,
    },
  })
}
