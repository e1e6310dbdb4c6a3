/** Lines of a process's output. */
import { describe, expect, it } from "@effect/vitest"
import { Schema } from "effect"
import { LineReader } from "../../../../src/tool-servers/processes/lines.ts"
import { idOfLong, readReceived, readSent } from "../../../../src/tool-servers/processes/messages.ts"

/** Reads pieces. @returns the lines; a long one is its ends */
const linesOf = (pieces: ReadonlyArray<Buffer>, maxBytes: number): ReadonlyArray<string> => {
  const found: Array<string> = []
  const reader = new LineReader(maxBytes, {
    line: (text) => found.push(text),
    longLine: ({ head, tail }) => found.push(`${head}…${tail}`),
    endless: () => found.push("endless"),
  })
  for (const piece of pieces) reader.read(piece)
  reader.end()
  return found
}

describe("lines", () => {
  it.prop("are the same for all pieces of a text", [Schema.Array(Schema.String), Schema.Int], ([texts, size]) => {
    const lines = texts.map((text) => text.replaceAll("\n", " ").toWellFormed()).filter((text) => text !== "")
    const bytes = Buffer.from(lines.map((line) => `${line}\n`).join(""))
    const step = (Math.abs(size) % 7) + 1
    const pieces = Array.from({ length: Math.ceil(bytes.length / step) }, (_, at) =>
      bytes.subarray(at * step, (at + 1) * step),
    )
    expect(linesOf(pieces, 1_000_000)).toEqual(lines)
  })

  it("that are too long have their ends, and the next one is whole", () => {
    const long = `head${"x".repeat(2000)}tail`
    for (const size of [1, 100, 5000]) {
      const bytes = Buffer.from(`a\n${long}\nb\n`)
      const pieces = Array.from({ length: Math.ceil(bytes.length / size) }, (_, at) =>
        bytes.subarray(at * size, (at + 1) * size),
      )
      const [first, second = "", third] = linesOf(pieces, 1000)
      expect([first, third]).toEqual(["a", "b"])
      expect(second).toMatch(/^headx+…x+tail$/)
    }
  })

  it("without an end are given up once, and nothing after them is read", () => {
    const pieces = Array.from({ length: 40 }, () => Buffer.alloc(1000, "x"))
    expect(linesOf([...pieces, Buffer.from("\nlater\n")], 1000)).toEqual(["endless"])
  })
})

describe("the id of a long message", () => {
  it.each([
    ['{"jsonrpc":"2.0","id":7,"result":{"a":', '"}}', 7],
    ['{"id": 7, "result":{"a":', '"}}', 7],
    ['{"result":{"a":"', '"},"jsonrpc":"2.0","id":7}', 7],
    ['{"result":{"a":"', '"},"id": 7 } ', 7],
    ['{"result":{"id":7,', '"}}', undefined],
    ['{"result":{"a":"', '","id":7}}', undefined],
    ['{"result":{"a":"', '\\"id\\":7}"}}', undefined],
    ['{"id":"7","result":{', "}}", undefined],
  ])("%s … %s", (head, tail, id) => {
    expect(idOfLong({ head, tail })).toBe(id)
  })
})

it("messages that are none are not read", () => {
  for (const text of ["", "null", "1", "[]", "{}", '{"id":1}', '{"id":{},"method":"a"}', '{"method":1}']) {
    expect([text, readReceived(text)]).toEqual([text, undefined])
  }
  expect(readSent('{"id":null,"method":"a"}')?.id).toBeUndefined()
})
