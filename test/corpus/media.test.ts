/** Recorded pictures and transcripts through their dialects. */
import { describe, expect, it } from "vitest"
import { dialectOf } from "../../src/dialects/index.ts"
import { objectAt, objectsAt, parseObject } from "../../src/dialects/parse/json.ts"
import { fileOf } from "../../src/media/spool.ts"
import type { DialectName } from "../../src/protocol/catalogue/vendor.ts"
import { isError, recordingsOf } from "../support/recorded/recordings.ts"

const file = { file: fileOf(Buffer.from("sound")), mime: "audio/wav" }

describe("recorded pictures", () => {
  it.each(recordingsOf("image-openai").filter(([, one]) => !isError(one)))(
    "of %s reach the client",
    (_name, { response }) => {
      const body = parseObject(response.body) ?? {}
      const data = objectsAt(body, "data").map(({ b64_json }) => b64_json)
      const asked = { prompt: "x", images: [], mask: undefined, n: data.length }
      const got = dialectOf({ dialect: "openai-chat" }).image?.decode(body, asked, {})
      expect(got?.images.map((image) => image.data)).toEqual(data)
      expect(data.length).toBeGreaterThan(0)
      expect(got?.usage?.outTokens).toBe(objectAt(body, "usage")?.["output_tokens"])
    },
  )
})

describe("recorded transcripts", () => {
  const all = (["transcribe-deepgram", "transcribe-elevenlabs"] as const).flatMap((folder) =>
    recordingsOf(folder)
      .filter(([, one]) => !isError(one))
      .map(([name, one]) => ({ name, folder, response: one.response })),
  )

  it.each(all)("of $folder/$name reach the client: text, language, times", ({ folder, response }) => {
    const dialect: DialectName = folder === "transcribe-deepgram" ? "deepgram" : "elevenlabs"
    const body = parseObject(response.body) ?? {}
    const got = dialectOf({ dialect }).transcription?.decode(
      body,
      {
        file,
        translate: false,
        times: ["word"],
        diarize: false,
        needsSeconds: true,
        stream: false,
      },
      {},
    )
    const [channel] = objectsAt(objectAt(body, "results"), "channels")
    const [best] = objectsAt(channel, "alternatives")
    expect(got?.text).toBe(best?.["transcript"] ?? body["text"])
    expect(got?.language).toBe(channel?.["detected_language"] ?? body["language_code"])
    expect(got?.seconds).toBe(objectAt(body, "metadata")?.["duration"])
    const words = objectsAt(best ?? body, "words").filter(({ type = "word" }) => type === "word")
    expect(got?.words?.map(({ start, end }) => [start, end])).toEqual(words.map(({ start, end }) => [start, end]))
    const segments = got?.segments ?? []
    expect(segments.map(({ text }) => text).join(" ")).toBe(got?.words?.map(({ word }) => word).join(" "))
    expect(segments.every(({ start, end }, at) => start <= end && start >= (segments[at - 1]?.end ?? 0))).toBe(true)
  })
})
