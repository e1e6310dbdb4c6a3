/** A gateway with a vendor and a model of its own for each folder of recordings, which its vendor repeats. */
import { setTimeout as sleep } from "node:timers/promises"
import { newTestIds, testCatalogue, type VendorScript } from "../../src/testing/index.ts"
import { useGateway } from "../support/gateway.ts"
import { corpora, type Recording } from "../support/recorded/recordings.ts"

const ids = newTestIds()

const catalogue = (urls: { readonly vendor: string; readonly second: string }) => {
  const vendors = corpora.map(
    ({ folder, name, profile }) =>
      `  - { id: rec-${folder}, dialect: ${name}, baseUrl: "${urls.vendor}"${profile === undefined ? "" : `, profile: ${profile}`} }`,
  )
  const models = corpora.map(
    ({ folder }) =>
      `  - { handle: rec-${folder}, maxOutput: 4000, capabilities: [tools, images, files, reasoning, cache], targets: [{ vendor: rec-${folder}, model: m }] }`,
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

export const useRecordedGateway = () => useGateway({ ids, catalogue })

/** Sends a recording in pieces of 1 to 4,001 bytes, so that frames and characters are split. */
export const replaying =
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
