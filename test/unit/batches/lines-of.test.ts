/** Lines of files: with any line breaks, and without delays for others. */
import { setImmediate } from "node:timers/promises"
import { expect, it } from "vitest"
import { type FileLine, linesOf } from "../../../src/batches/lines-of.ts"

async function* inChunks(...chunks: ReadonlyArray<string | Uint8Array>) {
  for (const chunk of chunks) yield typeof chunk === "string" ? Buffer.from(chunk) : chunk
}
const read = async (most: number, ...chunks: ReadonlyArray<string | Uint8Array>) => {
  const lines: Array<FileLine> = []
  for await (const line of linesOf(inChunks(...chunks), most)) lines.push(line)
  return lines.map(({ number, text }) => [number, text])
}

it("are numbered from 1, and empty ones are left out", async () => {
  expect(await read(10, "a\n\n \nb\r\n", "c")).toEqual([
    [1, "a"],
    [4, "b\r"],
    [5, "c"],
  ])
})

it("may begin with a byte order mark, and be cut anywhere", async () => {
  expect(await read(10, Buffer.from([0xef, 0xbb]), Buffer.from([0xbf, 0x61]), "b\nc", "\n")).toEqual([
    [1, "ab"],
    [2, "c"],
  ])
})

it("have no text if they are too long, or no UTF-8", async () => {
  expect(await read(3, "abcd\nabc\n", Buffer.from([0xff, 10]), "d")).toEqual([
    [1, undefined],
    [2, "abc"],
    [3, undefined],
    [4, "d"],
  ])
})

it("leave time to others, also if a million of them are empty", async () => {
  let isRead = false
  const reading = read(10, Buffer.alloc(1_000_000, "\n"), "a").then((lines) => {
    isRead = true
    return lines
  })
  let turns = 0
  while (!isRead) {
    await setImmediate()
    turns++
  }
  expect(await reading).toEqual([[1_000_001, "a"]])
  expect(turns).toBeGreaterThan(100)
})
