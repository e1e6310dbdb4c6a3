/** Masks of requests of each kind, over each way in: no vendor gets a value, and bytes that are no text stay as they are. */
import { encode } from "gpt-tokenizer/encoding/cl100k_base"
import { describe, expect, it } from "vitest"
import { answerMedia } from "../../../src/development/simulated-media.ts"
import { answering, newTestIds, testCatalogue, type VendorCall } from "../../../src/testing/index.ts"
import { useGateway } from "../../support/gateway.ts"
import { png as samplePng } from "../../support/media-samples.ts"
import { openSocket } from "../../support/socket-client.ts"
import { ask, serving } from "./served.ts"

const ids = newTestIds()
const kinds = {
  embed: "embedding",
  rank: "rerank",
  mod: "moderation",
  draw: "image",
  say: "speech",
  hear: "transcription",
  film: "video",
}
const policies = `policies:
  - { id: mails, direction: inbound, match: { entities: [email, secret] }, reason: personal_data, action: mask }
`
const gateway = useGateway({
  ids,
  catalogue: (urls) =>
    serving(testCatalogue(urls, ids, policies), {
      models: {
        ...Object.fromEntries(
          Object.entries(kinds).map(([handle, kind]) => [
            handle,
            `kind: ${kind}, targets: [{ vendor: openai, model: u }]`,
          ]),
        ),
        long: "contextWindow: 2000000, maxOutput: 1000, capabilities: [tools, images, files, reasoning], targets: [{ vendor: openai, model: u }]",
        resp: "contextWindow: 2000000, maxOutput: 1000, capabilities: [tools, images, files, reasoning], targets: [{ vendor: responses, model: u }]",
        cl: "contextWindow: 2000000, maxOutput: 1000, capabilities: [tools, images, files, reasoning], targets: [{ vendor: anthropic, model: u }]",
      },
      price: (handle) =>
        ({
          draw: 'dims: { images: "1000" }',
          say: 'dims: { characters: "1000" }',
          hear: 'dims: { audio_seconds: "1000" }',
          film: 'dims: { video_seconds: "1000" }',
          rank: 'input: "2"',
          embed: 'input: "2"',
          mod: 'input: "2"',
        })[handle] ?? 'input: "3", output: "15"',
      org: "policies: [mails]",
    }),
})

const mail = "ann@example.com"
const key = `AIzaSyA${"b".repeat(32)}`
const png =
  Buffer.from(`\x89PNG\r\n${"x".repeat(30)}`, "latin1")
    .toString("base64")
    .slice(0, 20) +
  key +
  "AAAAA"

const anything = async (call: VendorCall): Promise<void> => {
  const media = answerMedia(call)
  if (media !== undefined && "json" in media) {
    call.head(200, { "content-type": "application/json" })
    return call.end(JSON.stringify(media.json))
  }
  if (media !== undefined) {
    call.head(200, { "content-type": media.type })
    await call.write(media.bytes)
    return call.end()
  }
  if (/embed|rerank|moderation|count_tokens/.test(call.path)) {
    call.head(200, { "content-type": "application/json" })
    return call.end(
      JSON.stringify({
        data: [{ index: 0, embedding: [1] }],
        results: [{ index: 0, relevance_score: 1 }],
        input_tokens: 3,
        usage: { prompt_tokens: 3, total_tokens: 3 },
      }),
    )
  }
  return answering({ words: ["ok"], inTokens: 10, outTokens: 2 })(call)
}

const sent = (from: number): string =>
  gateway()
    .vendor.calls.slice(from)
    .map((call) => call.sent.toString("latin1"))
    .join("\n")

const chat = (content: unknown, more: object = {}) => ({
  model: "long",
  messages: [{ role: "user", content }],
  ...more,
})

const tokensOf = (text: string): ReadonlyArray<number> => encode(text)

describe("a masked request", () => {
  it.each<[name: string, path: string, body: object]>([
    ["to embed", "/openai/v1/embeddings", { model: "embed", input: [`to ${mail}`, "second"] }],
    ["to embed tokens", "/openai/v1/embeddings", { model: "embed", input: tokensOf(`to ${mail}`) }],
    ["to embed lists of tokens", "/openai/v1/embeddings", { model: "embed", input: [tokensOf(mail), tokensOf("b")] }],
    ["to embed, in our own API", "/t1/embeddings", { model: "embed", input: [`to ${mail}`] }],
    ["to rank", "/t1/rerank", { model: "rank", query: `to ${mail}`, documents: [mail, "b"] }],
    ["to moderate", "/openai/v1/moderations", { model: "mod", input: `to ${mail}` }],
    ["to draw", "/openai/v1/images/generations", { model: "draw", prompt: `to ${mail}` }],
    ["to speak", "/openai/v1/audio/speech", { model: "say", voice: "alloy", input: `to ${mail}`, instructions: mail }],
    ["of completions", "/openai/v1/completions", { model: "long", prompt: `to ${mail}`, max_tokens: 10 }],
    [
      "of chat",
      "/openai/v1/chat/completions",
      chat(`to ${mail}`, {
        metadata: { by: mail },
        tools: [
          {
            type: "function",
            function: {
              name: "f",
              description: mail,
              parameters: { type: "object", properties: { a: { type: "string", description: mail } } },
            },
          },
        ],
      }),
    ],
    ["that is long", "/openai/v1/chat/completions", chat(`to ${mail} ${"word ".repeat(80_000)}`)],
    [
      "that is long, in our own API",
      "/t1/exchange",
      { model: "long", thread: [{ role: "user", blocks: [{ t: "text", v: `to ${mail} ${"word ".repeat(80_000)}` }] }] },
    ],
    [
      "of responses",
      "/openai/v1/responses",
      {
        model: "resp",
        instructions: mail,
        input: [{ role: "user", content: [{ type: "input_text", text: mail }] }],
        store: false,
      },
    ],
    [
      "of messages",
      "/anthropic/v1/messages",
      {
        model: "cl",
        max_tokens: 10,
        system: [{ type: "text", text: mail }],
        messages: [
          {
            role: "user",
            content: [
              { type: "document", source: { type: "text", media_type: "text/plain", data: `to ${mail}` }, title: mail },
            ],
          },
        ],
      },
    ],
    [
      "to count tokens",
      "/anthropic/v1/messages/count_tokens",
      { model: "cl", messages: [{ role: "user", content: `to ${mail}` }] },
    ],
    [
      "of Gemini's",
      "/gemini/v1beta/models/long:generateContent",
      { systemInstruction: { parts: [{ text: mail }] }, contents: [{ role: "user", parts: [{ text: mail }] }] },
    ],
  ])("%s has marks", async (_, path, body) => {
    const before = gateway().vendor.calls.length
    gateway().vendor.script(anything)
    await ask(gateway(), path, body)
    expect(sent(before)).not.toContain(mail)
    expect(sent(before)).not.toContain(JSON.stringify(tokensOf(mail)))
    if (gateway().vendor.calls.length > before) expect(sent(before)).toMatch(/(<|u003c)EMAIL_/i)
  })

  it("of a form has marks, and the bytes of its file stay", async () => {
    const before = gateway().vendor.calls.length
    gateway().vendor.script(anything)
    const form = new FormData()
    form.set("model", "draw")
    form.set("prompt", `brighter, ${mail}`)
    form.set("image", new File([samplePng, mail], "a.png", { type: "image/png" }))
    const reply = await fetch(`${gateway().baseUrl}/openai/v1/images/edits`, {
      method: "POST",
      headers: {
        "x-api-key": `${gateway().keyId}~${gateway().key}`,
        authorization: `Bearer ${gateway().keyId}~${gateway().key}`,
      },
      body: form,
    })
    expect(reply.status).toBe(200)
    expect(sent(before)).toMatch(/brighter, <EMAIL_/)
    expect(sent(before)).toContain(mail)
  })

  it("has the bytes of its pictures, seals and signatures unchanged", async () => {
    const before = gateway().vendor.calls.length
    gateway().vendor.script(anything)
    const signature = `${"c".repeat(60)}-${key}-${"A".repeat(20)}`
    const body = {
      model: "cl",
      max_tokens: 2000,
      messages: [
        {
          role: "user",
          content: [
            { type: "text", text: key },
            { type: "image", source: { type: "base64", media_type: "image/png", data: png } },
          ],
        },
        {
          role: "assistant",
          content: [
            { type: "thinking", thinking: "a thought \u{1f30a}", signature },
            { type: "tool_use", id: "t", name: "f", input: {} },
          ],
        },
        {
          role: "user",
          content: [
            {
              type: "tool_result",
              tool_use_id: "t",
              content: [{ type: "image", source: { type: "base64", media_type: "image/png", data: png } }],
            },
          ],
        },
      ],
    }
    await ask(gateway(), "/anthropic/v1/messages", body)
    const got = sent(before)
    expect(got.split(png).length).toBe(3)
    expect(got).toContain(signature)
    expect(got).toContain("<SECRET_")
    gateway().vendor.script(anything)
    await ask(
      gateway(),
      "/openai/v1/chat/completions",
      chat([
        { type: "text", text: key },
        { type: "image_url", image_url: { url: `data:image/png;base64,${png}` } },
      ]),
    )
    expect(sent(before + 1)).toContain(png)
  })

  it("over the socket of twp/1 has marks, and its client gets the value", async () => {
    const { baseUrl, keyId, key: secret, vendor } = gateway()
    const socket = await openSocket(`${baseUrl}/t1/socket`, { "x-svc-key-id": keyId, "x-svc-key": secret })
    vendor.script(async (call) => {
      const [mark = ""] = /<EMAIL_[A-Z2-7]+>/.exec(JSON.stringify(call.body)) ?? []
      return answering({ words: ["So ", mark.slice(0, 3), mark.slice(3)], inTokens: 10, outTokens: 2 })(call)
    })
    const before = vendor.calls.length
    socket.send({
      id: "a",
      exchange: { model: "long", thread: [{ role: "user", blocks: [{ t: "text", v: `to ${mail}` }] }] },
    })
    await socket.until(({ event }) => event === "t.close")
    expect(sent(before)).not.toContain(mail)
    expect(JSON.stringify(socket.messages)).toContain(mail)
    socket.ws.close()
  })

  it("over the socket of Responses has marks, also when the conversation goes on", async () => {
    const { baseUrl, keyId, key: secret, vendor } = gateway()
    const socket = await openSocket(`${baseUrl}/openai/v1/responses`, { authorization: `Bearer ${keyId}~${secret}` })
    vendor.script(async (call) => {
      const [mark = ""] = /<EMAIL_[A-Z2-7]+>/.exec(JSON.stringify(call.body)) ?? []
      return answering({ words: ["So ", mark.slice(0, 3), mark.slice(3)], inTokens: 10, outTokens: 2 })(call)
    })
    const before = vendor.calls.length
    socket.send({
      type: "response.create",
      model: "resp",
      store: false,
      input: [{ role: "user", content: `to ${mail}` }],
    })
    const { response } = await socket.until(({ type }) => type === "response.completed")
    expect(JSON.stringify(response)).toContain(mail)
    const id = typeof response === "object" && response !== null && "id" in response ? response.id : ""
    const count = socket.messages.length
    socket.send({
      type: "response.create",
      model: "resp",
      store: false,
      previous_response_id: id,
      input: [{ role: "user", content: "again" }],
    })
    await socket.until((message) => socket.messages.indexOf(message) >= count && message.type === "response.completed")
    expect(vendor.calls.length).toBe(before + 2)
    expect(sent(before)).not.toContain(mail)
    socket.ws.close()
  })
})
