/** The length of recordings by their heads, and the most that it can be. */
import { describe, expect, it } from "vitest"
import { mp3Seconds } from "../../../src/media/mp3-length.ts"
import { soundLength } from "../../../src/media/sound-length.ts"
import { fileOf } from "../../../src/media/spool.ts"
import { flacOf, mp3Of, png, wavOf } from "../../support/media-samples.ts"

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

  it.each([
    ["bits that its law does not have", (wav: Buffer) => wav.writeUInt16LE(7, 20) && wav.writeUInt16LE(0xffff, 34)],
    ["a rate that does not fit its bytes", (wav: Buffer) => wav.writeUInt32LE(4_000_000_000, 24)],
    [
      "figures that agree on what nobody records",
      (wav: Buffer) => wav.writeUInt32LE(400_000, 24) && wav.writeUInt32LE(800_000, 28),
    ],
    ["its format twice", (wav: Buffer) => wav.write("fmt ", 36, "latin1") && wav.writeUInt32LE(16, 40)],
  ])("of a WAV file with %s is as long as its bytes can be", async (_name, forge) => {
    const wav = wavOf(50)
    forge(wav)
    expect(await lengthOf(wav, "audio/wav")).toMatchObject({ most: Math.ceil(wav.length / 4000), isCounted: false })
  })

  it("of an MP3 hides no frames behind headers of another kind", async () => {
    // MPEG 2 layer III at 8 kbit/s: 24 bytes and 24 ms. A header of layer I at 448 kbit/s would skip 672 bytes.
    const frame = Buffer.concat([Buffer.from([0xff, 0xf3, 0x14, 0xc0]), Buffer.alloc(20)])
    const frames = (count: number) => Array.from({ length: count }, () => frame)
    const hidden = Array.from({ length: 100 }, () => [
      Buffer.from([0xff, 0xff, 0xe8, 0]),
      ...frames(27),
      Buffer.alloc(20),
    ])
    const { most } = await lengthOf(Buffer.concat([...frames(100), ...hidden.flat()]), "audio/mpeg")
    expect(most).toBeGreaterThanOrEqual(Math.floor((2800 * frame.length) / 1000))
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
