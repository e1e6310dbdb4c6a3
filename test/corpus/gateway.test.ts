/**
 * Recordings through the whole gateway: sent over a socket in pieces of odd sizes, billed by the vendor's own totals.
 */
import { describe, expect, it } from "vitest"
import { hello, readEvents } from "../../src/testing/index.ts"
import { errorOf, replyOf } from "../support/gateway.ts"
import {
  type Corpus,
  corpora,
  isError,
  isStream,
  type Recording,
  recordingsOf,
} from "../support/recorded/recordings.ts"
import { decodeText, fold } from "../support/replay.ts"
import { odd } from "./odd.ts"
import { replaying, useRecordedGateway } from "./recorded-gateway.ts"
import { stated, totalsOf } from "./stated.ts"

const gateway = useRecordedGateway()

const usageOf = async (response: Response, streams: boolean) => {
  if (!streams) return (await replyOf(response)).usage
  const close = (await readEvents(response)).at(-1)
  return close?.event === "t.close" ? close.data.usage : undefined
}

/** A recording of a megabyte is mostly one image. */
const maxBytes = 512 * 1024

/** The usage that a recording states; if several replies were recorded in a row, the first belongs to the request. */
const totalsIn = ({ name, dialect }: Corpus, recording: Recording) => {
  if (!isStream(recording)) return stated[name](recording)
  const events = decodeText(dialect, recording.response.body)
  const end = events.findIndex(({ kind }) => kind === "done")
  const isOne = events.findLastIndex(({ kind }) => kind === "done") === end
  return isOne ? stated[name](recording) : totalsOf(fold(events.slice(0, end)).usage)
}

describe.each(corpora)("recordings of $folder through a gateway", (corpus) => {
  const { folder } = corpus
  const recordings = recordingsOf(folder).filter(
    ([file, { response }]) => odd[file] === undefined && response.body.length < maxBytes,
  )

  it.skipIf(recordings.length === 0)(
    "are billed by their own totals; errors keep their text",
    { timeout: 120_000 },
    async () => {
      for (const [file, recording] of recordings) {
        gateway().vendor.script(replaying(recording))
        const streams = isStream(recording)
        const response = await gateway().exchange({ ...hello, model: `rec-${folder}`, stream: streams })
        if (isError(recording)) {
          expect(await errorOf(response), file).toMatchObject({ code: "upstream_error" })
          continue
        }
        const usage = await usageOf(response, streams)
        const totals = totalsIn(corpus, recording)
        expect(usage?.estimatedReason, file).toBe(totals === undefined ? "upstream_usage_missing" : undefined)
        if (totals === undefined || usage === undefined) continue
        expect(usage.inTokens + usage.cacheReadTokens + usage.cacheWriteTokens, file).toBe(totals.input)
        expect(usage.outTokens, file).toBe(totals.output)
        expect(usage.cacheReadTokens, file).toBe(totals.read)
      }
    },
  )
})
