/** Bodies that are carried: every reader of their bytes reads the same. */
import { describe, expect, it } from "@effect/vitest"
import { Result, Schema } from "effect"
import { parsePlainly } from "../../../src/protocol/json/json-body.ts"
import { cut, editJson, editJsonText, set } from "../../../src/protocol/json/json-edit.ts"

const isTaken = (text: string): boolean => Result.isSuccess(parsePlainly(Buffer.from(text)))

describe("a body that is carried", () => {
  it.each([
    ["a name twice", '{"model":"a","model":"b"}'],
    ["a name twice, once escaped", String.raw`{"model":"a","\u006dodel":"b"}`],
    ["a name twice, deep inside", '{"a":[{"b":{"c":1,"d":2,"c":3}}]}'],
    ["a prototype twice", '{"__proto__":1,"__proto__":2}'],
    ["an empty name twice", '{"":1,"":2}'],
    ["a comma too many", '{"a":1,}'],
    ["a comment", '{"a":1/*{"b":2}*/}'],
    ["a single quote", "{'a':1}"],
    ["a second value", '{"a":1}{"a":2}'],
    ["a byte order mark", '\ufeff{"a":1}'],
    ["a number that JSON has not", '{"a":NaN}'],
    ["a control character in a string", '{"a":"\n"}'],
  ])("does not have %s", (_what, text) => {
    expect(isTaken(text)).toBe(false)
  })

  it("has no bytes that are not UTF-8", () => {
    expect(Result.isSuccess(parsePlainly(Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d])))).toBe(false)
  })

  it.each([
    ["colons and braces in strings", String.raw`{"a:{":"\"b\":1,{[","c":["x:y"]}`],
    ["the same name in two objects", '{"a":{"n":1},"b":{"n":2}}'],
    ["half of a surrogate pair, as it was escaped", String.raw`{"a":"\ud800"}`],
    ["a number of any size", '{"a":123456789012345678901234567890,"b":1e400}'],
  ])("may have %s", (_what, text) => {
    expect(isTaken(text)).toBe(true)
  })

  /** Letters that make up JSON, so that a change of one is often JSON too. */
  const letters = ['"', "{", "}", "[", "]", ":", ",", "\\", "1", "e", "-", ".", " ", "a", "u0061", "\\u0061", "null"]
  const Change = Schema.Struct({
    at: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 1000 })),
    by: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 100 })),
    length: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 3 })),
  })

  it.prop(
    "means to its editor what it means to its parser, whatever was changed in it",
    [Schema.Record(Schema.String, Schema.Json), Schema.Array(Change).check(Schema.isMaxLength(4))],
    ([json, changes]) => {
      let text = JSON.stringify({ model: "m", ...json })
      for (const { at, by, length } of changes) {
        const place = at % text.length
        text = text.slice(0, place) + (letters[by % letters.length] ?? "") + text.slice(place + length)
      }
      const read = parsePlainly(Buffer.from(text))
      if (Result.isFailure(read)) return
      const { json: value, marks } = read.success
      if (typeof value !== "object" || value === null || Array.isArray(value)) return
      const edits = [set("target", "model"), set(1, "stream_options", "n"), cut("no")]
      const edited = editJsonText(text, edits)
      expect(Buffer.from(editJson(Buffer.from(text), edits, marks)).toString("utf8")).toBe(edited)
      // A random member may be called like the one that is cut.
      const rest = Object.fromEntries(Object.entries(value).filter(([name]) => name !== "no"))
      expect(JSON.parse(edited)).toEqual({
        ...rest,
        model: "target",
        stream_options: { ...(isMembers(value) ? value["stream_options"] : {}), n: 1 },
      })
    },
  )
})

/** Options that have members are kept; others give way. */
const isMembers = (value: object): value is { readonly stream_options: object } =>
  "stream_options" in value && typeof value.stream_options === "object" && !Array.isArray(value.stream_options)
