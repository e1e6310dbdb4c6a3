/** Citations of a vendor reach clients of other APIs, streamed and whole. */
import { Schema } from "effect"
import { describe, expect, it } from "vitest"
import { citationsDelta } from "../../src/dialects/blocks.ts"
import type { ReplyContext } from "../../src/dialects/client-api.ts"
import { clientApis } from "../../src/dialects/client-apis.ts"
import type { VendorEvent } from "../../src/dialects/dialect.ts"
import { parseObject } from "../../src/dialects/json.ts"
import { CitedBlocks } from "../../src/kinds/chat/cited-blocks.ts"
import { UsageMeter } from "../../src/kinds/chat/usage-meter.ts"
import { ReplyBlock } from "../../src/protocol/block.ts"
import type { DialectName } from "../../src/protocol/catalogue.ts"
import { chatOf } from "./chat-of.ts"

const web = { url: "https://example.com/a", title: "A" }

const whole: Readonly<Partial<Record<DialectName, object>>> = {
  "openai-chat": {
    choices: [
      {
        index: 0,
        message: {
          role: "assistant",
          content: "Rain falls.",
          annotations: [{ type: "url_citation", url_citation: { ...web, start_index: 0, end_index: 4 } }],
        },
        finish_reason: "stop",
      },
    ],
  },
  "openai-responses": {
    status: "completed",
    output: [
      {
        type: "message",
        content: [
          {
            type: "output_text",
            text: "Rain falls.",
            annotations: [{ type: "url_citation", ...web, start_index: 0, end_index: 4 }],
          },
        ],
      },
    ],
  },
  gemini: {
    candidates: [
      {
        content: { parts: [{ text: "Rain falls." }] },
        finishReason: "STOP",
        groundingMetadata: {
          groundingChunks: [{ web: { uri: web.url, title: web.title } }],
          groundingSupports: [{ segment: { endIndex: 4, text: "Rain" }, groundingChunkIndices: [0] }],
        },
      },
    ],
  },
  anthropic: {
    stop_reason: "end_turn",
    content: [
      {
        type: "text",
        text: "Rain falls.",
        citations: [
          { type: "web_search_result_location", ...web, encrypted_index: "c2VhbGVk", cited_text: "It rains" },
        ],
      },
    ],
  },
  cohere: {
    finish_reason: "COMPLETE",
    message: {
      content: [{ type: "text", text: "Rain falls." }],
      citations: [{ start: 0, end: 4, text: "Rain", sources: [{ type: "document", id: "d1", document: web }] }],
    },
  },
  bedrock: {
    stopReason: "end_turn",
    output: {
      message: {
        content: [
          {
            citationsContent: {
              content: [{ text: "Rain falls." }],
              citations: [{ title: "A", location: { web: { url: web.url } } }],
            },
          },
        ],
      },
    },
  },
}

const citationsIn = (events: ReadonlyArray<VendorEvent>) =>
  events.flatMap((event) => (event.kind === "delta" && event.delta.t === "text" ? (event.delta.citations ?? []) : []))

const context: ReplyContext = { requestId: "req_1", model: "main", createdS: 0, includesUsage: true }
const usage = {
  inTokens: 1,
  outTokens: 1,
  cacheReadTokens: 0,
  cacheWriteTokens: 0,
  cost: "0",
  balance: "0",
  cacheNetSaving: "0",
  currency: "USD",
} as const

describe.each(Object.entries(whole))("a citation of %s", (name, body) => {
  const dialects: ReadonlyArray<DialectName> = [
    "openai-chat",
    "openai-responses",
    "gemini",
    "anthropic",
    "cohere",
    "bedrock",
  ]
  const vendor = chatOf({ dialect: dialects.find((one) => one === name) ?? "openai-chat" })
  const events = vendor.decodeBody(JSON.stringify(body))

  it("is read", () => {
    expect(citationsIn(events)).toMatchObject([web])
  })

  it.each(Object.entries(clientApis).filter(([api]) => api !== "openai-completions"))(
    "reaches a client of %s, streamed and whole",
    (api, client) => {
      const own = dialects.find((one) => one === api)
      if (own === undefined) return
      const meter = new UsageMeter({ keepsBlocks: true })
      for (const event of events) meter.add(event)
      const response = { requestId: "req_1", model: "main", blocks: [...meter.blocks()], stop: "end", usage } as const
      const written = JSON.stringify(client.whole(context, response))
      expect(parseObject(written)).toBeDefined()
      expect(citationsIn(chatOf({ dialect: own }).decodeBody(written))).toMatchObject([web])
      const stream = client.events(context)
      const text = [
        stream.open({ requestId: "req_1", model: "main", protocol: "twp/1" }),
        ...events.map((event) => (event.kind === "delta" ? stream.delta(event.delta) : "")),
        stream.close({ stop: "end", usage }),
      ].join("")
      const read = chatOf({ dialect: own }).decoder().push(Buffer.from(text))
      expect(citationsIn(read)).toMatchObject([web])
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
