/** Large bodies in parts that can be given to a worker. */
import { Effect, Option } from "effect"
import { describe, expect, it, vi } from "vitest"
import type { UploadRequest } from "../../../src/http/caller-request.ts"
import { readParts } from "../../../src/http/large/read-parts.ts"
import { randomOf } from "../../support/random.ts"

const mib = 1024 * 1024

/** A body as Node gives it: in chunks that have their memory for themselves. */
const requestOf = (body: Buffer, headers: UploadRequest["headers"], chunkBytes: () => number): UploadRequest => ({
  source: {},
  headers,
  method: "POST",
  url: "/",
  remoteAddress: Option.none(),
  body: () => Effect.die("not asked for"),
  chunks: async function* () {
    for (let at = 0; at < body.length; ) {
      const end = Math.min(body.length, at + chunkBytes())
      yield new Uint8Array(body.subarray(at, end))
      at = end
    }
  },
})

const bodyOf = (bytes: number, seed: number): Buffer => {
  const random = randomOf(seed)
  return Buffer.from(
    Array.from({ length: Math.ceil(bytes / 997) }, () => `${random()}`.padEnd(997, "x")).join(""),
  ).subarray(0, bytes)
}

describe("a large body in parts", () => {
  const random = randomOf(3)
  const sizes = [0, 1, 65_535, 65_536, 65_537, mib - 1, mib, mib + 1, 3 * mib, 3 * mib + 17]
  const known = sizes.flatMap((bytes) => [true, false].map((isKnown) => [bytes, isKnown] as const))

  it.each(known)("of %i bytes, its length known: %s, is what was sent", async (bytes, isKnown) => {
    const body = bodyOf(bytes, bytes)
    const headers = { "x-svc-sign": "s", ...(isKnown && { "content-length": String(bytes) }) }
    const request = requestOf(body, headers, () => Math.ceil(random() * 70_000))
    const allocate = vi.spyOn(Buffer, "allocUnsafeSlow")
    const read = await Effect.runPromise(readParts(request, 4 * mib))
    const allocated = allocate.mock.results.map(({ value }) => value)
    allocate.mockRestore()
    // Where the length is known, a part is never copied, and none is larger than what comes.
    if (isKnown) expect(allocated.map((each) => read.parts.includes(each))).toEqual(read.parts.map(() => true))
    expect(read.bytes).toBe(bytes)
    expect(Buffer.concat(read.parts).equals(body)).toBe(true)
    // No part has memory beside its own, so each can be given away.
    for (const part of read.parts) expect(part.buffer.byteLength).toBe(part.byteLength)
    for (const part of read.parts) expect(part.byteLength).toBeLessThanOrEqual(mib)
    if (bytes > 0) expect(read.parts.length).toBeLessThanOrEqual(Math.ceil(bytes / mib) + (isKnown ? 0 : 5))
  })

  it("is refused where it is longer than allowed, known before or while it comes", async () => {
    const body = bodyOf(mib + 1, 5)
    for (const headers of [{ "content-length": String(mib + 1) }, {}]) {
      const read = Effect.flip(
        readParts(
          requestOf(body, headers, () => 65_536),
          mib,
        ),
      )
      expect((await Effect.runPromise(read)).code).toBe("payload_too_large")
    }
  })
})
