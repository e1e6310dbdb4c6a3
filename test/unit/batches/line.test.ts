/** Requests in the gateway's own file, and in files of clients. */
import { Effect } from "effect"
import { describe, expect, it } from "vitest"
import { type BatchLine, readLine, requestIn, writeLine } from "../../../src/batches/line.ts"
import { linesOf } from "../../../src/batches/lines-of.ts"

const written = (line: BatchLine) => Buffer.concat(writeLine(line)).toString()

describe("a line", () => {
  it.each([
    { id: "a", path: "/openai/v1/embeddings", body: '{"model":"m","input":"a\\tb"}' },
    { id: 'tab\t, "quote" and \n line', path: "/x", body: "{}" },
    { id: "", path: "/x", body: '{"a":\t[1,\t2]}' },
    { id: "a", path: "/x", body: "{}", refusal: { status: 400, headers: { a: "b" }, body: '{"error":1}' } },
  ])("is read as it was written: %o", (line) => {
    const text = written(line)
    expect(text.match(/\n/g)).toHaveLength(1)
    expect(readLine(text.slice(0, -1))).toEqual(line)
  })

  it("has no line breaks of its body", () => {
    expect(readLine(written({ id: "a", path: "/x", body: '{\n  "a": 1\r\n}' }).trimEnd())?.body).toBe('{   "a": 1 }')
  })

  it("has a long body as bytes", async () => {
    const body = Buffer.from(JSON.stringify({ text: "ä\t".repeat(200_000) }))
    const line = { id: "tab\t", path: "/x", body }
    const text = Buffer.from(written(line)).subarray(0, -1)
    const read = await Effect.runPromise(requestIn(text))
    expect(read).toMatchObject({ id: "tab\t", path: "/x" })
    expect(Buffer.from(read.body).equals(body)).toBe(true)
  })

  it("is no line without its head", () => {
    for (const text of ["", "{}", "{}\t{}", '{"id":1,"path":"/x"}\t{}', "x\ty"]) expect(readLine(text)).toBeUndefined()
  })
})

describe("lines of a file", () => {
  const read = async (text: string | Uint8Array, chunkBytes: number, most = 100) => {
    const bytes = Buffer.from(text)
    async function* chunks() {
      for (let from = 0; from < bytes.length; from += chunkBytes) yield bytes.subarray(from, from + chunkBytes)
    }
    const lines: Array<readonly [number, string | undefined]> = []
    for await (const { number, text } of linesOf(chunks(), most)) lines.push([number, text])
    return lines
  }

  it.each([1, 2, 3, 1000])("are the same in chunks of %d bytes", async (chunkBytes) => {
    const text = '\ufeff{"a":1}\r\n\n  \n{"ä":"€"}\n{"last":true}'
    expect(await read(text, chunkBytes)).toEqual([
      [1, '{"a":1}\r'],
      [4, '{"ä":"€"}'],
      [5, '{"last":true}'],
    ])
  })

  it("are not read if they are too long, or no UTF-8; the next one is", async () => {
    expect(await read(`${"x".repeat(101)}\n{}\n`, 7)).toEqual([
      [1, undefined],
      [2, "{}"],
    ])
    expect(await read(Buffer.from([0xff, 0x0a, 0x7b, 0x7d]), 2)).toEqual([
      [1, undefined],
      [2, "{}"],
    ])
  })
})
