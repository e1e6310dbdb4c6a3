/**
 * Recordings through the whole gateway: sent over a socket in pieces of odd sizes, billed by the vendor's own totals.
 */
import { setTimeout as sleep } from "node:timers/promises"
import { describe, expect, it } from "vitest"
import { hello, newTestIds, readEvents, testCatalogue, type VendorScript } from "../../src/testing/index.ts"
import { errorOf, replyOf, useGateway } from "../conformance/gateway.ts"
import { decodeText, fold } from "../dialects/replay.ts"
import { odd } from "./odd.ts"
import { type Corpus, corpora, isError, isStream, type Recording, recordingsOf } from "./recordings.ts"
import { stated, totalsOf } from "./stated.ts"

const ids = newTestIds()

/** A vendor and a model of its own for each folder. */
const catalogue = (urls: { readonly vendor: string; readonly second: string }) => {
  const vendors = corpora.map(
    ({ folder, name, profile }) =>
      `  - { id: rec-${folder}, dialect: ${name}, baseUrl: "${urls.vendor}"${profile === undefined ? "" : `, profile: ${profile}`} }`,
  )
  const models = corpora.map(
    ({ folder }) =>
      `  - { handle: rec-${folder}, maxOutput: 4000, capabilities: [tools], targets: [{ vendor: rec-${folder}, model: m }] }`,
  )
  const prices = corpora.map(
    ({ folder }) => `  - { model: rec-${folder}, currency: USD, input: "1", output: "2", from: 2026-01-01 }`,
  )
  return testCatalogue(urls, ids)
    .replace("vendors:\n", `vendors:\n${vendors.join("\n")}\n`)
    .replace("models:\n", `models:\n${models.join("\n")}\n`)
    .replace("prices:\n", `prices:\n${prices.join("\n")}\n`)
    .replace("models: [main,", `models: [${corpora.map(({ folder }) => `rec-${folder}`).join(", ")}, main,`)
}

const gateway = useGateway({ ids, catalogue })

/** Sends a recording in pieces of 1 to 4,001 bytes, so that frames and characters are split. */
const replaying =
  (recording: Recording): VendorScript =>
  async (call) => {
    const { status, contentType, body } = recording.response
    call.head(status, contentType === null ? {} : { "content-type": contentType })
    const bytes = Buffer.from(body)
    for (let at = 0, size = 1; at < bytes.length; at += size, size = ((size * 7) % 4001) + 1) {
      if (!(await call.write(bytes.subarray(at, at + size)))) return
      if (size % 5 === 0) await sleep(0)
    }
    call.end()
  }

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
