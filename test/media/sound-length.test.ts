/** How long recordings are, by their heads, and how long they can be at most. */
import { describe, expect, it } from "vitest"
import { soundLength } from "../../src/media/sound-length.ts"
import { fileOf } from "../../src/media/spool.ts"
import { flacOf, mp3Of, png, wavOf } from "../conformance/recordings.ts"

const lengthOf = (bytes: Buffer, mime: string) => soundLength(fileOf(bytes), mime)

describe("the length of a recording", () => {
  it("is what a WAV file says and has", async () => {
    expect(await lengthOf(wavOf(2.5), "audio/wav")).toEqual({ seconds: 3, isKnown: true, most: 3 })
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

  it("of an MP3 whose rate changes may be more than its first frames say", async () => {
    // 32 and 320 kbit/s: 144 and 1440 bytes, 36 ms each.
    const slow = Buffer.alloc(144)
    slow.set([0xff, 0xfb, 0x18, 0xc0])
    const fast = Buffer.alloc(1440)
    fast.set([0xff, 0xfb, 0xe8, 0xc0])
    const file = Buffer.concat([fast, fast, fast, fast, ...Array.from({ length: 200 }, () => slow)])
    const { most } = await lengthOf(file, "audio/mpeg")
    expect(most).toBeGreaterThanOrEqual(Math.ceil(204 * 0.036))
  })

  it("of a FLAC file is what its head says, if its bytes can be as long", async () => {
    expect(await lengthOf(flacOf(2), "audio/flac")).toEqual({ seconds: 2, isKnown: true, most: 2 })
    expect(await lengthOf(flacOf(1000), "audio/flac")).toEqual({ seconds: 2, isKnown: false, most: 2 })
    expect(await lengthOf(flacOf(1), "audio/flac")).toEqual({ seconds: 1, isKnown: true, most: 2 })
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
