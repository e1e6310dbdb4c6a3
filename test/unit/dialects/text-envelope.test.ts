/** Frames that repeat the one before, except for their text. */
import { describe, expect, it } from "vitest"
import { textDelta } from "../../../src/dialects/parse/blocks.ts"
import { learnEnvelope, readEnvelope } from "../../../src/dialects/parse/text-envelope.ts"

const frame = (literal: string, more = "") =>
  `data: {"id":"c-1","choices":[{"delta":{"content":${literal}}}]${more}}\n\n`
const learnt = learnEnvelope(frame(`"river"`), textDelta(3, "river"))
const read = (text: string, at = 0) => (learnt === undefined ? undefined : readEnvelope(learnt, text, at))

describe("an envelope", () => {
  it("is the JSON around the text", () => {
    expect(learnt).toEqual({
      before: `data: {"id":"c-1","choices":[{"delta":{"content":"`,
      after: `"}}]}\n\n`,
      block: 3,
    })
  })

  it.each([
    ["the text stands in it twice", frame(`"river"`, `,"model":"river"`), textDelta(0, "river")],
    ["something is escaped", frame(`"riv\\u0065r"`), textDelta(0, "river")],
    ["the frame brought something else", frame(`"river"`), { kind: "done" } as const],
    ["the frame brought nothing, or more than one event", frame(`"river"`), undefined],
    ["it is long", frame(`"river"`, `,"pad":"${"x".repeat(2000)}"`), textDelta(0, "river")],
  ])("is not learnt where %s", (_why, text, event) => {
    expect(learnEnvelope(text, event)).toBeUndefined()
  })

  it.each([
    ["a word", `"stream"`, "stream"],
    ["a space", `" "`, " "],
    ["characters of other scripts", `"漢字 🌊"`, "漢字 🌊"],
    ["an escaped line break", String.raw`"\n"`, "\n"],
    ["an escaped quote", String.raw`"say \"hi\""`, `say "hi"`],
    ["an escaped backslash before the end", String.raw`"\\"`, "\\"],
    ["a character by number", String.raw`"\u00e9"`, "é"],
  ])("holds %s", (_what, literal, v) => {
    const text = frame(literal)
    expect(read(text)).toEqual({ event: { ...textDelta(3, v), json: literal }, end: text.length })
    expect(read(frame(`"x"`) + text, frame(`"x"`).length)?.end).toBe(frame(`"x"`).length + text.length)
  })

  it.each([
    ["an empty text, which is no delta", frame(`""`)],
    ["another field", frame(`"x"`, `,"usage":null`)],
    ["another id", frame(`"x"`).replace("c-1", "c-2")],
    ["no string", frame("null")],
    ["a string that breaks off", frame(`"x"`).slice(0, -8)],
    ["a frame without its end", frame(`"x"`).slice(0, -1)],
    ["a raw line break", frame(`"a\nb"`)],
    ["a raw tab", frame(`"a\tb"`)],
    ["a quote that ends it early", frame(`"a"b"`)],
    ["an escape that is none", frame(String.raw`"\x"`)],
    ["an escape that is cut", frame(String.raw`"\u12"`)],
    ["a backslash at the very end", `${learnt?.before}\\`],
    ["a long text", frame(`"${"x".repeat(2000)}"`)],
  ])("leaves %s to the parser", (_what, text) => {
    expect(read(text)).toBeUndefined()
  })
})
