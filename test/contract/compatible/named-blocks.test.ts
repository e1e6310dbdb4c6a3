/** Errors about a block name it as its client does: instructions, empty texts and cache points before it do not count. */
import { describe, expect, it } from "vitest"
import { useGateway } from "../../support/gateway.ts"
import { ask } from "./served.ts"

const gateway = useGateway()
const data = "%%"
const url = `data:image/png;base64,${data}`
const empty = { type: "text", text: "" }

describe("a block whose data is not base64", () => {
  it.each([
    [
      "/anthropic/v1/messages",
      "messages.0.content.1.data",
      {
        max_tokens: 9,
        system: "Be short.",
        messages: [
          {
            role: "user",
            content: [
              { type: "text", text: "Hi" },
              { type: "image", source: { type: "base64", media_type: "image/png", data } },
            ],
          },
        ],
      },
    ],
    [
      "/openai/v1/chat/completions",
      "messages.1.content.1.data",
      {
        messages: [
          { role: "system", content: "Be short." },
          { role: "user", content: [{ ...empty }, { type: "image_url", image_url: { url } }] },
        ],
      },
    ],
    [
      "/openai/v1/responses",
      "input.0.content.1.data",
      {
        instructions: "Be short.",
        input: [
          {
            role: "user",
            content: [
              { type: "input_text", text: "Hi" },
              { type: "input_image", image_url: url },
            ],
          },
        ],
      },
    ],
    [
      "/gemini/v1beta/models/main:generateContent",
      "contents.0.parts.1.data",
      {
        systemInstruction: { parts: [{ text: "Be short." }] },
        contents: [{ role: "user", parts: [{ text: "Hi" }, { inlineData: { mimeType: "image/png", data } }] }],
      },
    ],
    [
      "/bedrock/model/main/converse",
      "messages.0.content.3.image.data",
      {
        system: [{ text: "Be short." }],
        messages: [
          {
            role: "user",
            content: [
              { text: "" },
              { text: "Hi" },
              { cachePoint: { type: "default" } },
              { image: { format: "png", source: { bytes: data } } },
            ],
          },
        ],
      },
    ],
  ])("of %s is %s", async (path, place, body) => {
    const named = path.includes("/v1beta/") || path.startsWith("/bedrock/") ? body : { model: "main", ...body }
    const { status, text } = await ask(gateway(), path, named)
    expect([status, text]).toEqual([400, expect.stringContaining(`${place}: `)])
  })
})
