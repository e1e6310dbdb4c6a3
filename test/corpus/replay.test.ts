/** Every recording decodes, and its usage is the vendor's own. */
import { describe, expect, it } from "vitest"
import type { ChatDialect, VendorEvent } from "../../src/dialects/chat-dialect.ts"
import { corpora, isError, isStream, type Recording, recordingsOf } from "../support/recorded/recordings.ts"
import { decodeBytes, decodeText, type Folded, fold } from "../support/replay.ts"
import { odd } from "./odd.ts"
import { stated, totalsOf } from "./stated.ts"

const decode = (dialect: ChatDialect, recording: Recording): ReadonlyArray<VendorEvent> =>
  isStream(recording) ? decodeText(dialect, recording.response.body) : dialect.decodeBody(recording.response.body)

const coverage = (name: string, replies: ReadonlyArray<Folded>): string => {
  const count = (keys: ReadonlyArray<string>) => {
    const counts = new Map<string, number>()
    for (const key of keys) counts.set(key, (counts.get(key) ?? 0) + 1)
    return [...counts].map(([key, times]) => `${key} ${times}`).join(", ")
  }
  return [
    `${name}: ${replies.length} replies`,
    `  blocks: ${count(replies.flatMap(({ blocks }) => blocks.map(({ t }) => t)))}`,
    `  stops: ${count(replies.map(({ stop }) => stop ?? "none"))}`,
    `  dimensions: ${count(replies.flatMap(({ usage }) => Object.keys(usage?.dims ?? {})))}`,
  ].join("\n")
}

describe.each(corpora)("recordings of $folder", ({ folder, name, dialect }) => {
  const recordings = recordingsOf(folder)
  const good = recordings.filter(([file, recording]) => !isError(recording) && odd[file] === undefined)

  it.skipIf(recordings.length === 0)("good replies decode without a fault, with the vendor's own usage", () => {
    const replies = good.map(([file, recording]) => {
      const folded = fold(decode(dialect, recording))
      expect(folded.faults, file).toEqual([])
      expect(folded.done, file).toBe(true)
      expect(folded.stop, file).toBeDefined()
      expect(totalsOf(folded.usage), file).toEqual(stated[name](recording))
      return folded
    })
    console.log(coverage(folder, replies))
  })

  it.skipIf(recordings.length === 0)("a stream means the same to the full parser alone", () => {
    for (const [file, recording] of recordings.filter(([, recording]) => isStream(recording))) {
      const { body } = recording.response
      expect(decodeText(dialect, body), file).toEqual(decodeBytes(dialect, Buffer.from(body)))
    }
  })

  it.skipIf(recordings.length === 0)("errors give a machine code and keep their text to themselves", () => {
    for (const [file, { response }] of recordings.filter(([, recording]) => isError(recording))) {
      const fault = dialect.decodeError(response.status, response.body)
      expect(fault.status, file).toBe(response.status)
      expect(fault.code, file).toMatch(/^[a-z0-9_]+$/)
    }
    for (const [file, recording] of recordings) {
      const outcome = odd[file]
      if (outcome !== undefined) expect(fold(decode(dialect, recording)), file).toMatchObject(outcome)
    }
  })
})
