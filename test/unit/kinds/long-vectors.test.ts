/**
 * Long replies of embeddings: their vectors are taken out while they arrive, and are the same as if the reply were read
 * whole.
 */
import { describe, expect, it } from "vitest"
import { isObject, parseObject } from "../../../src/dialects/parse/json.ts"
import { WrittenVector } from "../../../src/dialects/parse/written-vector.ts"
import { dimensionsOf, readVector, toBase64, toNumbers } from "../../../src/dialects/vendor/vectors.ts"
import { LongVectors, longReplyBytes } from "../../../src/kinds/embedding/long-vectors.ts"
import { WrittenVectors } from "../../../src/kinds/embedding/written-vectors.ts"
import { randomOf } from "../../support/random.ts"

const random = randomOf(9)
const floats = (count: number) =>
  Array.from({ length: count }, () => Math.fround((random() - 0.5) * 10 ** -(random() * 9)))

/** Reads a reply in parts of any size. */
const readIn = (text: string, encoding: "float" | "base64", most = 3000) => {
  const vectors = new WrittenVectors()
  const long = new LongVectors(vectors, encoding)
  const bytes = Buffer.from(text)
  const read: Array<Uint8Array> = []
  for (let at = 0; at < bytes.length; ) {
    const end = at + 1 + Math.floor(random() * most)
    read.push(Buffer.from(long.take(bytes.subarray(at, end))))
    at = end
  }
  read.push(long.rest())
  const skeleton = Buffer.concat(read).toString()
  const json = parseObject(skeleton)
  return { json: json && vectors.restored(json), skeleton, vectors }
}

/** The members beside vectors, with everything that JSON can have. */
const beside = {
  object: "list",
  'a "key" [1, 2]': 'text with [0.1, 0.2], "quotes", \\ and \u2028',
  nested: [
    [],
    [
      [1, 2],
      ["a", null, { deep: [1, "[3, 4]"] }],
    ],
    {},
    "",
    true,
  ],
  escaped: `a quote " and ${JSON.stringify(floats(40))} in a text`,
  usage: { prompt_tokens: 4 },
  padding: "é".repeat(longReplyBytes / 2 + 1),
}

const written = (value: unknown): unknown => {
  if (value instanceof WrittenVector) return value.toJSON()
  if (Array.isArray(value)) return value.map(written)
  return isObject(value) ? Object.fromEntries(Object.entries(value).map(([key, each]) => [key, written(each)])) : value
}

describe("a long reply", () => {
  it("with numbers for a client of numbers goes on as it came", () => {
    for (let round = 0; round < 20; round++) {
      const data = Array.from({ length: 30 }, (_, index) => ({ index, embedding: floats(40) }))
      const reply = { ...beside, data }
      const text = round % 2 === 0 ? JSON.stringify(reply) : JSON.stringify(reply, undefined, 1)
      const { json, skeleton } = readIn(text, "float")
      expect(written(json)).toEqual(reply)
      expect(skeleton).not.toContain(String(data[0]?.embedding[0]))
    }
  })

  it.each([
    ["numbers", "float"],
    ["numbers", "base64"],
    ["base64", "float"],
    ["base64", "base64"],
  ] as const)(
    "with %s for a client of %s has the vectors that it would have if it were read whole",
    (sent, encoding) => {
      const own = Array.from({ length: 20 }, () => floats(64))
      const embeddings = own.map((vector) => (sent === "numbers" ? vector : toBase64(vector)))
      const { json } = readIn(JSON.stringify({ ...beside, data: embeddings }), encoding)
      const data: unknown = json?.["data"]
      const read = Array.isArray(data) ? data.map(readVector) : []
      const convert = encoding === "base64" ? toBase64 : toNumbers
      expect(read.every((each) => each instanceof WrittenVector)).toBe(true)
      const asked = own.map((vector) => convert(sent === "numbers" ? vector : toBase64(vector)))
      expect(read.map((each) => (each instanceof WrittenVector ? each.toJSON() : each))).toEqual(asked)
      expect(read.map((each) => each && dimensionsOf(each))).toEqual(own.map(() => 64))
      expect(read.map((each) => each && toNumbers(each))).toEqual(asked.map(toNumbers))
    },
  )

  it.each([
    ["a number that is infinite", "1e999"],
    ["null", "null"],
    ["text", '"0.5"'],
    ["an array", "[1]"],
    ["nothing", ""],
  ])("with %s in a vector has it as it is, to be refused", (_, item) => {
    const numbers = floats(40).join(",")
    const text = `{"padding":"${"x".repeat(longReplyBytes)}","data":[[${numbers}],[${numbers},${item}]]}`
    const { json } = readIn(text, "float")
    const data: unknown = json?.["data"]
    const [first, second] = Array.isArray(data) ? data : []
    if (item === "") expect(json).toBeUndefined()
    else expect([readVector(first) instanceof WrittenVector, readVector(second)]).toEqual([true, undefined])
  })

  it("is read in turns once it is long", async () => {
    const long = new LongVectors(new WrittenVectors(), "float")
    const bytes = Buffer.alloc(longReplyBytes, " ")
    long.take(bytes)
    expect(long.written()).toBeUndefined()
    long.take(bytes)
    const later = long.written()
    expect(later).toBeInstanceOf(Promise)
    await later
    expect(long.written()).toBeUndefined()
  })

  it("that is not long is read whole", () => {
    const text = JSON.stringify({ data: [floats(40)] })
    const { skeleton, json } = readIn(text, "base64")
    expect([skeleton, json]).toEqual([text, JSON.parse(text)])
  })

  it("that breaks off is no JSON", () => {
    const text = JSON.stringify({ ...beside, data: [floats(400)] })
    expect(readIn(text.slice(0, -100), "float").json).toBeUndefined()
  })

  it("is written for its client with the vectors in their places", async () => {
    const vectors = new WrittenVectors()
    const own = Array.from({ length: 50 }, () => floats(1000))
    expect(vectors.isEmpty).toBe(true)
    const marks = own.map((vector) => vectors.tell(new WrittenVector(Buffer.from(JSON.stringify(vector)), 1000)))
    expect(vectors.isEmpty).toBe(false)
    const reply = { first: "é", data: marks.map((embedding, index) => ({ index, embedding })), last: 1 }
    const [part] = vectors.partsOf(JSON.stringify(reply))
    const chunks: Array<Uint8Array> = []
    for await (const chunk of part?.chunks() ?? []) chunks.push(chunk)
    const text = Buffer.concat(chunks)
    expect(part?.bytes).toBe(text.length)
    expect(JSON.parse(text.toString())).toEqual({
      ...reply,
      data: own.map((embedding, index) => ({ index, embedding })),
    })
    expect(chunks.length).toBeGreaterThan(3)
  })
})
