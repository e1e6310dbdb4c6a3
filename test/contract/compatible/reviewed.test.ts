/** Policies read all that a carried request says to its model, and no word of its API. */
import { describe, expect, it } from "vitest"
import { newTestIds, testCatalogue } from "../../../src/testing/index.ts"
import { useGateway } from "../../support/gateway.ts"
import { ask, modelsAt, serving } from "./served.ts"

const ids = newTestIds()
const policies = `
policies:
  - { id: words, direction: inbound, match: { keywords: [forbidden, assistant, input_text] }, reason: bad_word }
`
const gateway = useGateway({
  ids,
  catalogue: (urls) =>
    serving(testCatalogue(urls, ids, policies), {
      models: modelsAt(
        { chat: "openai", resp: "responses", cl: "anthropic", gem: "gemini" },
        "maxOutput: 10000, capabilities: [tools, reasoning, images, files]",
      ),
    }).replace(/(- \{ id: org_\w+, name: Test,)/, "$1 policies: [words],"),
})

const parts = (...texts: ReadonlyArray<string>) => texts.map((text) => ({ type: "text", text }))
const [chat, responses, messages] = ["/openai/v1/chat/completions", "/openai/v1/responses", "/anthropic/v1/messages"]
const gemini = "/gemini/v1beta/models/gem:generateContent"
const asksTool = { role: "assistant", content: [{ type: "tool_use", id: "a", name: "f", input: {} }] }
const toClaude = (...thread: ReadonlyArray<object>) => ({
  model: "cl",
  max_tokens: 100,
  messages: [{ role: "user", content: "Hi" }, ...thread],
})

describe("a word is found", () => {
  it.each<[string, string, object]>([
    [
      "that is split over parts of a result of Anthropic's",
      messages,
      toClaude(asksTool, {
        role: "user",
        content: [{ type: "tool_result", tool_use_id: "a", content: parts("forb", "idden") }],
      }),
    ],
    [
      "that is split over the content of a document",
      messages,
      toClaude({
        role: "user",
        content: [{ type: "document", source: { type: "content", content: parts("forb", "idden") } }],
      }),
    ],
    [
      "in the data of a text document of a result",
      messages,
      toClaude(asksTool, {
        role: "user",
        content: [
          {
            type: "tool_result",
            tool_use_id: "a",
            content: [{ type: "document", source: { type: "text", media_type: "text/plain", data: "forbidden" } }],
          },
        ],
      }),
    ],
    [
      "that is split over messages of one role",
      messages,
      toClaude({ role: "user", content: parts("forb") }, { role: "user", content: "idden" }),
    ],
    [
      "that is split over a tool's parts in chat",
      chat,
      {
        model: "chat",
        messages: [
          { role: "user", content: "Hi" },
          {
            role: "assistant",
            tool_calls: [{ id: "a", type: "function", function: { name: "f", arguments: "{}" } }],
          },
          { role: "tool", tool_call_id: "a", content: parts("forb", "idden") },
        ],
      },
    ],
    [
      "that is split over the output of a call of responses",
      responses,
      {
        model: "resp",
        input: [
          { role: "user", content: "Hi" },
          { type: "function_call", call_id: "a", name: "f", arguments: "{}" },
          {
            type: "function_call_output",
            call_id: "a",
            output: ["forb", "idden"].map((text) => ({ type: "input_text", text })),
          },
        ],
      },
    ],
    [
      "that is split over the summary of a sealed thought",
      responses,
      {
        model: "resp",
        input: [
          {
            type: "reasoning",
            id: "rs_1",
            summary: ["forb", "idden"].map((text) => ({ type: "summary_text", text })),
            encrypted_content: "c2VhbA==",
          },
          { role: "user", content: "Hi" },
        ],
      },
    ],
    [
      "that is split over turns between which one is left out",
      chat,
      {
        model: "cl",
        messages: [
          { role: "user", content: "forb" },
          { role: "assistant", content: "", reasoning_content: "Hm" },
          { role: "user", content: "idden" },
        ],
      },
    ],
    [
      "in a text that is said to be a picture",
      chat,
      {
        model: "gem",
        messages: [
          {
            role: "user",
            content: [
              { type: "text", text: "Hi" },
              { type: "image_url", image_url: { url: "data:text/plain;base64,Zm9yYmlkZGVu" } },
            ],
          },
        ],
      },
    ],
    [
      "in a member's name",
      chat,
      {
        model: "chat",
        messages: [{ role: "user", content: "Hi" }],
        response_format: { type: "json_object", schema: { properties: { forbidden: {} } } },
      },
    ],
    [
      "in a member that holds addresses elsewhere",
      messages,
      {
        ...toClaude(),
        tools: [
          { name: "f", input_schema: { type: "object" }, input_examples: [{ url: "forbidden", type: "forbidden" }] },
        ],
      },
    ],
    [
      "in the base64 of a text that stands in no document",
      messages,
      toClaude({
        role: "user",
        content: [
          {
            type: "document",
            source: {
              type: "content",
              content: [
                {
                  type: "document",
                  source: {
                    type: "base64",
                    media_type: "text/plain",
                    data: Buffer.from(`${"A text. ".repeat(10)} forbidden`).toString("base64"),
                  },
                },
              ],
            },
          },
        ],
      }),
    ],
    [
      "behind escapes of arguments",
      chat,
      {
        model: "chat",
        messages: [
          { role: "user", content: "Hi" },
          {
            role: "assistant",
            tool_calls: [
              { id: "a", type: "function", function: { name: "f", arguments: String.raw`{"q":"forb\u0069dden"}` } },
            ],
          },
          { role: "tool", tool_call_id: "a", content: "A" },
        ],
      },
    ],
    [
      "that is split over parts with a role",
      messages,
      toClaude({
        role: "user",
        content: [
          {
            type: "document",
            source: {
              type: "content",
              content: [
                { type: "text", text: "forb", role: "user" },
                { type: "text", text: "idden", role: "user" },
              ],
            },
          },
        ],
      }),
    ],
    [
      "that is split over Gemini's parts",
      gemini,
      { contents: [{ role: "user", parts: [{ text: "forb" }, { text: "idden" }] }] },
    ],
    [
      "that is split over Gemini's contents",
      gemini,
      {
        contents: [
          { role: "user", parts: [{ text: "forb" }] },
          { role: "user", parts: [{ text: "idden" }] },
        ],
      },
    ],
  ])("%s", async (_name, path, body) => {
    const calls = gateway().vendor.calls.length
    const { status, text } = await ask(gateway(), path, body)
    expect({ status, text }).toMatchObject({ status: 403, text: expect.stringContaining("policy denied") })
    expect(gateway().vendor.calls.length).toBe(calls)
  })
})

it("no word of an API is taken for one of its client", async () => {
  const thread = [
    { type: "message", role: "user", content: [{ type: "input_text", text: "Hi" }] },
    { type: "message", role: "assistant", content: [{ type: "output_text", text: "Hi", annotations: [] }] },
    { type: "message", role: "user", content: [{ type: "input_text", text: "Well" }] },
  ]
  const { text } = await ask(gateway(), responses, { model: "resp", input: thread })
  expect(text).not.toContain("policy denied")
})
