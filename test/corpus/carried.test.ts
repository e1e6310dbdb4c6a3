/** Recorded exchanges that are carried: what is billed is read from the same bytes, and is the same either way. */
import { describe, expect, it } from "vitest"
import type { VendorEvent } from "../../src/dialects/chat-dialect.ts"
import { isObject, parseObject } from "../../src/dialects/parse/json.ts"
import { corpora, isError, isStream, recordingsOf } from "../support/recorded/recordings.ts"
import { replaying, useRecordedGateway } from "./recorded-gateway.ts"

const gateway = useRecordedGateway()
const recorded = corpora.filter(({ folder }) => recordingsOf(folder).length > 0)

describe.each(recorded)("recorded replies of $folder", ({ folder, dialect }) => {
  it("mean the same to the meter, whether their frames are told or not", () => {
    for (const [file, recording] of recordingsOf(folder)) {
      if (!isStream(recording) || isError(recording)) continue
      const bytes = Buffer.from(recording.response.body)
      const read = (carries: boolean): ReadonlyArray<VendorEvent> => {
        const decoder = dialect.decoder(carries)
        const events = [
          ...decoder.push(bytes.subarray(0, 1000)),
          ...decoder.push(bytes.subarray(1000)),
          ...decoder.end(),
        ]
        return events.filter(({ kind }) => kind !== "frame")
      }
      expect(read(true), file).toEqual(read(false))
    }
  })
})

/** Members that a gateway replaces, or that are its own. */
const own: ReadonlySet<string> = new Set(["id", "model", "modelVersion", "responseId", "x_svc"])

const plain = (value: unknown): unknown => {
  if (!isObject(value)) return value
  return Object.fromEntries(Object.entries(value).filter(([name]) => !own.has(name)))
}

describe("whole recorded replies of OpenAI's chat", () => {
  const folder = "openai-chat"
  const whole = recordingsOf(folder).filter(([, recording]) => !isStream(recording) && !isError(recording))

  it.skipIf(whole.length === 0)("reach a client as they were", { timeout: 60_000 }, async () => {
    const { baseUrl, keyId, key } = gateway()
    for (const [file, recording] of whole.slice(0, 60)) {
      const { request, response } = recording
      const want = parseObject(response.body)
      if (request === null || !isObject(request.body) || !Array.isArray(want?.["choices"])) continue
      gateway().vendor.script(replaying(recording))
      const reply = await fetch(`${baseUrl}/openai/v1/chat/completions`, {
        method: "POST",
        headers: { "content-type": "application/json", "x-api-key": `${keyId}~${key}` },
        body: JSON.stringify({ ...request.body, model: `rec-${folder}` }),
      })
      if (reply.status === 400) continue
      expect(plain(parseObject(await reply.text())), file).toEqual(plain(want))
    }
  })
})
