/** Words that every object has by inheritance (`constructor`, …) mean nothing, wherever a vendor or a client writes them. */
import { describe, expect, it } from "vitest"
import { bedrockFault } from "../../../src/dialects/bedrock/faults.ts"
import type { VendorEvent } from "../../../src/dialects/chat-dialect.ts"
import { imageMimeOf } from "../../../src/dialects/client/client-parts.ts"
import { geminiVideo } from "../../../src/dialects/gemini/video.ts"
import { chatDialects } from "../../../src/dialects/index.ts"
import { makeModeration } from "../../../src/dialects/openai-chat/moderation.ts"
import { plainTranscript } from "../../../src/dialects/openai-chat/transcription-client.ts"
import { openaiVideo } from "../../../src/dialects/openai-chat/video.ts"
import { atTier, type Price } from "../../../src/money/pricing.ts"
import { entryOf } from "../../../src/protocol/values/entry.ts"
import { bedrockFrame } from "../../../src/testing/index.ts"

const words = ["constructor", "toString", "hasOwnProperty", "valueOf", "__proto__"]

const usage = { prompt_tokens: 1, completion_tokens: 1, input_tokens: 1, output_tokens: 1 }

/** A whole reply with a word where the vendor says why it ended. */
const ended: { readonly [Name in keyof typeof chatDialects]?: (word: string) => object } = {
  "openai-chat": (word) => ({ choices: [{ message: { content: "x" }, finish_reason: word }], usage }),
  anthropic: (word) => ({ content: [{ type: "text", text: "x" }], stop_reason: word, usage }),
  gemini: (word) => ({ candidates: [{ content: { parts: [{ text: "x" }] }, finishReason: word }] }),
  cohere: (word) => ({ message: { content: [{ type: "text", text: "x" }] }, finish_reason: word }),
  bedrock: (word) => ({ output: { message: { content: [{ text: "x" }] } }, stopReason: word }),
}

const stopIn = (events: ReadonlyArray<VendorEvent>) =>
  events.flatMap((event) => (event.kind === "stop" ? [event.stop] : []))

const faultIn = (events: ReadonlyArray<VendorEvent>) =>
  events.flatMap((event) => (event.kind === "fault" ? [event.fault.status] : []))

describe.each(words)("%s", (word) => {
  it.each(["openai-chat", "anthropic", "gemini", "cohere", "bedrock"] as const)("as %s's reason of an end", (name) => {
    const body = JSON.stringify(ended[name]?.(word))
    expect(stopIn(chatDialects[name].decodeBody(body))).toEqual(["end"])
  })

  it("as the code of a failure inside a stream", () => {
    const anthropic = `data: ${JSON.stringify({ type: "error", error: { type: word } })}\n\n`
    expect(faultIn(chatDialects.anthropic.decoder().push(Buffer.from(anthropic)))).toEqual([502])
    const responses = `data: ${JSON.stringify({ type: "error", error: { code: word } })}\n\n`
    expect(faultIn(chatDialects["openai-responses"].decoder().push(Buffer.from(responses)))).toEqual([502])
    expect(faultIn([bedrockFault(word)])).toEqual([502])
    expect(faultIn(chatDialects.bedrock.decoder().push(bedrockFrame(word, {}, "exception")))).toEqual([502])
  })

  it("as the state and the size of a video", () => {
    expect(openaiVideo.status({ status: word })).toEqual({ state: "running", unknownState: word })
    expect(geminiVideo.encode({ prompt: "x", seconds: 1, size: word, image: undefined }, "m", "m")).toMatchObject({
      _tag: "Failure",
    })
  })

  it("as a format of a transcript and an ending of an address", () => {
    expect(plainTranscript(word, "x")).toBeUndefined()
    expect(imageMimeOf(`https://x.test/a.${word}`)).toBe("image/png")
  })

  it("as a tier of service", () => {
    const price: Price = { currency: "USD", input: 3n, output: 15n, dims: {}, tiers: { flex: 5n } }
    expect(atTier(price, word)).toBe(price)
  })

  it("as a category of a moderation, which is kept", () => {
    const body = `{"results":[{"flagged":true,"categories":{"${word}":true},"category_scores":{"${word}":0.5}}]}`
    const found = makeModeration().decode(JSON.parse(body), { input: ["x"] }, {})
    expect(Object.entries(found?.results[0]?.categories ?? {})).toEqual([[word, true]])
  })

  it("in any table", () => {
    const own = Object.fromEntries([[word, 1]])
    expect([entryOf({ a: 1 }, word), entryOf(own, word), entryOf(own, undefined)]).toEqual([undefined, 1, undefined])
  })
})
