/** How long recordings are, by their heads, and how long they can be at most. */
import { describe, expect, it } from "vitest"
import { mp3Seconds } from "../../src/media/mp3-length.ts"
import { soundLength } from "../../src/media/sound-length.ts"
import { fileOf } from "../../src/media/spool.ts"
import { flacOf, mp3Of, png, wavOf } from "../conformance/recordings.ts"

const chunksFrom = async function* (bytes: Buffer) {
  yield bytes
}

const lengthOf = (bytes: Buffer, mime: string) => soundLength(fileOf(bytes), mime)

describe("the length of a recording", () => {
  it("is what a WAV file says and has", async () => {
    expect(await lengthOf(wavOf(2.5), "audio/wav")).toEqual({ most: 3, likely: 3, isCounted: true })
  })

  it("is what a WAV file has, whatever it says", async () => {
    const counted = { most: 2, likely: 2, isCounted: true }
    expect(await lengthOf(wavOf(2, 0xffffffff), "audio/wav")).toEqual(counted)
    expect(await lengthOf(wavOf(2, 100), "audio/wav")).toEqual(counted)
  })

  it.each([7, 60, 900])("of a recording of %i seconds is counted from the whole file", async (seconds) => {
    expect(await lengthOf(wavOf(seconds), "audio/wav")).toEqual({ most: seconds, likely: seconds, isCounted: true })
    const { most, likely, isCounted } = await lengthOf(mp3Of(seconds), "audio/mpeg")
    expect([most - seconds, likely, isCounted]).toEqual([expect.toBeOneOf([0, 1]), most, true])
  })

  it("of an MP3 is the same whatever its chunks are, and after a tag", async () => {
    const sound = mp3Of(3)
    const tag = Buffer.from([0x49, 0x44, 0x33, 4, 0, 0, 0, 0, 1, 0, ...new Array(128).fill(0xff)])
    const file = Buffer.concat([tag, sound])
    const chunksOf = async function* (bytes: number) {
      for (let at = 0; at < file.length; at += bytes) yield file.subarray(at, at + bytes)
    }
    const whole = await mp3Seconds(sound, chunksFrom(sound))
    expect(whole).toBeCloseTo(2.988, 6)
    for (const bytes of [1, 3, 417, 65_536]) expect(await mp3Seconds(file, chunksOf(bytes))).toBeCloseTo(whole, 6)
  })

  it("of an MP3 whose rate changes may be more than its first frames say", async () => {
    // 32 and 320 kbit/s: 144 and 1440 bytes, 36 ms each.
    const slow = Buffer.alloc(144)
    slow.set([0xff, 0xfb, 0x18, 0xc0])
    const fast = Buffer.alloc(1440)
    fast.set([0xff, 0xfb, 0xe8, 0xc0])
    const file = Buffer.concat([fast, fast, fast, fast, ...Array.from({ length: 200 }, () => slow)])
    expect(await lengthOf(file, "audio/mpeg")).toEqual({ most: 8, likely: 8, isCounted: true })
  })

  it("of compressed sound is at most what its bytes can be, and likely what its head says if that can be true", async () => {
    expect(await lengthOf(flacOf(2), "audio/flac")).toEqual({ most: 2, likely: 2, isCounted: false })
    expect(await lengthOf(flacOf(1000), "audio/flac")).toEqual({ most: 2, likely: 2, isCounted: false })
    expect(await lengthOf(flacOf(1), "audio/flac")).toEqual({ most: 2, likely: 1, isCounted: false })
    const long = Buffer.concat([flacOf(1), Buffer.alloc(20_000_000)])
    expect(await lengthOf(long, "audio/flac")).toEqual({ most: 20_002, likely: 20_002, isCounted: false })
  })

  it.each([
    ["noise", Buffer.from(Array.from({ length: 5000 }, (_, at) => (at * 7919) % 256)), "audio/mpeg"],
    ["a picture", png, "audio/wav"],
    ["one byte", Buffer.from([0]), "audio/ogg"],
    ["a head without frames", Buffer.from("ID3\u0004\u0000\u0000\u007f\u007f\u007f\u007f", "latin1"), "audio/mpeg"],
  ])("of %s is that of the lowest rate", async (_name, bytes, mime) => {
    const { most, likely, isCounted } = await lengthOf(bytes, mime)
    expect([isCounted, likely]).toEqual([false, most])
    expect(most).toBe(Math.max(1, Math.ceil(bytes.length / (mime === "audio/mpeg" && bytes.length < 100 ? 1000 : 750))))
  })
})
