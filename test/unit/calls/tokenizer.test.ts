/** Token counts if a vendor reports none: close to the real count, never below it, and in bounded time. */
import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { countTokens as reference } from "gpt-tokenizer/encoding/o200k_base"
import { Tokenizer } from "../../../src/calls/tokens/tokenizer.ts"
import { countExchange } from "../../../src/kinds/chat/count.ts"
import { OwnPrompt } from "../../../src/kinds/chat/prompt.ts"
import { UsageMeter } from "../../../src/kinds/chat/usage-meter.ts"

const prose = "The river carries what it is given, and asks for nothing but a bed to lie in. "

const counted = (text: string) =>
  Effect.provide(
    Effect.flatMap(Tokenizer, ({ count }) => count(text)),
    Tokenizer.layer,
  )

describe("Tokenizer", () => {
  const texts = [
    ["prose", prose.repeat(200)],
    ["Chinese", "河流承载着一切。".repeat(500)],
    ["emoji, cut between their halves", `x${"🌊🏞️".repeat(300)}`],
    ["code", `const x = { a: [1, 2, 3], b: "text" };\n`.repeat(200)],
    ["nothing", ""],
    ["what looks like a control token", "<|endoftext|>"],
  ] as const

  for (const [what, text] of texts) {
    it.live(`${what} is counted, and a tenth more`, () =>
      Effect.gen(function* () {
        const real = reference(text, { disallowedSpecial: new Set() })
        const tokens = yield* counted(text)
        expect(tokens).toBeGreaterThanOrEqual(real)
        expect(tokens).toBeLessThanOrEqual(Math.ceil(real * 1.25) + 1)
      }),
    )
  }

  it.live("one word of a million letters takes no longer than a text of that size", () =>
    Effect.gen(function* () {
      // In quadratic time, the time limit would pass and the bytes be counted.
      const tokens = yield* counted("qzxj".repeat(50_000))
      expect(tokens).toBeGreaterThan(50_000)
      expect(tokens).not.toBe(Math.ceil(200_000 / 3))
      expect(yield* counted("qzxj".repeat(500_000))).toBeGreaterThan(500_000)
    }),
  )
})

describe("countExchange", () => {
  it.live("counts prompt, tools and media, and the answer beyond what was kept by its bytes", () =>
    Effect.gen(function* () {
      const seen = new UsageMeter({ keepsBlocks: false })
      const delta = { kind: "delta", delta: { i: 0, t: "text", v: prose } } as const
      for (let at = 0; at < 2000; at++) seen.add(delta)
      expect(seen.keptText().length).toBeLessThanOrEqual(64 * 1024)
      const image = { t: "image", mime: "image/png", data: "AAAA" } as const
      const prompt = new OwnPrompt({ thread: [{ role: "user", blocks: [{ t: "text", v: prose }, image] }] })
      const { promptTokens, outTokens } = yield* Effect.provide(
        Effect.flatMap(Tokenizer, (tokenizer) => countExchange(tokenizer, prompt, seen)),
        Tokenizer.layer,
      )
      expect(promptTokens).toBeGreaterThan(1600)
      expect(promptTokens).toBeLessThan(1700)
      // 18 tokens each, or a third of 78 bytes.
      expect(outTokens).toBeGreaterThan(2000 * 18)
      expect(outTokens).toBeLessThan(2000 * 26)
    }),
  )
})
