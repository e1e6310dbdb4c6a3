/** The text of a catalogue as YAML: values, places and hostile texts. */
import { Result } from "effect"
import { describe, expect, it } from "vitest"
import { parseYaml } from "../../../src/catalogue/yaml.ts"

const fault = (text: string) => Result.getOrThrow(Result.flip(parseYaml(text)))

describe("a text", () => {
  it("has the values of YAML 1.2's core schema", () => {
    const text = "{ a: 0x1F, b: 1_000, c: 2026-01-01, d: yes, e: Null, f: TRUE, g: 1e3, h: 0o17, __proto__: { i: 1 } }"
    const { value } = Result.getOrThrow(parseYaml(text))
    const own = '{"a":31,"b":"1_000","c":"2026-01-01","d":"yes","e":null,"f":true,"g":1000,"h":15,"__proto__":{"i":1}}'
    expect(JSON.stringify(value)).toBe(own)
  })

  it.each(["", "# nothing\n", "---\n"])("without a node is null: %j", (text) => {
    expect(Result.getOrThrow(parseYaml(text)).value).toBeNull()
  })

  it("repeats what an alias names", () => {
    const { value } = Result.getOrThrow(
      parseYaml("a: &tiers { idle: 2m, total: 1h }\nb: *tiers\nc: &n 1\nd: [*n, *n]\n"),
    )
    const tiers = { idle: "2m", total: "1h" }
    expect(value).toEqual({ a: tiers, b: tiers, c: 1, d: [1, 1] })
  })

  it.each([
    ["a: [\n  1,\n  2\n]\nz: 3\n", { a: [1, 2], z: 3 }, 5],
    ["a:\n  b: {\n    c: [\n      1\n    ],\n  }\nz: 4\n", { a: { b: { c: [1] } }, z: 4 }, 7],
    ["a:\n- { b: [\n  1\n] }\n- 2\nz: 1\n", { a: [{ b: [1] }, 2], z: 1 }, 6],
  ])("may close its brackets at the margin: %#", (text, value, line) => {
    const read = Result.getOrThrow(parseYaml(text))
    expect([read.value, read.lineOf(["z"])]).toEqual([value, line])
  })

  it.each(["\n", "\r\n", "\r"])("knows the line of each value (lines end in %j)", (end) => {
    const text = [
      "# first",
      "a:",
      "  - { x: 1, y: [1,",
      "      2] }",
      "  - &b 'quoted'",
      "  - *b",
      "'k\\u00e9': |",
      "  text",
      "e:",
    ]
    const { lineOf } = Result.getOrThrow(parseYaml(`${text.join(end)}${end}`))
    const lines: ReadonlyArray<readonly [ReadonlyArray<string | number>, number]> = [
      [[], 1],
      [["a"], 3],
      [["a", 0, "x"], 3],
      [["a", 0, "y", 1], 4],
      [["a", 0, "y", 7, "z"], 3],
      [["a", 1], 5],
      [["a", 2], 6],
      [["a", 2, "inside"], 6],
      [["a", 9], 3],
      [["nowhere"], 1],
      [["e"], 9],
    ]
    for (const [path, line] of lines) expect([path, lineOf(path)]).toEqual([path, line])
  })
})

describe("a text is refused, with its line", () => {
  it.each([
    ["several documents", "a: 1\n---\nb: 2\n", "several documents", 3],
    ["a bracket that nobody closes", "a: 1\nb: [1, 2\n", "", 3],
    ["brackets that close too often", "a: [\n  1\n]\n]\nb: 2\n", "", 4],
    ["a key twice", "a: 1\nb: { c: 1,\n  c: 2 }\n", "duplicated", 3],
    ["a key that is no text", "? { a: 1 }\n: 2\n", "complex keys", 1],
    ["an unknown tag", "a: 1\nb: !secret x\n", "unknown scalar tag", 2],
    ["an unknown alias", "a: 1\nb: *nobody\n", "nobody", 2],
    ["a NUL", "a: 1\nb: \u0000\n", "null byte", 2],
    ["an alias of what it stands in", "a: 1\nb: &b [1, { c: *b }]\n", "*b contains itself", 2],
    ["deep nesting", `a: ${"[".repeat(10_000)}`, "nesting", 1],
  ])("%s", (_what, text, message, line) => {
    expect(fault(text)).toMatchObject({ line })
    expect(fault(text).message).toContain(message)
  })

  it("for aliases that grow to billions of nodes", () => {
    const levels = Array.from(
      { length: 9 },
      (_, at) => `l${at + 1}: &l${at + 1} [${Array(10).fill(`*l${at}`).join(", ")}]`,
    )
    expect(fault(`l0: &l0 [1, 2]\n${levels.join("\n")}\n`)).toEqual({
      line: 6,
      message: "Alias *l4 repeats more than 100000 nodes",
    })
  })
})
