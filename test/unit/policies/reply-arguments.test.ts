/** Arguments of calls in replies: policies read their numbers and the names of their members. */
import { Result } from "effect"
import { describe, expect, it } from "vitest"
import { Marks, markKey } from "../../../src/policies/masks/marks.ts"
import { compilePolicy } from "../../../src/policies/policy.ts"
import { Channel } from "../../../src/policies/reply/channel.ts"
import { leavesOf } from "../../../src/policies/reply/frame-texts.ts"
import { editBlock, editJsonTexts } from "../../../src/policies/reply/reply-blocks.ts"
import { ReplyReview } from "../../../src/policies/reply/reply-review.ts"
import type { PolicyAction } from "../../../src/protocol/catalogue/policy.ts"

const review = (action: PolicyAction) =>
  new ReplyReview({
    policies: [
      Result.getOrThrow(
        compilePolicy(
          {
            id: "cards",
            direction: "outbound",
            match: { entities: ["card", { name: "WORD", regex: "forbidden" }] },
            reason: "card",
            streams: "enforce",
            action,
          },
          () => undefined,
        ),
      ),
    ],
    restored: undefined,
    marks: () => new Marks(markKey(undefined, "org")),
    onDenied: () => {},
  })

const frame = (args: object) => ({ candidates: [{ content: { parts: [{ functionCall: { name: "f", args } }] } }] })

describe("arguments in a frame", () => {
  it.each([
    ["a number", { a: [4111111111111111] }],
    ["a name", { a: { forbidden: 1 } }],
    ["a name of the API", { a: { id: 4111111111111111 } }],
  ])("have no %s that a policy denies", (_what, args) => {
    const denying = review("deny")
    const made = leavesOf(frame(args)).map(({ text, isJson }) => denying.whole(text, "toolArguments", isJson))
    expect(made).toContain(undefined)
  })

  it("have marks for numbers, and names stay", () => {
    const masking = review("mask")
    const json = JSON.stringify(frame({ a: 4111111111111111, forbidden: 2, b: 7 }))
    const made = editJsonTexts(json, (text, part, isJson) => masking.masked(text, part, isJson, false))
    expect(made).toMatch(/"args":\{"a":"<CARD_[A-Z2-7]+>","forbidden":2,"b":7\}/)
  })

  it("have marks for numbers with more digits than a number keeps", () => {
    const masking = review("mask")
    const json = JSON.stringify(frame({ n: 1 })).replace(":1}", ':4111111111111111110,"p":0.1234567890123456789}')
    const made = editJsonTexts(json, (text, part, isJson) => masking.masked(text, part, isJson, false))
    expect(made).toMatch(/"args":\{"n":"<CARD_[A-Z2-7]+>","p":0.1234567890123456789\}/)
  })

  it("have numbers only where names are free", () => {
    const texts = leavesOf({ usage: { total: 4111111111111111 }, ...frame({}) }).map(({ text }) => text)
    expect(texts).toEqual(["f"])
  })
})

it("a call of a whole reply has marks for numbers", () => {
  const masking = review("mask")
  const input = { a: 4111111111111111, b: [7, { c: 4111111111111111 }] }
  const made = editBlock(
    { t: "tool_call", id: "a", name: "f", input, json: JSON.stringify(input) },
    (text, part, isJson) => masking.masked(text, part, isJson, false),
  )
  const mark = expect.stringMatching(/^<CARD_[A-Z2-7]+>$/)
  expect(made).toMatchObject({ input: { a: mark, b: [7, { c: mark }] } })
  expect(JSON.parse("json" in made && made.json !== undefined ? made.json : "")).toMatchObject({
    a: mark,
    b: [7, { c: mark }],
  })
})

describe("JSON in a string of a reply", () => {
  const args = String.raw`{"forbidden":{"a":"forbidden \u0066orbidden","4111111111111111" : [4111111111111111]}}`
  const made = /^\{"forbidden":\{"a":"(<WORD_[A-Z2-7]+>) \1","4111111111111111" : \["<CARD_[A-Z2-7]+>"\]\}\}$/

  it("keeps its names, and has one mark for a value with and without escapes", () => {
    expect(review("mask").whole(args, "toolArguments", true)).toMatch(made)
  })

  it("is denied for its names", () => {
    expect(review("deny").whole(`{"forbidden":1}`, "toolArguments", true)).toBeUndefined()
  })

  it.each([1, 2, 3, 5, 7])("is the same in a stream of pieces with %i characters", (size) => {
    const channel = new Channel(review("mask"), { part: "toolArguments", isJson: true })
    for (let at = 0; at < args.length; at += size) channel.push(args.slice(at, at + size))
    channel.end()
    expect(channel.written(args, 0)).toMatch(made)
  })
})
