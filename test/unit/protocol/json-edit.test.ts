/** Edits of JSON text that leave every other byte as it was. */
import { describe, expect, it } from "@effect/vitest"
import { Schema } from "effect"
import { cut, cutPart, editJsonText, type JsonEdit, type JsonPath, set } from "../../../src/protocol/json/json-edit.ts"

describe("an edit", () => {
  it.each<[string, string, ReadonlyArray<JsonEdit>, string]>([
    ["sets a member", `{"a":1,"b":2}`, [set(3, "a")], `{"a":3,"b":2}`],
    ["adds a member", `{"a":1}`, [set(3, "b")], `{"a":1,"b":3}`],
    ["adds one to an empty object", `{ }`, [set(3, "b")], `{ "b":3}`],
    ["adds an object on its way", `{}`, [set(true, "options", "usage")], `{"options":{"usage":true}}`],
    ["replaces null on its way", `{"options":null}`, [set(true, "options", "usage")], `{"options":{"usage":true}}`],
    ["cuts the first member", `{"a":1,"b":2}`, [cut("a")], `{"b":2}`],
    ["cuts the last member", `{"a":1,"b":2}`, [cut("b")], `{"a":1}`],
    ["cuts all members", `{"a":1,"b":2}`, [cut("a"), cut("b")], `{}`],
    ["cuts all and adds one", `{"a":1,"b":2}`, [cut("a"), cut("b"), set(1, "c")], `{"c":1}`],
    ["cuts elements", `{"a":[1,2,3,4]}`, [cut("a", 0), cut("a", 2)], `{"a":[2,4]}`],
    ["cuts nothing that is not there", `{"a":1}`, [cut("b", "c"), cut("d")], `{"a":1}`],
    [
      "leaves numbers, escapes and white space",
      ` {"n" : 1.10,\n"i":12345678901234567890,"s":"\\u00e9\\/\\"}","x":0} `,
      [set(1, "x")],
      ` {"n" : 1.10,\n"i":12345678901234567890,"s":"\\u00e9\\/\\"}","x":1} `,
    ],
    ["knows an escaped name", `{"\\u0061":1,"b":2}`, [set(3, "a")], `{"\\u0061":3,"b":2}`],
    [
      "is not misled by a name in a string",
      `{"s":"\\"model\\":1","model":2}`,
      [set("m", "model")],
      `{"s":"\\"model\\":1","model":"m"}`,
    ],
    [
      "takes the owner of all parts along",
      `{"m":[{"c":[1]},{"c":[1,2]},{"c":[{"c":[1]}]},{"c":[]}]}`,
      [cutPart("m", 0, "c", 0), cutPart("m", 1, "c", 0), cutPart("m", 2, "c", 0, "c", 0), cutPart("m", 3, "c", 0)],
      `{"m":[{"c":[2]},{"c":[]}]}`,
    ],
    [
      "leaves an empty list where its elements are no parts",
      `{"m":[{"c":[1]}]}`,
      [cut("m", 0, "c", 0)],
      `{"m":[{"c":[]}]}`,
    ],
    ["leaves a member whose list is empty", `{"m":{"c":[1]}}`, [cutPart("m", "c", 0)], `{"m":{"c":[]}}`],
    ["takes the later of two", `{"a":1}`, [set(2, "a"), set(3, "a")], `{"a":3}`],
  ])("%s", (_what, text, edits, edited) => {
    expect(editJsonText(text, edits)).toBe(edited)
  })

  it("of several places in one list finds the end of each long string", () => {
    const long = `${"x".repeat(200)}\\"`
    const text = JSON.stringify({
      a: [
        { b: long, c: 1 },
        { b: long, c: 2 },
        { b: "z".repeat(500), c: 3 },
      ],
      d: long,
    })
    const edits = [set(5, "a", 0, "c"), cut("a", 1, "b"), set(6, "a", 2, "c"), set("e", "d")]
    expect(JSON.parse(editJsonText(text, edits))).toEqual({
      a: [{ b: long, c: 5 }, { c: 2 }, { b: "z".repeat(500), c: 6 }],
      d: "e",
    })
  })

  it("of nothing gives the same bytes", () => {
    expect(editJsonText(` { "a" : 1 } `, [])).toBe(` { "a" : 1 } `)
  })
})

const Place = Schema.Struct({
  at: Schema.Array(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 9 }))),
  value: Schema.NullOr(Schema.Json),
})

/** A place in a value, by numbers that choose among its members. */
const pathIn = (value: unknown, [choice, ...rest]: ReadonlyArray<number>): JsonPath => {
  if (choice === undefined || typeof value !== "object" || value === null) return []
  const names = Array.isArray(value) ? value.map((_, index) => index) : Object.keys(value)
  const name = names[choice % Math.max(1, names.length)]
  if (name === undefined) return []
  return [name, ...pathIn(Object.entries(value).find(([each]) => each === String(name))?.[1], rest)]
}

const edited = (value: unknown, [name, ...rest]: JsonPath, replaced: Schema.Json | null): unknown => {
  if (name === undefined) return replaced
  if (Array.isArray(value)) {
    const list: ReadonlyArray<unknown> = value
    return list.flatMap((each, index) => {
      if (index !== name) return [each]
      return rest.length === 0 && replaced === null ? [] : [edited(each, rest, replaced)]
    })
  }
  if (typeof value !== "object" || value === null) return value
  return Object.fromEntries(
    Object.entries(value).flatMap(([each, of]) => {
      if (each !== String(name)) return [[each, of]]
      return rest.length === 0 && replaced === null ? [] : [[each, edited(of, rest, replaced)]]
    }),
  )
}

describe("an edit of any JSON", () => {
  it.prop("means the edit of its value", [Schema.Json, Place], ([json, { at, value }]) => {
    const path = pathIn(json, at)
    if (path.length === 0) return
    for (const spaces of [0, 2]) {
      const text = JSON.stringify(json, null, spaces)
      const edit = value === null ? cut(...path) : set(value, ...path)
      // JSON has no negative zero.
      expect(JSON.parse(editJsonText(text, [edit]))).toEqual(JSON.parse(JSON.stringify(edited(json, path, value))))
    }
  })
})
