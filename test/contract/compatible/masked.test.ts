/** Masks of requests: the vendor sees marks, and the client gets its values back, in each API, whole and streamed. */
import { describe, expect, it } from "vitest"
import { answering, newTestIds, testCatalogue } from "../../../src/testing/index.ts"
import { useGateway } from "../../support/gateway.ts"
import { randomOf } from "../../support/random.ts"
import { type Api, ask, modelsAt, paths, serving, streamPaths } from "./served.ts"

const ids = newTestIds()
const policies = `
policies:
  - { id: mails, direction: inbound, match: { entities: [email, card] }, reason: personal_data, action: mask }
`
const vendors = { chat: "openai", resp: "responses", cl: "anthropic", gem: "gemini" } as const
const gateway = useGateway({
  ids,
  catalogue: (urls) =>
    serving(testCatalogue(urls, ids, policies), {
      models: modelsAt(vendors, "maxOutput: 10000, capabilities: [tools, reasoning]"),
      org: "policies: [mails]",
    }),
})

const bodies: Readonly<Record<Api, (text: string) => object>> = {
  chat: (content) => ({ messages: [{ role: "user", content }] }),
  responses: (input) => ({ input }),
  messages: (content) => ({ max_tokens: 100, messages: [{ role: "user", content }] }),
  generate: (text) => ({ contents: [{ role: "user", parts: [{ text }] }] }),
  t1: (v) => ({ thread: [{ role: "user", blocks: [{ t: "text", v }] }] }),
}

const random = randomOf(9)
const cut = (text: string): ReadonlyArray<string> => {
  const words: Array<string> = []
  for (let at = 0; at < text.length; ) {
    const length = 1 + Math.floor(random() * 6)
    words.push(text.slice(at, at + length))
    at += length
  }
  return words
}

const said = "Write to ann@example.com or bob@example.com, ann@example.com first; card 4111 1111 1111 1111."

/** The text that the vendor got. */
const gotOf = (): string => JSON.stringify(gateway().vendor.calls.at(-1)?.body)
const marksIn = (text: string) => text.match(/<(?:EMAIL|CARD)_[A-Z2-7]+>/g) ?? []

/** The texts of deltas. */
const textIn = (stream: string): string => {
  const texts: Array<string> = []
  const read = (value: unknown, name: string): void => {
    if (typeof value === "string" && ["content", "text", "delta", "v"].includes(name)) texts.push(value)
    if (typeof value === "object" && value !== null) for (const [each, of] of Object.entries(value)) read(of, each)
  }
  for (const line of stream.split("\n")) {
    if (!line.startsWith("data: {")) continue
    const data: unknown = JSON.parse(line.slice("data: ".length))
    if (!/"type":"response\.(output_text\.done|content_part|output_item|completed|created|in_progress)/.test(line))
      read(data, "")
  }
  return texts.join("")
}

const send = async (api: Api, model: string, text: string, isStream: boolean) => {
  const body = bodies[api](text)
  const sent = api === "generate" ? body : { model, ...(isStream && { stream: true }), ...body }
  return await ask(gateway(), (isStream ? streamPaths : paths)[api](model), sent)
}

const combinations = (["chat", "responses", "messages", "generate", "t1"] as const).flatMap((api) =>
  Object.keys(vendors).map((model) => [api, model] as const),
)

describe("a masked request", () => {
  it.each(combinations)("in %s of %s reaches the vendor with marks, which are put back", async (api, model) => {
    gateway().vendor.script(answering({ words: ["ok"], inTokens: 10, outTokens: 20 }))
    await send(api, model, said, false)
    expect(gotOf()).not.toMatch(/example|4111/)
    const [ann = "", bob = "", again, card = ""] = marksIn(gotOf())
    expect(again).toBe(ann)
    const reply = `${ann} and ${bob}: ${card}, <EMAIL_AAAAA>, ${ann.toLowerCase()}, ${ann.slice(0, -2)} a < b, &lt;${bob.slice(1, -1)}&gt;`
    const back = `ann@example.com and bob@example.com: 4111 1111 1111 1111, <EMAIL_AAAAA>, ${ann.toLowerCase()}, ${ann.slice(0, -2)} a < b, bob@example.com`
    gateway().vendor.script(answering({ words: [reply], inTokens: 10, outTokens: 20 }))
    const whole = await send(api, model, said, false)
    expect(whole.status).toBe(200)
    expect(JSON.parse(JSON.stringify(whole.text).replaceAll("\\\\u003c", "<").replaceAll("\\\\u003e", ">"))).toContain(
      back,
    )
    for (let run = 0; run < 5; run++) {
      gateway().vendor.script(answering({ words: cut(reply), inTokens: 10, outTokens: 20 }))
      const { text, status } = await send(api, model, said, true)
      expect(status).toBe(200)
      expect(textIn(text)).toBe(back)
    }
  })
})
