/** JSON text as a value: what was written is written again, with every byte. */
import { describe, expect, it } from "@effect/vitest"
import { Schema } from "effect"
import { JsonSource } from "../../../src/protocol/json/json-source.ts"
import { JsonText, textUnlike, writeJson } from "../../../src/protocol/json/json-text.ts"
import { textsAt } from "../../../src/protocol/json/json-texts.ts"

const odd = `{ "2" : 1.10, "1":12345678901234567890,\n"s":"\\u00e9\\/","e":1e3,"__proto__":[-0, {} ] }`

describe("writing JSON", () => {
  it("puts in texts as they are, at any depth and more than once", () => {
    const text = new JsonText(odd)
    expect(writeJson({ a: text, b: [text, { c: text }], d: "x" })).toBe(
      `{"a":${odd},"b":[${odd},{"c":${odd}}],"d":"x"}`,
    )
  })

  it("of a text alone is the text", () => {
    expect(writeJson(new JsonText(odd))).toBe(odd)
  })

  it("without texts is JSON.stringify, which writes a text's value", () => {
    expect(writeJson({ a: [1, "$&"] })).toBe(`{"a":[1,"$&"]}`)
    expect(JSON.stringify({ a: new JsonText("1.10") })).toBe(`{"a":1.1}`)
  })

  it("leaves patterns of replacements in texts alone", () => {
    expect(writeJson([new JsonText(`"$&$1$\`"`)])).toBe(`["$&$1$\`"]`)
  })

  it("escapes a lone surrogate, which bytes cannot have", () => {
    expect(writeJson([new JsonText(`"\ud800x\udc00"`)])).toBe(`["\\ud800x\\udc00"]`)
    expect(writeJson([new JsonText(`"😀"`)])).toBe(`["😀"]`)
  })

  it("ends when a value cannot be written", () => {
    const circular: { self?: object } = {}
    circular.self = circular
    expect(() => writeJson(circular)).toThrow()
    expect(JSON.stringify(new JsonText("1.0"))).toBe("1")
  })
})

describe("the text of a value", () => {
  it("is kept if writing the value gives another", () => {
    expect(textUnlike("[1.10]", [1.1])).toBe("[1.10]")
    expect(textUnlike(`{"a":[1,"x"]}`, { a: [1, "x"] })).toBeUndefined()
  })

  it("is not kept if an object in it names a member twice", () => {
    expect(textUnlike(`{"a":1,"a":2}`, { a: 2 })).toBeUndefined()
    expect(textUnlike(`{"b":{"a":1,"\\u0061":2}}`, { b: { a: 2 } })).toBeUndefined()
  })
})

describe("texts at paths", () => {
  const text = ` {"a" : [ ${odd} , true ], "\\u0062":-1.50 } `
  const paths = [["b"], ["a", 0, "s"], ["a", 0], ["a", 2], ["a", 1, "x"], ["c"], ["a", 0, "__proto__", 1]]

  it("are found in one scan, those in one another too", () => {
    const s = `"\\u00e9\\/"`
    expect(textsAt(Buffer.from(text), paths)).toEqual(["-1.50", s, odd, undefined, undefined, undefined, "{}"])
  })

  it("are those that a source gives", () => {
    const source = new JsonSource(text)
    expect(textsAt(Buffer.from(text), paths)).toEqual(paths.map((path) => source.textAt(path)))
  })
})

describe("a source", () => {
  it("gives texts of members and elements by their names and places", () => {
    const source = new JsonSource(` {"a" : [ ${odd} , true,"]" ], "\\u0062":-1.50 } `)
    expect(source.textAt(["a", 0])).toBe(odd)
    expect(source.textAt(["a", 0, "__proto__", 1])).toBe("{}")
    expect(source.textAt(["a", 0, "__proto__"])).toBe("[-0, {} ]")
    expect(source.textAt(["a", 1])).toBe("true")
    expect(source.textAt(["a", 2])).toBe(`"]"`)
    expect(source.textAt(["b"])).toBe("-1.50")
  })

  it("has none where there is no value", () => {
    const source = new JsonSource(`{"a":[],"b":"x","c":{}}`)
    for (const path of [["a", 0], ["b", "x"], ["c", "d"], ["d"], ["d", "e"]]) {
      expect(source.textAt(path)).toBeUndefined()
    }
  })

  it("gives texts in any order: a backslash after a place does not hide those in it", () => {
    const long = `"${"x".repeat(80)}\\"${"y".repeat(80)}"`
    const source = new JsonSource(`{"a":[${long}],"b":[${long}]}`)
    for (const name of ["b", "a", "b"]) expect(source.textAt([name, 0])).toBe(long)
  })

  it("has the last of several members of one name", () => {
    expect(new JsonSource(`{"a":1,"a":2}`).textAt(["a"])).toBe("2")
  })

  it.prop("gives what JSON.parse gives, for any JSON", [Schema.Json], ([json]) => {
    for (const space of [0, 1]) {
      const source = new JsonSource(JSON.stringify({ at: [json] }, null, space))
      expect(JSON.parse(source.textAt(["at", 0]) ?? "")).toEqual(JSON.parse(JSON.stringify(json)))
    }
  })

  it("reads each list once: many values of a long list are read in the time of few", () => {
    const length = 50_000
    const source = new JsonSource(JSON.stringify(Array.from({ length }, (_, n) => ({ n }))))
    expect(source.textAt([length - 1, "n"])).toBe(String(length - 1))
    for (let at = 0; at < length; at++) source.textAt([at, "n"])
  })
})
