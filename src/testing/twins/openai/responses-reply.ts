/** Replies of responses. Source: https://platform.openai.com/docs/api-reference/responses-streaming */
import { anthropicFrame as typedFrame } from "../frames.ts"
import { idOfCall, type TwinBlock, type TwinCitation, type WrittenReply } from "../twin.ts"
import { sealOf } from "./seal.ts"

const usageOf = ({ usage: { inTokens, outTokens, cachedTokens } }: WrittenReply) => ({
  input_tokens: inTokens,
  input_tokens_details: { cached_tokens: cachedTokens },
  output_tokens: outTokens,
  output_tokens_details: { reasoning_tokens: 0 },
  total_tokens: inTokens + outTokens,
})

const baseOf = ({ model, usage }: WrittenReply) => ({
  id: `resp_${usage.inTokens}`,
  object: "response",
  created_at: 1,
  model,
  error: null,
  instructions: null,
  metadata: {},
  parallel_tool_calls: true,
  temperature: 1,
  tool_choice: "auto",
  tools: [],
  top_p: 1,
})

const annotationOf = ({ url, title }: TwinCitation, end: number) => ({
  type: "url_citation",
  url,
  title,
  start_index: 0,
  end_index: end,
})

const partOf = (block: Extract<TwinBlock, { readonly t: "text" | "refusal" }>) => {
  if (block.t === "refusal") return { type: "refusal", refusal: block.text }
  const text = block.pieces.join("")
  return {
    type: "output_text",
    text,
    annotations: (block.citations ?? []).map((each) => annotationOf(each, text.length)),
    logprobs: [],
  }
}

/** No two items of a thread have the same id: it grows with each turn. */
const idAt = ({ usage }: WrittenReply, at: number): string => `${usage.inTokens}_${at}`

const itemOf = (block: TwinBlock, at: number, id: string): object => {
  switch (block.t) {
    case "text":
    case "refusal":
      return { type: "message", id: `msg_${id}`, status: "completed", role: "assistant", content: [partOf(block)] }
    case "reasoning": {
      const text = block.pieces.join("")
      return {
        type: "reasoning",
        id: `rs_${id}`,
        summary: text === "" ? [] : [{ type: "summary_text", text }],
        encrypted_content: sealOf(text),
      }
    }
    case "call": {
      const common = { status: "completed", call_id: idOfCall(block, at, "call_"), name: block.name }
      return block.text === undefined
        ? { type: "function_call", id: `fc_${id}`, ...common, arguments: block.args }
        : { type: "custom_tool_call", id: `ctc_${id}`, ...common, input: block.text }
    }
  }
}

const ending = ({ stop }: WrittenReply) => {
  if (stop === "max_tokens") return { status: "incomplete", incomplete_details: { reason: "max_output_tokens" } }
  return stop === "filtered"
    ? { status: "incomplete", incomplete_details: { reason: "content_filter" } }
    : { status: "completed", incomplete_details: null }
}

export const wholeResponse = (reply: WrittenReply): object => ({
  ...baseOf(reply),
  ...ending(reply),
  output: reply.blocks.map((block, at) => itemOf(block, at, idAt(reply, at))),
  usage: usageOf(reply),
})

type Event = { readonly type: string; readonly [key: string]: unknown }

const halvesOf = (text: string): ReadonlyArray<string> => {
  const middle = Math.ceil(text.length / 2)
  return [text.slice(0, middle), text.slice(middle)]
}

/** The events between an item's beginning and its end. */
const eventsOf = (block: TwinBlock, at: number, id: string): readonly [start: object, events: ReadonlyArray<Event>] => {
  switch (block.t) {
    case "text":
    case "refusal": {
      const place = { item_id: `msg_${id}`, output_index: at, content_index: 0 }
      const item = { type: "message", id: `msg_${id}`, status: "in_progress", role: "assistant", content: [] }
      const part = partOf(block)
      const added = { type: "response.content_part.added", ...place }
      const done = { type: "response.content_part.done", ...place, part }
      if (block.t === "refusal") {
        const { text } = block
        return [
          item,
          [
            { ...added, part: { type: "refusal", refusal: "" } },
            { type: "response.refusal.delta", ...place, delta: text },
            { type: "response.refusal.done", ...place, refusal: text },
            done,
          ],
        ]
      }
      const text = block.pieces.join("")
      return [
        item,
        [
          { ...added, part: { type: "output_text", text: "", annotations: [], logprobs: [] } },
          ...block.pieces.map((delta) => ({ type: "response.output_text.delta", ...place, delta, logprobs: [] })),
          ...(block.citations ?? []).map((each, index) => ({
            type: "response.output_text.annotation.added",
            ...place,
            annotation_index: index,
            annotation: annotationOf(each, text.length),
          })),
          { type: "response.output_text.done", ...place, text, logprobs: [] },
          done,
        ],
      ]
    }
    case "reasoning": {
      const place = { item_id: `rs_${id}`, output_index: at, summary_index: 0 }
      const text = block.pieces.join("")
      const part = { type: "summary_text", text }
      const summary = [
        { type: "response.reasoning_summary_part.added", ...place, part: { ...part, text: "" } },
        ...block.pieces.map((delta) => ({ type: "response.reasoning_summary_text.delta", ...place, delta })),
        { type: "response.reasoning_summary_text.done", ...place, text },
        { type: "response.reasoning_summary_part.done", ...place, part },
      ]
      return [{ type: "reasoning", id: `rs_${id}`, summary: [], encrypted_content: "" }, text === "" ? [] : summary]
    }
    case "call": {
      if (block.text !== undefined) {
        const place = { item_id: `ctc_${id}`, output_index: at }
        return [
          { ...itemOf(block, at, id), status: "in_progress", input: "" },
          [
            ...halvesOf(block.text).map((delta) => ({
              type: "response.custom_tool_call_input.delta",
              ...place,
              delta,
            })),
            { type: "response.custom_tool_call_input.done", ...place, input: block.text },
          ],
        ]
      }
      const place = { item_id: `fc_${id}`, output_index: at }
      return [
        { ...itemOf(block, at, id), status: "in_progress", arguments: "" },
        [
          ...halvesOf(block.args).map((delta) => ({ type: "response.function_call_arguments.delta", ...place, delta })),
          {
            type: "response.function_call_arguments.done",
            ...place,
            name: block.name,
            arguments: block.args,
          },
        ],
      ]
    }
  }
}

export const responseFrames = (reply: WrittenReply): ReadonlyArray<string> => {
  const response = { ...baseOf(reply), status: "in_progress", incomplete_details: null, output: [], usage: null }
  const whole = wholeResponse(reply)
  const last = ending(reply).status === "completed" ? "response.completed" : "response.incomplete"
  const events: ReadonlyArray<Event> = [
    { type: "response.created", response },
    { type: "response.in_progress", response },
    ...reply.blocks.flatMap((block, at): ReadonlyArray<Event> => {
      const id = idAt(reply, at)
      const [start, between] = eventsOf(block, at, id)
      return [
        { type: "response.output_item.added", output_index: at, item: start },
        ...between,
        { type: "response.output_item.done", output_index: at, item: itemOf(block, at, id) },
      ]
    }),
    { type: last, response: whole },
  ]
  return events.map((event, sequence_number) => typedFrame({ ...event, sequence_number }))
}
