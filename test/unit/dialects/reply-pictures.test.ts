/** Pictures with which models of chat answer reach clients whose API supports them, streamed and whole; others get a warning. */
import { describe, expect, it } from "vitest"
import { clientApis } from "../../../src/dialects/client/client-apis.ts"
import { type JsonObject, objectAt, objectsAt, parseObject, stringAt } from "../../../src/dialects/parse/json.ts"
import { pictureIn } from "../../../src/dialects/vendor/reply-pictures.ts"
import { tokensOfPrompt } from "../../../src/kinds/chat/prompt-tokens.ts"
import type { DialectName } from "../../../src/protocol/catalogue/vendor.ts"
import { chatOf } from "../../support/chat-of.ts"
import { framesOf, repliesTo } from "./told-citations.ts"

const data = "iVBORw0KGgoAAAANSUhEUg=="
const url = `data:image/png;base64,${data}`
const vendors: ReadonlyArray<readonly [DialectName, object]> = [
  [
    "gemini",
    {
      candidates: [
        {
          content: { parts: [{ text: "Look:" }, { inlineData: { mimeType: "image/png", data } }] },
          finishReason: "STOP",
        },
      ],
    },
  ],
  [
    "openai-chat",
    {
      choices: [
        {
          index: 0,
          message: { role: "assistant", content: "Look:", images: [{ type: "image_url", image_url: { url } }] },
          finish_reason: "stop",
        },
      ],
    },
  ],
  [
    "openai-responses",
    {
      status: "completed",
      output: [
        { type: "message", content: [{ type: "output_text", text: "Look:" }] },
        { type: "image_generation_call", id: "ig_1", status: "completed", result: data },
      ],
    },
  ],
]

/** The pictures that a client reads, of a whole reply and of a stream. */
const told: Readonly<Record<string, (reply: JsonObject) => ReadonlyArray<string | undefined>>> = {
  "openai-chat": (reply) =>
    objectsAt(reply, "choices")
      .flatMap((choice) => objectsAt(objectAt(choice, "message") ?? objectAt(choice, "delta"), "images"))
      .map((image) => stringAt(objectAt(image, "image_url"), "url")),
  "openai-responses": (reply) => {
    const isDone = reply["type"] === "response.output_item.done"
    const items = isDone ? [objectAt(reply, "item") ?? {}] : objectsAt(reply, "output")
    return items.flatMap((item) => {
      const result = stringAt(item, "result")
      return item["type"] === "image_generation_call" ? [`data:image/png;base64,${result}`] : []
    })
  },
  gemini: (reply) =>
    objectsAt(reply, "candidates")
      .flatMap((candidate) => objectsAt(objectAt(candidate, "content"), "parts"))
      .flatMap((part) => objectsAt({ parts: [part["inlineData"]] }, "parts"))
      .map((inline) => `data:${stringAt(inline, "mimeType")};base64,${stringAt(inline, "data")}`),
}

const omittedIn = (reply: JsonObject) => objectAt(reply, "x_svc")?.["blocks_omitted"]

describe.each(vendors)("a picture of %s", (dialect, body) => {
  const events = chatOf({ dialect }).decodeBody(JSON.stringify(body))

  it.each(Object.entries(clientApis))("reaches a client of %s, or is told", (api, client) => {
    const { whole, stream } = repliesTo(client, events)
    const replies: ReadonlyArray<ReadonlyArray<JsonObject>> = [[parseObject(whole) ?? {}], framesOf(stream)]
    const read = told[api]
    for (const reply of replies) {
      expect(reply.flatMap((frame) => read?.(frame) ?? [])).toEqual(read === undefined ? [] : [url])
      const omitted = dialect === "openai-responses" ? "image_generation_call" : "inlineData"
      expect(reply.flatMap((frame) => omittedIn(frame) ?? [])).toEqual(read === undefined ? [omitted] : [])
    }
  })
})

it("what a model draws while it thinks is no picture of its reply", () => {
  expect(
    pictureIn({ dialect: "gemini", v: JSON.stringify({ thought: true, inlineData: { mimeType: "image/png", data } }) }),
  ).toBe(undefined)
})

it("a picture that comes back counts as one, whatever its bytes", () => {
  const v = JSON.stringify({
    type: "image_generation_call",
    id: "ig_1",
    result: `${data.slice(0, -2)}${"A".repeat(1e6)}`,
  })
  const thread = [{ role: "assistant" as const, blocks: [{ t: "vendor" as const, dialect: "openai" as const, v }] }]
  expect(tokensOfPrompt(thread, [])).toBeLessThan(2000)
})
