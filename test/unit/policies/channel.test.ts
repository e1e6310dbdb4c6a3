/** A channel holds a bounded text, and looks for matches in turns. */
import { Result } from "effect"
import { describe, expect, it } from "vitest"
import { Marks, markKey } from "../../../src/policies/masks/marks.ts"
import { compilePolicy } from "../../../src/policies/policy.ts"
import { Channel } from "../../../src/policies/reply/channel.ts"
import { ReplyReview, type ReplyReviewOptions } from "../../../src/policies/reply/reply-review.ts"
import type { Denial } from "../../../src/policies/review.ts"
import type { Policy } from "../../../src/protocol/catalogue/policy.ts"

const reviewOf = (policies: ReadonlyArray<Partial<Policy>>, more: Partial<ReplyReviewOptions> = {}) => {
  const denied: Array<Denial> = []
  const marks = new Marks(markKey(undefined, "org"))
  const review = new ReplyReview({
    policies: policies.map((policy) =>
      Result.getOrThrow(
        compilePolicy(
          {
            id: "span",
            direction: "outbound",
            match: { regex: "BEGIN[^!]*END" },
            reason: "secret",
            streams: "enforce",
            ...policy,
          },
          () => undefined,
        ),
      ),
    ),
    restored: undefined,
    marks: () => marks,
    onDenied: (denial) => denied.push(denial),
    ...more,
  })
  return { review, denied, channel: new Channel(review, { part: "text", isJson: false }) }
}

const words: Partial<Policy> = { id: "words", match: { keywords: ["forbidden"] }, reason: "bad_word" }
const part = "x".repeat(1000)
const fill = (channel: Channel, parts: number) => {
  for (let at = 0; at < parts; at++) channel.push(part)
}

describe("a text in which a match may go on without end", () => {
  it("is held up to its bound, and then denied", () => {
    const { review, denied, channel } = reviewOf([{}])
    channel.push("All is well. BEGIN")
    fill(channel, 60)
    expect([channel.clearTo, denied]).toEqual([13, []])
    fill(channel, 10)
    expect(channel.clearTo).toBe(13)
    expect(denied).toEqual([{ policy: "span", reason: "held_text_too_long" }])
    expect(review.hits).toEqual([{ policy: "span", at: "reply", count: 0, did: "failed" }])
  })

  it.each<[string, Partial<Policy>]>([
    ["is allowed without a verdict", { onFailure: "allow" }],
    ["is flagged only", { action: "flag" }],
    ["is counted only", { action: "shadow" }],
  ])("goes on at its bound if it %s", (_what, policy) => {
    const { review, denied, channel } = reviewOf([policy, words])
    channel.push("All is well. BEGIN")
    fill(channel, 70)
    expect(channel.length - channel.clearTo).toBeLessThan(20)
    expect(denied).toEqual([])
    expect(review.hits).toEqual([{ policy: "span", at: "reply", count: 0, did: "failed" }])
    channel.push("forb")
    channel.push("idden")
    channel.end()
    expect(denied).toEqual([{ policy: "words", reason: "bad_word" }])
    expect(channel.clearTo).toBe(18 + 70_000)
  })

  it("has the matches of other policies once", () => {
    const mails: Partial<Policy> = { id: "mails", match: { entities: ["email"] }, action: "mask", reason: "mail" }
    const { review, channel } = reviewOf([{ onFailure: "allow" }, mails])
    const texts = ["All BEGIN ann@example.com ", ...Array.from({ length: 70 }, () => part), " bob@example.com."]
    for (const text of texts) channel.push(text)
    channel.end()
    const made = channel.written(texts.join(""), 0)
    expect(made.match(/<EMAIL_[A-Z2-7]+>/g)).toHaveLength(2)
    expect(made).not.toContain("example")
    expect(made.replaceAll(/<EMAIL_[A-Z2-7]+>/g, "").length).toBe(`All BEGIN  ${part.repeat(70)} .`.length)
    expect(review.hits.find(({ policy }) => policy === "mails")?.count).toBe(2)
  })
})

it("numbers of arguments become texts, however they are cut", () => {
  const cards: Partial<Policy> = { match: { entities: ["card"] }, action: "mask" }
  const json = String.raw`{"a":4111111111111111,"b\"":"no \\\" 4111 1111 1111 1111","c":[7,4111111111111111 , 4111111111111111]}`
  for (let length = 1; length < 30; length++) {
    const { review } = reviewOf([cards])
    const channel = new Channel(review, { part: "toolArguments", isJson: true })
    const pieces = json.match(new RegExp(`.{1,${length}}`, "g")) ?? []
    for (const piece of pieces) channel.push(piece)
    channel.end()
    let at = 0
    let made = ""
    for (const piece of pieces) {
      made += channel.written(piece, at)
      at += piece.length
    }
    const mark = expect.stringMatching(/^<CARD_[A-Z2-7]+>$/)
    expect(JSON.parse(made)).toEqual({
      a: mark,
      'b"': expect.stringMatching(/^no \\" <CARD_[A-Z2-7]+>$/),
      c: [7, mark, mark],
    })
  }
})

it("a number with a match in it becomes one text, however it is cut", () => {
  const digits: Partial<Policy> = { match: { entities: ["card", { name: "DIGITS", regex: "12345" }] }, action: "mask" }
  const json = `{"a":-4111111111111111,"b":[9912345,1234512345.5e3, 12345],"c":"9912345","d":true,"e":7}`
  const mark = /^<(CARD|DIGITS)_[A-Z2-7]+>$/
  for (let length = 1; length < 40; length++) {
    const { review } = reviewOf([digits])
    const channel = new Channel(review, { part: "toolArguments", isJson: true })
    let made = ""
    let waiting = ""
    for (const piece of json.match(new RegExp(`.{1,${length}}`, "g")) ?? []) {
      const at = channel.length - waiting.length
      channel.push(piece)
      waiting += piece
      const clear = channel.clearTo - at
      made += channel.written(waiting.slice(0, clear), at)
      waiting = waiting.slice(clear)
    }
    channel.end()
    made += channel.written(waiting, channel.length - waiting.length)
    expect(JSON.parse(made)).toEqual({
      a: expect.stringMatching(mark),
      b: [expect.stringMatching(mark), expect.stringMatching(mark), expect.stringMatching(mark)],
      c: expect.stringMatching(/^99<DIGITS_[A-Z2-7]+>$/),
      d: true,
      e: 7,
    })
  }
})

describe("a long part", () => {
  const mails: Partial<Policy> = { id: "mails", match: { entities: ["email"] }, action: "mask", reason: "mail" }
  const text = "Ask ann@example.com. ".repeat(10_000)

  it("is read in turns, and all of it once", async () => {
    const turns: Array<() => void> = []
    const { review, channel } = reviewOf([mails], { inTurns: (turn) => turns.push(turn) })
    let answers = 0
    review.onAnswer = () => answers++
    channel.push(text)
    expect(channel.clearTo).toBe(0)
    channel.push("bob@example.com.")
    channel.end()
    let settled = false
    void channel.settled?.then(() => {
      settled = true
    })
    for (let turn = turns.shift(); turn !== undefined; turn = turns.shift()) {
      const before = channel.clearTo
      turn()
      expect(channel.clearTo - before).toBeLessThan(20_000)
    }
    await Promise.resolve()
    await Promise.resolve()
    expect(settled).toBe(true)
    expect(answers).toBeGreaterThan(10)
    expect(channel.clearTo).toBe(channel.length)
    expect(channel.written(`${text}bob@example.com.`, 0)).not.toContain("example")
    expect(review.hits).toEqual([{ policy: "mails", at: "reply", count: 10_001, did: "masked" }])
  })

  it("is read to its end when other text comes", () => {
    const { channel } = reviewOf([mails], { inTurns: () => {} })
    channel.push(text)
    channel.pause()
    expect(channel.clearTo).toBe(text.length)
  })

  it("is not read on after a denial", async () => {
    const turns: Array<() => void> = []
    const { denied, channel } = reviewOf([words], { inTurns: (turn) => turns.push(turn) })
    channel.push(`${text}forbidden${text}`)
    channel.end()
    for (let turn = turns.shift(); turn !== undefined; turn = turns.shift()) turn()
    await channel.settled
    expect(denied).toHaveLength(1)
    expect(channel.clearTo).toBe(text.length)
  })
})
