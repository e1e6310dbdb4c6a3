/** Events that wait at a socket: bounded in bytes, of a socket, of a key and of the process. */
import { describe, expect, it } from "vitest"
import { makeWaitingEvents } from "../../../../src/http/sockets/waiting-events.ts"

const limits = { socketBytes: 100, keyBytes: 250, processBytes: 400 }
const event = (bytes: number) => Buffer.alloc(bytes)

describe("waiting events", () => {
  it("are as many bytes of a socket, of a key and of the process as may be", () => {
    const at = makeWaitingEvents(limits)
    const [a, b, c] = [at("one"), at("one"), at("one")]
    expect([a.add(event(60)), a.add(event(41)), a.add(event(40))]).toEqual([true, false, true])
    expect([b.add(event(100)), c.add(event(51)), c.add(event(50))]).toEqual([true, false, true])
    const [d, e] = [at("two"), at("three")]
    expect([d.add(event(100)), e.add(event(51)), e.add(event(50))]).toEqual([true, false, true])
  })

  it("give their room back when they are taken or forgotten, in their order", () => {
    const at = makeWaitingEvents(limits)
    const [a, b] = [at("one"), at("two")]
    a.add(event(30))
    a.add(event(70))
    expect([a.next()?.length, a.next()?.length, a.next()]).toEqual([30, 70, undefined])
    for (let round = 0; round < 50; round++) {
      expect(a.add(event(100))).toBe(true)
      a.clear()
      a.clear()
    }
    expect(b.add(event(100))).toBe(true)
  })

  it("are sixteen at most", () => {
    const a = makeWaitingEvents(limits)("one")
    expect(Array.from({ length: 17 }, () => a.add(event(1))).filter((added) => added)).toHaveLength(16)
  })
})
