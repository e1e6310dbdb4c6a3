/** Denials in each API: a client reads the reason, before a reply and in the middle of its stream. */
import { expect, it } from "vitest"
import { answering, newTestIds, testCatalogue } from "../../../src/testing/index.ts"
import { useGateway } from "../../support/gateway.ts"
import { type Api, ask, modelsAt, paths, serving, streamPaths } from "./served.ts"

const ids = newTestIds()
const policies = `
policies:
  - { id: words, direction: both, match: { keywords: [forbidden] }, reason: bad_word, streams: enforce }
`
const gateway = useGateway({
  ids,
  catalogue: (urls) =>
    serving(testCatalogue(urls, ids, policies), {
      models: modelsAt({ chat: "openai", resp: "responses", cl: "anthropic", gem: "gemini" }, "maxOutput: 10000"),
      org: "policies: [words]",
    }),
})

const bodies: Readonly<Record<Api, (text: string) => object>> = {
  chat: (content) => ({ messages: [{ role: "user", content }] }),
  responses: (input) => ({ input }),
  messages: (content) => ({ max_tokens: 100, messages: [{ role: "user", content }] }),
  generate: (text) => ({ contents: [{ role: "user", parts: [{ text }] }] }),
  t1: (v) => ({ thread: [{ role: "user", blocks: [{ t: "text", v }] }] }),
}

const send = (api: Api, model: string, text: string, isStream: boolean) => {
  gateway().vendor.script(
    answering({ words: ["All is well. ", "This is forbid", "den. ", "Bye"], inTokens: 1, outTokens: 2 }),
  )
  const body = bodies[api](text)
  const sent = api === "generate" ? body : { model, ...(isStream && { stream: true }), ...body }
  return ask(gateway(), (isStream ? streamPaths : paths)[api](model), sent)
}

const combinations = (["chat", "responses", "messages", "generate", "t1"] as const).flatMap((api) =>
  ["chat", "gem"].map((model) => [api, model] as const),
)

it.each(combinations)("a denial in %s of %s has its reason", async (api, model) => {
  const asked = await send(api, model, "something forbidden", false)
  expect(asked).toMatchObject({ status: 403, text: expect.stringContaining(`"reason":"bad_word"`) })
  const whole = await send(api, model, "Hi", false)
  expect(whole.text).toContain(`"reason":"bad_word"`)
  const streamed = await send(api, model, "Hi", true)
  expect(streamed.text).toContain("All is well")
  expect(streamed.text).not.toContain("den. ")
  expect(streamed.text).toContain(`"reason":"bad_word"`)
})

it.each(["chat", "gem"])("Google's SDKs read the same refusal before and in a stream of %s", async (model) => {
  const refusal = `"code":403,"message":"A safety policy denied the content","status":"PERMISSION_DENIED"`
  for (const isStream of [false, true]) {
    expect((await send("generate", model, "something forbidden", isStream)).text).toContain(refusal)
    expect((await send("generate", model, "Hi", isStream)).text).toContain(refusal)
  }
})
