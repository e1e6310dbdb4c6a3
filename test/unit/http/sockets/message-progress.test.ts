/** The progress of a client in its messages, which are read in pieces of any size. */
import { describe, expect, it } from "vitest"
import { MessageProgress } from "../../../../src/http/sockets/message-progress.ts"
import { randomOf } from "../../../support/random.ts"
import { frameOf, opcodes } from "../../../support/raw-socket.ts"

const { text, continuation, ping } = opcodes
const sizes = [0, 1, 125, 126, 127, 65_535, 65_536, 200_000]
const notFinal = { isFinal: false }

describe("the progress of messages", () => {
  it.each([1, 2, 3, 7, 1000, 1_000_000])("is that of what was sent, read in pieces of %i bytes", (piece) => {
    const random = randomOf(piece)
    const progress = new MessageProgress()
    const take = (frame: Buffer) => {
      for (let at = 0; at < frame.length; at += piece) {
        progress.take(frame.subarray(at, at + piece))
        if (at + piece < frame.length) expect(progress.isBegun).toBe(true)
      }
    }
    for (const size of piece < 7 ? sizes.slice(0, 6) : sizes) {
      const before = progress.ended
      const part = () => Buffer.alloc(size, Math.floor(random() * 256))
      take(frameOf(text, part()))
      expect([progress.isBegun, progress.ended]).toEqual([false, before + 1])
      take(frameOf(text, part(), notFinal))
      expect(progress.isBegun).toBe(true)
      take(frameOf(ping, "a"))
      take(frameOf(continuation, part(), notFinal))
      expect([progress.isBegun, progress.ended]).toEqual([true, before + 1])
      take(frameOf(continuation, part()))
      expect([progress.isBegun, progress.ended]).toEqual([false, before + 2])
      take(frameOf(ping))
      expect([progress.isBegun, progress.ended]).toEqual([false, before + 2])
    }
  })
})
