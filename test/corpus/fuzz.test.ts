/** Recordings cut short, with flipped bytes and split anywhere: only typed outcomes, never a crash or a hang. */
import { describe, expect, it } from "vitest"
import { corpora, isStream, recordingsOf } from "../support/recorded/recordings.ts"
import { cutAt, decodePieces, fold } from "../support/replay.ts"

/** Numbers from 0 to 1, the same in every run (Park and Miller). */
const makeRandom = (seed: number) => {
  let state = seed
  return () => {
    state = (state * 48_271) % 2_147_483_647
    return state / 2_147_483_647
  }
}

/** Larger recordings are mostly one image. */
const maxBytes = 256 * 1024
const roundsEach = 8

const mutate = (bytes: Buffer, random: () => number): Buffer => {
  const mutated = Buffer.from(bytes.subarray(0, Math.floor(bytes.length * (random() < 0.5 ? 1 : random()))))
  const flips = Math.floor(random() * 12)
  for (let flip = 0; flip < flips && mutated.length > 0; flip++) {
    mutated[Math.floor(random() * mutated.length)] = Math.floor(random() * 256)
  }
  return mutated
}

describe.each(corpora)("recordings of $folder, damaged", ({ folder, dialect }) => {
  const recordings = recordingsOf(folder).filter(([, { response }]) => response.body.length < maxBytes)

  it.skipIf(recordings.length === 0)("give typed outcomes", { timeout: 60_000 }, () => {
    const random = makeRandom(folder.length * 7919)
    const kinds = new Set<string>()
    for (const [file, recording] of recordings) {
      const bytes = Buffer.from(recording.response.body)
      for (let round = 0; round < roundsEach; round++) {
        const damaged = mutate(bytes, random)
        const pieces = cutAt(damaged, [random(), random(), random()].sort())
        const events = isStream(recording)
          ? decodePieces(dialect, pieces)
          : dialect.decodeBody(damaged.toString("utf8"))
        for (const { kind } of events) kinds.add(kind)
        expect(Array.isArray(fold(events).blocks), file).toBe(true)
        expect(dialect.decodeError(500, damaged.toString("utf8")).status, file).toBe(500)
      }
    }
    for (const kind of kinds) expect(["delta", "usage", "stop", "tier", "region", "done", "fault"]).toContain(kind)
  })
})
