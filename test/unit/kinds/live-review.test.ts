/** The vendor's messages of a Live session under policies, wherever a text is split and other messages come between. */
import { Result } from "effect"
import { describe, expect, it } from "vitest"
import { LiveReview } from "../../../src/kinds/realtime/google/reviewed-messages.ts"
import { Marks, markKey } from "../../../src/policies/masks/marks.ts"
import { compilePolicy } from "../../../src/policies/policy.ts"
import { ReplyReview } from "../../../src/policies/reply/reply-review.ts"
import type { PolicyHit } from "../../../src/policies/review.ts"
import { soundMessage } from "../../../src/testing/live-messages.ts"

const policy = Result.getOrThrow(
  compilePolicy(
    { id: "words", direction: "outbound", reason: "leak", match: { keywords: ["kumquat"] }, streams: "enforce" },
    () => undefined,
  ),
)
const restored = new Marks(markKey(undefined, "org"))
const mark = restored.of("NAME", 'Ann "the\\boss"')

const reviewing = (puts = false) => {
  const sent: Array<Record<string, unknown>> = []
  const hits: Array<PolicyHit> = []
  let denied = 0
  const review = new LiveReview({
    review: () =>
      new ReplyReview({
        policies: puts ? [] : [policy],
        restored: puts ? restored : undefined,
        marks: () => restored,
        onDenied: () => {},
      }),
    send: (message) => void sent.push(JSON.parse(message.toString("utf8"))),
    denied: () => void denied++,
    found: (found) => void hits.push(...found),
  })
  const take = (...messages: ReadonlyArray<object>) => {
    for (const message of messages) review.take(Buffer.from(JSON.stringify(message)))
  }
  return { review, take, sent, hits, denied: () => denied }
}

const transcript = (text: string) => ({ serverContent: { outputTranscription: { text } } })
const written = (text: string) => ({ serverContent: { modelTurn: { parts: [{ text }] } } })
const thought = (text: string) => ({ serverContent: { modelTurn: { parts: [{ text, thought: true }] } } })
const sound = soundMessage(Buffer.alloc(8))
const news = { sessionResumptionUpdate: { resumable: false } }
const end = { serverContent: { turnComplete: true }, usageMetadata: { promptTokenCount: 1 } }
const wordsOf = (sent: ReadonlyArray<Record<string, unknown>>) =>
  [...JSON.stringify(sent).matchAll(/"text":"((?:[^"\\]|\\.)*)"/g)]
    .map(([, text = ""]) => JSON.parse(`"${text}"`))
    .join("")

const text = "a ripe kumquat is sweet"

describe.each([
  ["transcript", transcript],
  ["text", written],
  ["thought", thought],
] as const)("a forbidden word in the %s", (_, message) => {
  it("is never sent, wherever it is split", () => {
    for (let first = 1; first < text.length; first++) {
      for (let second = first; second < text.length; second += 3) {
        const { take, sent, hits, denied } = reviewing()
        take(
          message(text.slice(0, first)),
          sound,
          news,
          message(text.slice(first, second)),
          message(text.slice(second)),
          sound,
          end,
        )
        expect(wordsOf(sent)).not.toMatch(/kumquat/)
        expect("a ripe ".startsWith(wordsOf(sent))).toBe(true)
        expect(sent.at(-1)).toEqual({
          serverContent: { turnComplete: true, turnCompleteReason: "RESPONSE_REJECTED" },
          usageMetadata: { promptTokenCount: 1 },
        })
        expect(sent).toContainEqual({ serverContent: { interrupted: true } })
        expect(sent).toContainEqual(news)
        expect(denied()).toBe(1)
        expect(hits).toMatchObject([{ policy: "words", did: "denied" }])
      }
    }
  })

  it("that is none goes on whole, in its order, and the next turn begins without a denial", () => {
    const { take, sent } = reviewing()
    take(message(text), end)
    const fine = ["a ", "kum", "bucha ", "kumqua"].map((part) => message(part))
    sent.length = 0
    take(...fine, end)
    expect(sent).toEqual([...fine, end])
  })
})

describe("a turn", () => {
  it("has two texts that are reviewed apart", () => {
    const { take, sent } = reviewing()
    take(transcript("kum"), written("quat"), transcript("bucha"), end)
    expect(sent).toEqual([transcript("kum"), written("quat"), transcript("bucha"), end])
  })

  it("gets the values back for marks, in all texts and in calls", () => {
    for (let at = 1; at < mark.length; at++) {
      const { take, sent } = reviewing(true)
      take(transcript(`Hi ${mark.slice(0, at)}`), sound, transcript(`${mark.slice(at)}!`))
      take({ toolCall: { functionCalls: [{ id: "1", name: "f", args: { [`k`]: mark, list: [mark] } }] } }, end)
      expect(wordsOf(sent)).toBe('Hi Ann "the\\boss"!')
      expect(sent).toContainEqual({
        toolCall: {
          functionCalls: [{ id: "1", name: "f", args: { k: 'Ann "the\\boss"', list: ['Ann "the\\boss"'] } }],
        },
      })
    }
  })

  it("that answers denied speech has no content, and a turn that has ended is left alone", () => {
    const { review, take, sent } = reviewing()
    const denial = { policy: "words", reason: "leak" }
    take(transcript("Hel"))
    review.denySpeech(denial, 0)
    take(transcript("lo"), sound, { toolCall: { functionCalls: [] } }, end)
    expect(sent.slice(1)).toEqual([
      { serverContent: { interrupted: true } },
      { ...end, serverContent: { turnComplete: true, turnCompleteReason: "PROHIBITED_INPUT_CONTENT" } },
    ])
    review.denySpeech(denial, 0)
    sent.length = 0
    take(transcript("Hello"), end)
    expect(sent).toEqual([transcript("Hello"), end])
  })
})
