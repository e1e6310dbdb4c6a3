/** Numbers and ids of clients and vendors that would reach the books. */
import { describe, expect, it } from "vitest"
import { openaiVideo } from "../../../src/dialects/openai-chat/video.ts"
import { bytesPerSecond, usualBytesPerSecond } from "../../../src/dialects/openai-realtime/audio.ts"

describe("the rate of a realtime session's sound", () => {
  it.each([
    [24_000, 48_000],
    [8000, 16_000],
    [48_000, 96_000],
    [undefined, usualBytesPerSecond],
  ])("%s is used", (rate, bytes) => {
    expect(bytesPerSecond({ type: "audio/pcm", rate })).toBe(bytes)
  })

  it.each([4.8e-16, 1e-300, 5e-324, 1e-12, 0, -1, 1e308, Number.NaN, "24000", 24_000.5, 96_001])(
    "%s is not",
    (rate) => {
      expect(bytesPerSecond({ type: "audio/pcm", rate })).toBeUndefined()
    },
  )
})

const asked = { prompt: "A river", seconds: 4, image: undefined }
const decode = (id: string) => openaiVideo.decode({ id, status: "queued" }, asked, {})

describe("the id of a vendor's video", () => {
  it.each(["video_7", "a".repeat(512)])("is taken: %s", (id) => {
    expect(decode(id)).toEqual({ job: id })
  })
  it.each(["", "a\u0000b", "\ud800", "a b", "a".repeat(513)])("is not taken: %j", (id) => {
    expect(decode(id)).toBeUndefined()
  })
})
