/** Long strings of JSON are on the disk, and what is written of it is the same, however it is cut. */
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Result } from "effect"
import { afterAll, afterEach, describe, expect, it } from "vitest"
import { LongStrings } from "../../../src/media/long-strings.ts"
import { bytesOfParts } from "../../../src/media/marked.ts"
import { noRoom, type Room, SpooledBytes } from "../../../src/media/spooled-bytes.ts"
import { StoredTexts } from "../../../src/media/stored-texts.ts"
import { randomOf } from "../../support/random.ts"

const folder = mkdtempSync(join(tmpdir(), "weir-strings-"))
afterAll(() => rmSync(folder, { recursive: true }))

const kept = 256 * 1024
const room = (limits: Partial<Room> = {}): Room => ({
  files: 0,
  bytes: 0,
  maxFiles: 100,
  maxBytes: 1e9,
  folder,
  changed: () => {},
  ...limits,
})

const opened: Array<StoredTexts> = []
afterEach(() => Promise.all(opened.splice(0).map((texts) => texts.close())))

const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
const base64 = (length: number, next = randomOf(1)) =>
  Array.from({ length }, () => letters[Math.floor(next() * letters.length)]).join("")

/** Takes a text in chunks. @returns what marks stand in, and what is written of it by JSON */
const pass = async (text: string, chunkBytes: () => number, own = room(), maxBytes = 1e9) => {
  const texts = new StoredTexts(() => Result.succeed(new SpooledBytes(own, 0)))
  opened.push(texts)
  const strings = new LongStrings(texts, maxBytes)
  const bytes = Buffer.from(text)
  const out: Array<Uint8Array> = []
  for (let at = 0; at < bytes.length; ) {
    const size = Math.max(1, Math.floor(chunkBytes()))
    out.push(Buffer.from(strings.take(Uint8Array.from(bytes.subarray(at, at + size)))))
    await strings.written()
    at += size
  }
  const marked = Buffer.concat(out).toString("utf8")
  const written = async (again: string) => {
    const parts = texts.partsOf(again)
    const all: Array<Uint8Array | string> = []
    for (const part of parts) {
      if (typeof part === "string") all.push(part)
      else for await (const chunk of part.chunks()) all.push(chunk)
    }
    const content = Buffer.concat(all.map((part) => Buffer.from(part)))
    expect(bytesOfParts(parts)).toBe(content.length)
    return content.toString("utf8")
  }
  return { texts, strings, marked, written, own }
}

const long = base64(kept + 1000)

describe("a string", () => {
  it.each([
    ["of the longest that stay", "A".repeat(kept), 0],
    ["one byte longer", "A".repeat(kept + 1), kept + 1],
    ["of many pieces", base64(3 * kept), 3 * kept],
    ["that is text", "it's \\u00e9 and \\\\ ".repeat(20_000), 0],
    ["with escaped slashes", "\\/9j\\/".repeat(60_000), 360_000],
    ["that ends in an escaped slash at the limit", `${"A".repeat(kept - 1)}\\/AA`, kept + 3],
  ])(
    "%s: what is on the disk is as long as it should be, and the reply is the same",
    async (_what, content, onDisk) => {
      const text = `{"a":"é\\"{","b":["${content}"],"c":{"${"k".repeat(40)}":"${content.slice(0, 30)}"}}`
      for (const size of [1024, 65_536, 1e9]) {
        const { marked, written, own, texts } = await pass(text, () => size)
        expect(own.bytes).toBe(onDisk)
        expect(texts.isEmpty).toBe(onDisk === 0)
        expect(marked.length < kept).toBe(onDisk > 0)
        expect(JSON.parse(await written(JSON.stringify(JSON.parse(marked))))).toEqual(JSON.parse(text))
        await texts.close()
        expect([own.files, own.bytes]).toEqual([0, 0])
      }
    },
  )

  it("begins its mark as the string begins, in letters of base64", async () => {
    const { marked } = await pass(`{"data":"\\/9j\\/4${long}"}`, () => 1000)
    expect(JSON.parse(marked).data).toMatch(/^\/9j\/4[A-Za-z0-9+/]{60,}$/)
  })

  it("that is no base64 after it was taken for it makes the reply useless", async () => {
    const { strings } = await pass(`{"data":"${long}<html>"}`, () => 100)
    expect(strings.isMalformed).toBe(true)
  })

  it("that does not end with its event ends there", async () => {
    const { marked, strings } = await pass(`data: {"a":"${long}\n\ndata: {"b":"c"}\n\n`, () => 5000)
    expect([marked.endsWith('\n\ndata: {"b":"c"}\n\n'), strings.isMalformed]).toEqual([true, false])
  })
})

describe("a reply", () => {
  it("is the same however it is cut", async () => {
    for (let seed = 1; seed <= 40; seed++) {
      const next = randomOf(seed)
      const value = () => {
        const kind = Math.floor(next() * 5)
        if (kind === 0) return next() * 1e6
        if (kind === 1) return 'quo"ted \\ back\nslash é 👋 '.repeat(Math.floor(next() * 20))
        if (kind === 2) return { [`k"${base64(5, next)}`]: [base64(Math.floor(next() * 100), next), null, true] }
        return base64(Math.floor(next() * 2 * kept), next)
      }
      const reply = Object.fromEntries(Array.from({ length: 5 }, (_, at) => [`${at}"`, value()]))
      const text = JSON.stringify(reply, null, seed % 2)
      const { marked, written, texts, strings } = await pass(text, () => 1 + next() * (seed % 3 === 0 ? 200_000 : 9000))
      expect(strings.isMalformed).toBe(false)
      expect(JSON.parse(await written(JSON.stringify(JSON.parse(marked))))).toEqual(reply)
      await texts.close()
    }
  })

  it("may tell a text twice", async () => {
    const { marked, written } = await pass(`"${long}"`, () => 60_000)
    expect(await written(`${marked},${marked}`)).toBe(`"${long}","${long}"`)
  })

  it("that is too long is useless", async () => {
    const { strings } = await pass(`{"data":"${long}"}`, () => 60_000, room(), kept)
    expect(strings.isMalformed).toBe(true)
  })

  it("without room on the disk fails, and so does one beyond the files that may be", async () => {
    await expect(pass(`{"data":"${long}"}`, () => 60_000, room({ maxBytes: 1000 }))).rejects.toEqual(noRoom())
    const strings = new LongStrings(new StoredTexts(() => Result.fail(noRoom())), 1e9)
    strings.take(Buffer.from(`{"data":"${long}"}`))
    await expect(strings.written()).rejects.toEqual(noRoom())
  })
})
