/** Policies that are enforced on streams, in each API, with frames that go on as they are and with translated ones. */
import { describe, expect, it } from "vitest"
import { answering, newTestIds, testCatalogue } from "../../../src/testing/index.ts"
import { useGateway } from "../../support/gateway.ts"
import { randomOf } from "../../support/random.ts"
import { type Api, ask, modelsAt, serving, streamPaths } from "./served.ts"

const ids = newTestIds()
const policies = `
policies:
  - { id: words, direction: outbound, match: { keywords: [classified] }, reason: leak, streams: enforce }
  - { id: mails, direction: outbound, match: { entities: [email] }, reason: personal_data, action: mask }
`
const vendors = { chat: "openai", resp: "responses", cl: "anthropic", gem: "gemini" } as const
const gateway = useGateway({
  ids,
  catalogue: (urls) =>
    serving(testCatalogue(urls, ids, policies), {
      models: modelsAt(vendors, "maxOutput: 10000, capabilities: [tools, reasoning]"),
      org: "policies: [words, mails]",
    }),
})

const bodies: Readonly<Record<Api, object>> = {
  chat: { messages: [{ role: "user", content: "Hi" }] },
  responses: { input: "Hi" },
  messages: { max_tokens: 100, messages: [{ role: "user", content: "Hi" }] },
  generate: { contents: [{ role: "user", parts: [{ text: "Hi" }] }] },
  t1: { thread: [{ role: "user", blocks: [{ t: "text", v: "Hi" }] }] },
}

/** The text of a stream's deltas. */
const textIn = (stream: string): string => {
  const texts: Array<string> = []
  const read = (value: unknown, name: string): void => {
    if (typeof value === "string" && ["content", "text", "delta", "v"].includes(name)) texts.push(value)
    if (typeof value === "object" && value !== null) for (const [each, of] of Object.entries(value)) read(of, each)
  }
  for (const line of stream.split("\n")) {
    if (!line.startsWith("data: {")) continue
    const data: unknown = JSON.parse(line.slice("data: ".length))
    const isWhole = /"type":"response\.(output_text\.done|content_part|output_item|completed|created|in_progress)/.test(
      line,
    )
    if (!isWhole) read(data, "")
  }
  return texts.join("")
}

const random = randomOf(5)
const cut = (text: string): ReadonlyArray<string> => {
  const words: Array<string> = []
  for (let at = 0; at < text.length; ) {
    const length = 1 + Math.floor(random() * 6)
    words.push(text.slice(at, at + length))
    at += length
  }
  return words
}

const stream = async (api: Api, model: string, text: string) => {
  gateway().vendor.script(answering({ words: cut(text), inTokens: 10, outTokens: 20 }))
  const body = api === "generate" ? bodies[api] : { model, stream: true, ...bodies[api] }
  return await ask(gateway(), streamPaths[api](model), body)
}

const combinations = (["chat", "responses", "messages", "generate", "t1"] as const).flatMap((api) =>
  Object.keys(vendors).map((model) => [api, model] as const),
)

describe("a stream with an enforced policy", () => {
  it.each(combinations)(
    "in %s of %s never has the word, whatever the split; the clean text before it stays",
    async (api, model) => {
      for (let run = 0; run < 5; run++) {
        const { text, status } = await stream(api, model, "This is clean, and this is CLASSIFIED, really.")
        expect(status).toBe(200)
        expect(textIn(text)).toMatch(/^This is clean, and/)
        expect(text.toLowerCase()).not.toContain("really")
        expect(textIn(text).toLowerCase()).not.toContain("class")
        expect(text).toMatch(/content_blocked|content_filter|refusal|SAFETY|A safety policy/)
      }
    },
  )

  it.each(combinations)("in %s of %s is whole if it is clean", async (api, model) => {
    const clean = "Classic text, unclassed: fied class classifi ed, to its last cl"
    const { text } = await stream(api, model, clean)
    expect(textIn(text)).toBe(clean)
  })

  it.each(combinations)("in %s of %s has marks for addresses", async (api, model) => {
    for (let run = 0; run < 5; run++) {
      const { text } = await stream(api, model, "Write to ann@example.com or bob@example.com, ann@example.com first")
      expect(textIn(text)).toMatch(/^Write to (<EMAIL_[A-Z2-7]+>) or (<EMAIL_[A-Z2-7]+>), \1 first$/)
      expect(text).not.toContain("@example")
    }
  })
})
