/** How long recordings are, by their heads, and how long they can be at most. */
import { describe, expect, it } from "vitest"
import { soundLength } from "../../src/media/sound-length.ts"
import { fileOf } from "../../src/media/spool.ts"
import { mp3Of, png, wavOf } from "../conformance/recordings.ts"

const lengthOf = (bytes: Buffer, mime: string) => soundLength(fileOf(bytes), mime)

describe("the length of a recording", () => {
  it("is what a WAV file says and has", async () => {
    expect(await lengthOf(wavOf(2.5), "audio/wav")).toEqual({ seconds: 3, isKnown: true })
  })

  it("is no more than a WAV file has, whatever it says", async () => {
    const { seconds } = await lengthOf(wavOf(2, 0xffffffff), "audio/wav")
    expect([2, 3]).toContain(seconds)
  })

  it("of an MP3 of one rate is near what it has, and never less", async () => {
    const { seconds } = await lengthOf(mp3Of(10), "audio/mpeg")
    expect(seconds).toBeGreaterThanOrEqual(10)
    expect(seconds).toBeLessThanOrEqual(41)
  })

  it.each([
    ["noise", Buffer.from(Array.from({ length: 5000 }, (_, at) => (at * 7919) % 256)), "audio/mpeg"],
    ["a picture", png, "audio/wav"],
    ["one byte", Buffer.from([0]), "audio/ogg"],
    ["a head without frames", Buffer.from("ID3\u0004\u0000\u0000\u007f\u007f\u007f\u007f", "latin1"), "audio/mpeg"],
  ])("of %s is that of the lowest rate", async (_name, bytes, mime) => {
    const { seconds, isKnown } = await lengthOf(bytes, mime)
    expect(isKnown).toBe(false)
    expect(seconds).toBe(
      Math.max(1, Math.ceil(bytes.length / (mime === "audio/mpeg" && bytes.length < 100 ? 1000 : 750))),
    )
  })
})
