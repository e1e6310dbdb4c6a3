/** One reply of each vendor, whole and streamed, with a citation in a text that is not ASCII. */
import type { DialectName } from "../../../src/protocol/catalogue/vendor.ts"
import { anthropicFrame, bedrockFrame, openaiFrame } from "../../../src/testing/vendor-replies.ts"

export const web = { url: "https://example.com/a", title: "A" }

interface CitedReply {
  readonly whole: object
  readonly stream: ReadonlyArray<string | Uint8Array>
}

const lead = "Ça dit: "
const place = { start_index: 0, end_index: 7 }
const chatAnnotation = { type: "url_citation", url_citation: { ...web, ...place } }
const responsesAnnotation = { type: "url_citation", ...web, ...place }
const grounding = {
  groundingChunks: [{ web: { uri: web.url, title: web.title } }],
  groundingSupports: [{ segment: { endIndex: 8, text: "Ça dit:" }, groundingChunkIndices: [0] }],
}
const sealed = { type: "web_search_result_location", ...web, encrypted_index: "c2VhbGVk", cited_text: "It rains" }
const cohereCitation = {
  start: 0,
  end: 7,
  text: "Ça dit:",
  sources: [{ type: "document", id: "d1", document: web }],
  type: "TEXT_CONTENT",
  content_index: 1,
}
const bedrockCitation = { title: "A", location: { web: { url: web.url } } }

const chunk = (delta: object, finish_reason: string | null = null) =>
  openaiFrame({ choices: [{ index: 0, delta, finish_reason }] })
const responsesFrame = (type: string, more: object) => anthropicFrame({ type, output_index: 0, ...more })
const candidate = (parts: ReadonlyArray<object>, more: object = {}) => ({
  candidates: [{ index: 0, content: { role: "model", parts }, ...more }],
})
const message = {
  type: "message",
  content: [{ type: "output_text", text: `${lead}Rain.`, annotations: [responsesAnnotation] }],
}
const anthropicDelta = (index: number, delta: object) => anthropicFrame({ type: "content_block_delta", index, delta })
const cohereContent = (index: number, content: object) =>
  openaiFrame({ type: "content-delta", index, delta: { message: { content } } })

export const citedReplies: Readonly<Partial<Record<DialectName, CitedReply>>> = {
  "openai-chat": {
    whole: {
      choices: [
        {
          index: 0,
          message: { role: "assistant", content: `${lead}Rain.`, annotations: [chatAnnotation] },
          finish_reason: "stop",
        },
      ],
    },
    stream: [
      chunk({ role: "assistant", content: "" }),
      chunk({ annotations: [chatAnnotation] }),
      chunk({ content: lead }),
      chunk({ content: "Rain." }),
      chunk({}, "stop"),
    ],
  },
  "openai-responses": {
    whole: { status: "completed", output: [message] },
    stream: [
      responsesFrame("response.output_text.delta", { content_index: 0, delta: lead }),
      responsesFrame("response.output_text.delta", { content_index: 0, delta: "Rain." }),
      responsesFrame("response.output_item.done", { item: message }),
      responsesFrame("response.completed", { response: { status: "completed", output: [message] } }),
    ],
  },
  gemini: {
    whole: candidate([{ text: `${lead}Rain.` }], { finishReason: "STOP", groundingMetadata: grounding }),
    // Sources come before what they support.
    stream: [
      candidate([{ text: lead }], { groundingMetadata: { groundingChunks: grounding.groundingChunks } }),
      candidate([{ text: "Rain." }], { groundingMetadata: grounding }),
      candidate([{ text: "" }], { finishReason: "STOP" }),
    ].map(openaiFrame),
  },
  anthropic: {
    whole: {
      stop_reason: "end_turn",
      content: [
        { type: "text", text: lead },
        { type: "text", text: "Rain.", citations: [sealed] },
        { type: "text", text: " Snow." },
      ],
    },
    // A citation comes before its text.
    stream: [
      anthropicFrame({ type: "message_start", message: { content: [], usage: { input_tokens: 1 } } }),
      anthropicFrame({ type: "content_block_start", index: 0, content_block: { type: "text", text: "" } }),
      anthropicDelta(0, { type: "text_delta", text: lead }),
      anthropicFrame({ type: "content_block_stop", index: 0 }),
      anthropicFrame({
        type: "content_block_start",
        index: 1,
        content_block: { type: "text", text: "", citations: [] },
      }),
      anthropicDelta(1, { type: "citations_delta", citation: sealed }),
      anthropicDelta(1, { type: "text_delta", text: "Ra" }),
      anthropicDelta(1, { type: "text_delta", text: "in." }),
      anthropicFrame({ type: "content_block_stop", index: 1 }),
      anthropicFrame({ type: "content_block_start", index: 2, content_block: { type: "text", text: "" } }),
      anthropicDelta(2, { type: "text_delta", text: " Snow." }),
      anthropicFrame({ type: "content_block_stop", index: 2 }),
      anthropicFrame({ type: "message_delta", delta: { stop_reason: "end_turn" }, usage: { output_tokens: 1 } }),
      anthropicFrame({ type: "message_stop" }),
    ],
  },
  cohere: {
    whole: {
      finish_reason: "COMPLETE",
      message: {
        content: [
          { type: "thinking", thinking: "Hm." },
          { type: "text", text: `${lead}Rain.` },
        ],
        citations: [cohereCitation],
      },
    },
    stream: [
      cohereContent(0, { thinking: "Hm." }),
      cohereContent(1, { text: lead }),
      openaiFrame({ type: "citation-start", index: 0, delta: { message: { citations: cohereCitation } } }),
      cohereContent(1, { text: "Rain." }),
      openaiFrame({ type: "message-end", delta: { finish_reason: "COMPLETE" } }),
    ],
  },
  bedrock: {
    whole: {
      stopReason: "end_turn",
      output: {
        message: {
          content: [
            { text: lead },
            { citationsContent: { content: [{ text: "Rain." }], citations: [bedrockCitation] } },
          ],
        },
      },
    },
    stream: [
      bedrockFrame("contentBlockDelta", { contentBlockIndex: 0, delta: { text: lead } }),
      bedrockFrame("contentBlockDelta", { contentBlockIndex: 1, delta: { citation: bedrockCitation } }),
      bedrockFrame("contentBlockDelta", { contentBlockIndex: 1, delta: { text: "Rain." } }),
      bedrockFrame("messageStop", { stopReason: "end_turn" }),
      bedrockFrame("metadata", { usage: { inputTokens: 1, outputTokens: 1 } }),
    ],
  },
}
