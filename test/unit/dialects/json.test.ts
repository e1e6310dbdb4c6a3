/** Vendors' JSON: read leniently, and never for longer than the event loop has time. */
import { expect, it } from "vitest"
import { parseObject } from "../../../src/dialects/parse/json.ts"

const of = (member: string, count: number) => `{"x":[${Array.from({ length: count }, () => member).join(",")}]}`

it.each([
  ["objects", of("{}", 1_000_000)],
  ["lists in lists", `{"x":${"[".repeat(500_000)}${"]".repeat(500_000)}}`],
  ["names", `{${Array.from({ length: 100_000 }, (_, at) => `"n${at}":1`).join(",")}}`],
])("a reply with too many %s is not parsed", (_name, text) => {
  expect(parseObject(text)).toBeUndefined()
})

it("a long reply of few values is", () => {
  const text = JSON.stringify({ text: '",{['.repeat(1_000_000) })
  expect(parseObject(text)?.["text"]).toHaveLength(4_000_000)
  expect(parseObject(of("1", 100_000))).toBeDefined()
})
