/** Reasoning that another account has sealed: its vendor refuses it, and the thread goes on without it. */
import { describe, expect, it } from "vitest"
import { parseObject } from "../../../src/dialects/parse/json.ts"
import { newTestIds, testCatalogue, type VendorScript } from "../../../src/testing/index.ts"
import { useGateway } from "../../support/gateway.ts"
import { ask, modelsAt, serving } from "./served.ts"
import { message } from "./vendors.ts"

const ids = newTestIds()
const gateway = useGateway({
  ids,
  catalogue: (urls) =>
    serving(testCatalogue(urls, ids), {
      models: modelsAt(
        { chat: "openai", resp: "responses", cl: "anthropic" },
        "maxOutput: 10000, capabilities: [tools, reasoning]",
      ),
    }),
})

const post = (path: string, body: object) => ask(gateway(), path, body)

/** A vendor that takes no seal. */
const refusing =
  (seal: string, refusal: object, reply: object): VendorScript =>
  (call) => {
    const isSealed = call.sent.toString("utf8").includes(seal)
    call.head(isSealed ? 400 : 200, { "content-type": "application/json" })
    call.end(JSON.stringify(isSealed ? refusal : reply))
  }
const responses = refusing(
  "c2VhbGVk",
  { error: { message: "could not be verified", type: "invalid_request_error", code: "invalid_encrypted_content" } },
  {
    status: "completed",
    output: [{ type: "message", role: "assistant", content: [{ type: "output_text", text: "Hi", annotations: [] }] }],
    usage: { input_tokens: 9, output_tokens: 1 },
  },
)
const messages = refusing(
  "c2VhbGVk",
  {
    type: "error",
    error: {
      type: "invalid_request_error",
      message: "messages.1.content.0: Invalid `signature` in `thinking` block",
    },
  },
  { ...message, content: [{ type: "text", text: "Hi" }] },
)
const input = [
  { role: "user", content: "Hi" },
  { type: "reasoning", id: "rs_1", summary: [], encrypted_content: "c2VhbGVk" },
  { type: "message", role: "assistant", content: [{ type: "output_text", text: "A", annotations: [] }] },
  { role: "user", content: "B" },
]
const thought = { type: "thinking", thinking: "Hm", signature: "c2VhbGVk" }

describe("reasoning that a vendor cannot open", () => {
  it.each([
    ["/openai/v1/responses", responses, { model: "resp", input, store: false }],
    [
      "/anthropic/v1/messages",
      messages,
      {
        model: "cl",
        max_tokens: 2000,
        messages: [
          { role: "user", content: "Hi" },
          { role: "assistant", content: [thought, { type: "text", text: "A" }] },
          { role: "user", content: "B" },
        ],
      },
    ],
    [
      "/t1/exchange",
      responses,
      {
        model: "resp",
        stream: false,
        thread: [
          { role: "user", blocks: [{ t: "text", v: "Hi" }] },
          {
            role: "assistant",
            blocks: [
              { t: "reasoning", v: "", signature: "openai:rs_1:c2VhbGVk" },
              { t: "text", v: "A" },
            ],
          },
          { role: "user", blocks: [{ t: "text", v: "B" }] },
        ],
      },
    ],
  ])("is left out, and told (%s)", async (path, script, body) => {
    gateway().vendor.script(script)
    const calls = gateway().vendor.calls.length
    const reply = await post(path, body)
    expect(reply).toMatchObject({ status: 200, warning: expect.stringContaining("blocks_omitted=reasoning") })
    expect(gateway().vendor.calls.length).toBe(calls + 2)
    expect(gateway().vendor.calls.at(-1)?.sent.toString("utf8")).not.toContain("c2VhbGVk")
  })

  it.each<[string, object]>([
    ["there is none", { input: "Hi" }],
    ["the request has a part that cannot be written anew", { input: [...input, { type: "hologram" }], store: false }],
  ])("is not asked about twice where %s", async (_where, asked) => {
    gateway().vendor.script((call) => {
      call.head(400, { "content-type": "application/json" })
      call.end(JSON.stringify({ error: { code: "invalid_encrypted_content", message: "no" } }))
    })
    const calls = gateway().vendor.calls.length
    expect((await post("/openai/v1/responses", { model: "resp", ...asked })).status).toBe(502)
    expect(gateway().vendor.calls.length).toBe(calls + 1)
    expect(parseObject(gateway().vendor.calls.at(-1)?.sent.toString("utf8") ?? "")).toBeDefined()
  })
})
