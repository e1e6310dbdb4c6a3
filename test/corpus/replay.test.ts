/** Every recording decodes, and its usage is the vendor's own. */
import { describe, expect, it } from "vitest"
import type { Dialect, VendorEvent, VendorUsage } from "../../src/vendor/dialects/dialect.ts"
import { dialects } from "../../src/vendor/dialects/index.ts"
import { countAt, type JsonObject, objectAt, parseObject } from "../../src/vendor/dialects/json.ts"
import { decodeText, fold } from "../vendor/replay.ts"
import { type Recording, recordingsOf } from "./recordings.ts"

const isStream = ({ response }: Recording) => response.contentType?.includes("event-stream") === true

const decode = (dialect: Dialect, recording: Recording): ReadonlyArray<VendorEvent> =>
  isStream(recording) ? decodeText(dialect, recording.response.body) : dialect.decodeBody(recording.response.body)

/** The JSON objects of a reply: the body, or the data of each frame. */
const objectsIn = (recording: Recording): ReadonlyArray<JsonObject> => {
  const { body } = recording.response
  const texts = isStream(recording)
    ? body.split("\n").flatMap((line) => (line.startsWith("data:") ? [line.slice(5)] : []))
    : [body]
  return texts.map(parseObject).filter((object) => object !== undefined)
}

const totals = (usage: VendorUsage | undefined) =>
  usage && {
    input: usage.inTokens + usage.cacheReadTokens + usage.cacheWriteTokens,
    output: usage.outTokens,
    read: usage.cacheReadTokens,
    write: usage.cacheWriteTokens,
  }

/** The totals that a recording itself states last. */
const stated: Readonly<Record<string, (recording: Recording) => ReturnType<typeof totals>>> = {
  "openai-chat": (recording) => {
    const usage = objectsIn(recording)
      .map((object) => objectAt(object, "usage"))
      .findLast((found) => found !== undefined)
    if (usage === undefined) return undefined
    const details = objectAt(usage, "prompt_tokens_details")
    return {
      input: countAt(usage, "prompt_tokens"),
      output: countAt(usage, "completion_tokens"),
      read: countAt(details, "cached_tokens"),
      write: countAt(details, "cache_write_tokens"),
    }
  },
  anthropic: (recording) => {
    const reports = objectsIn(recording)
      .map((object) => objectAt(object, "usage") ?? objectAt(objectAt(object, "message"), "usage"))
      .filter((report) => report !== undefined)
    if (reports.length === 0) return undefined
    const last = (key: string) =>
      countAt(
        reports.findLast((report) => report[key] != null),
        key,
      )
    const read = last("cache_read_input_tokens")
    const write = last("cache_creation_input_tokens")
    return { input: last("input_tokens") + read + write, output: last("output_tokens"), read, write }
  },
}

const coverage = (name: string, replies: ReadonlyArray<ReturnType<typeof fold>>): string => {
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

describe.each(["openai-chat", "anthropic"] as const)("recordings of %s", (name) => {
  const dialect = dialects[name]
  const recordings = recordingsOf(name)
  // Some error replies were recorded without their status.
  const isError = ({ response }: Recording) =>
    response.status >= 400 || objectAt(parseObject(response.body), "error") !== undefined
  const good = recordings.filter(([, recording]) => !isError(recording))

  it.skipIf(recordings.length === 0)("good replies decode without a fault, with the vendor's own usage", () => {
    const replies = good.map(([file, recording]) => {
      const folded = fold(decode(dialect, recording))
      expect(folded.faults, file).toEqual([])
      expect(folded.done, file).toBe(true)
      expect(folded.stop, file).toBeDefined()
      expect(totals(folded.usage), file).toEqual(stated[name]?.(recording))
      return folded
    })
    console.log(coverage(name, replies))
  })

  it.skipIf(recordings.length === 0)("errors give a machine code and keep their text to themselves", () => {
    for (const [file, { response }] of recordings.filter(([, recording]) => isError(recording))) {
      const fault = dialect.decodeError(response.status, response.body)
      expect(fault.status, file).toBe(response.status)
      expect(fault.code, file).toMatch(/^[a-z_]+$/)
    }
  })
})
