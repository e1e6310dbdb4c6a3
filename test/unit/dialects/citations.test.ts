/** Citations of a vendor reach clients of other APIs, streamed and whole. */
import { Schema } from "effect"
import { describe, expect, it } from "vitest"
import type { VendorEvent } from "../../../src/dialects/chat-dialect.ts"
import { clientApis } from "../../../src/dialects/client/client-apis.ts"
import { citationsDelta } from "../../../src/dialects/parse/blocks.ts"
import { CitedBlocks } from "../../../src/kinds/chat/cited-blocks.ts"
import { UsageMeter } from "../../../src/kinds/chat/usage-meter.ts"
import { ReplyBlock } from "../../../src/protocol/block.ts"
import type { DialectName } from "../../../src/protocol/catalogue/vendor.ts"
import { chatOf } from "../../support/chat-of.ts"
import { citedReplies, web } from "./cited-replies.ts"
import { citationsTold, repliesTo } from "./told-citations.ts"

const citationsIn = (events: ReadonlyArray<VendorEvent>) =>
  events.flatMap((event) => (event.kind === "delta" && event.delta.t === "text" ? (event.delta.citations ?? []) : []))

const dialects: ReadonlyArray<DialectName> = [
  "openai-chat",
  "openai-responses",
  "gemini",
  "anthropic",
  "cohere",
  "bedrock",
]

describe.each(Object.entries(citedReplies))("a citation of %s", (name, { whole, stream }) => {
  const vendor = chatOf({ dialect: dialects.find((one) => one === name) ?? "openai-chat" })
  const events = vendor.decodeBody(JSON.stringify(whole))

  it("is read", () => {
    expect(citationsIn(events)).toMatchObject([web])
  })

  it.each(Object.entries(clientApis).filter(([api]) => api !== "openai-completions"))(
    "reaches a client of %s, streamed and whole, with the same place",
    (api, client) => {
      const own = dialects.find((one) => one === api)
      if (own === undefined) return
      const decoder = vendor.decoder()
      const parts = stream.flatMap((frame) => [...decoder.push(Buffer.from(frame))])
      const replies = [repliesTo(client, events), repliesTo(client, [...parts, ...decoder.end()])]
      for (const { whole: written, stream: text } of replies) {
        expect(citationsIn(chatOf({ dialect: own }).decodeBody(written))).toMatchObject([web])
        expect(citationsIn(chatOf({ dialect: own }).decoder().push(Buffer.from(text)))).toMatchObject([web])
      }
      const told = replies.flatMap((reply) => citationsTold(own, reply))
      // Claude and Bedrock cite a block, the others a part of their text.
      const words = "content" in whole || "stopReason" in whole ? "Rain." : "Ça dit:"
      const expected = own === "anthropic" && words !== "Rain." ? "Ça dit: Rain." : words
      for (const citations of told) expect(citations).toEqual([{ url: web.url, words: expected }])
    },
  )
})

it("places of Gemini are counted in characters", () => {
  const text = "Ça pleut à Genève."
  const from = Buffer.byteLength("Ça pleut à ")
  const candidate = {
    content: { parts: [{ text }] },
    finishReason: "STOP",
    groundingMetadata: {
      groundingChunks: [{ web: { uri: web.url, title: web.title } }],
      groundingSupports: [
        { segment: { startIndex: from, endIndex: Buffer.byteLength(text) - 1 }, groundingChunkIndices: [0] },
      ],
    },
  }
  const events = chatOf({ dialect: "gemini" }).decodeBody(JSON.stringify({ candidates: [candidate] }))
  expect(citationsIn(events)).toEqual([{ ...web, start: 11, end: 17 }])
})

it("addresses beside the choices are citations", () => {
  const choices = [{ index: 0, message: { role: "assistant", content: "Rain [1]." }, finish_reason: "stop" }]
  const read = (more: object) =>
    citationsIn(chatOf({ dialect: "openai-chat" }).decodeBody(JSON.stringify({ choices, ...more })))
  expect(read({ citations: [web.url] })).toEqual([{ url: web.url }])
  expect(read({ citations: [web.url], search_results: [web] })).toEqual([web])
})

it("a block has no more citations than a client can read", () => {
  const citations = (count: number) => Array.from({ length: count }, () => ({ url: "https://a.example" }))
  const blocks = new CitedBlocks()
  const meter = new UsageMeter({ keepsBlocks: true })
  for (const count of [600, 600, 2000]) {
    for (const told of blocks.limited([citationsDelta(0, citations(count))])) meter.add(told)
  }
  for (const told of blocks.limited([citationsDelta(1, citations(2000))])) meter.add(told)
  expect(meter.blocks().map((block) => Schema.is(ReplyBlock)(block))).toEqual([true, true])
  expect(meter.blocks()).toMatchObject([{ citations: { length: 1000 } }, { citations: { length: 1000 } }])
})

describe("a stream that cites late", () => {
  const read = (dialect: DialectName, frames: ReadonlyArray<object>) => {
    const decoder = chatOf({ dialect }).decoder()
    const events = frames.flatMap((frame) => [...decoder.push(Buffer.from(`data: ${JSON.stringify(frame)}\n\n`))])
    return [...events, ...decoder.end()].flatMap((event) =>
      event.kind === "delta" && event.delta.t === "text" && event.delta.citations !== undefined
        ? [[event.delta.i, ...event.delta.citations]]
        : [],
    )
  }
  const place = (start_index: number) => ({ ...web, start_index, end_index: start_index + 4 })

  it("cites the text before its calls", () => {
    const call = { index: 0, id: "c", function: { name: "f", arguments: "{}" } }
    const deltas = [
      { content: "Rain" },
      { reasoning: "Hm" },
      { content: "Snow" },
      { tool_calls: [call] },
      { annotations: [0, 4].map((start) => ({ type: "url_citation", url_citation: place(start) })) },
      { annotations: [{ type: "url_citation", url_citation: web }] },
    ]
    const frames = deltas.map((delta) => ({ choices: [{ index: 0, delta, finish_reason: null }] }))
    expect(read("openai-chat", frames)).toEqual([
      [0, { ...web, start: 0, end: 4 }],
      [2, { ...web, start: 0, end: 4 }],
      [2, web],
    ])
  })

  it("has those that only its end tells", () => {
    const annotations = [0, 4].map((start) => ({ type: "url_citation", ...place(start) }))
    const item = { type: "message", content: [{ type: "output_text", text: "RainSnow", annotations }] }
    const [annotation] = annotations
    const frames = [
      { type: "response.output_text.delta", output_index: 0, content_index: 0, delta: "RainSnow" },
      { type: "response.output_text.annotation.added", output_index: 0, content_index: 0, annotation },
      { type: "response.output_item.done", output_index: 0, item },
    ]
    expect(read("openai-responses", frames)).toEqual([
      [0, { ...web, start: 0, end: 4 }],
      [0, { ...web, start: 4, end: 8 }],
    ])
  })
})
