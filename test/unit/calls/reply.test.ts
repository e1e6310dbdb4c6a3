/** The reply of an exchange before a client that takes less than the vendor sends. */
import { setImmediate as turn } from "node:timers/promises"
import { describe, expect, it } from "vitest"
import type { Connection } from "../../../src/calls/connection.ts"
import { ClientReply } from "../../../src/calls/reply/reply.ts"
import { EventWriter } from "../../../src/kinds/chat/event-writer.ts"

/** A connection that takes a number of writes, and then none until a test lets it. */
const connect = (bufferBytes: number) => {
  let room = 1
  let unsent = 0
  let ends = 0
  let listener: Parameters<Connection<never>["listen"]>[0] | undefined
  const sent: Array<string> = []
  const connection: Connection<never> = {
    events: new EventWriter(),
    send: () => {},
    refuse: () => {},
    write: (events) => {
      sent.push(String(events))
      unsent += events.length
      room--
      return room > 0
    },
    end: (flushed) => {
      ends++
      flushed()
    },
    cut: () => {},
    unsentBytes: () => unsent,
    takenBytes: () => 0,
    listen: (heard) => {
      listener = heard
    },
  }
  const waiting = { bytes: 0, limitBytes: 1_000_000 }
  const reply = new ClientReply({ connection, waiting, bufferBytes, stallMs: 1000, heartbeatMs: 1000, nowMs: () => 0 })
  return {
    reply,
    sent,
    waiting,
    /** The client takes all that was written; the connection has room for a number of writes. */
    take: (writes: number) => {
      unsent = 0
      room = writes
      listener?.room()
    },
    ends: () => ends,
    leave: () => listener?.gone(),
  }
}

describe("a client that takes a part of what waits", () => {
  it("does not have the vendor read on before there is room", () => {
    const { reply, sent, waiting, take } = connect(10)
    let rooms = 0
    reply.onRoom = () => {
      rooms++
    }
    for (const events of ["first", "a".repeat(20), "b".repeat(20), "c".repeat(20)]) reply.write(events)
    expect(reply.isFull).toBe(true)
    take(1)
    // One part was taken; two wait, which is more than may.
    expect({ rooms, isFull: reply.isFull, waiting: waiting.bytes }).toEqual({ rooms: 0, isFull: true, waiting: 40 })
    take(9)
    expect({ rooms, isFull: reply.isFull, waiting: waiting.bytes }).toEqual({ rooms: 1, isFull: false, waiting: 0 })
    expect(sent.join("")).toBe(`first${"a".repeat(20)}${"b".repeat(20)}${"c".repeat(20)}`)
  })
})

describe("a reply whose parts are made when they are written", () => {
  const stored = (chunks: ReadonlyArray<string>, heldBytes: number) => ({
    bytes: chunks.join("").length,
    heldBytes,
    chunks: async function* () {
      for (const chunk of chunks) yield Buffer.from(chunk)
    },
  })

  it("counts the memory of those that wait, and ends after the last one", async () => {
    const { reply, sent, waiting, take, ends } = connect(10)
    let over = 0
    reply.parts(["first", stored(["aaaa", "bb"], 6), "-", stored(["cccc", "dddd"], 8)])
    reply.whenOver(() => over++)
    expect([waiting.bytes, over]).toEqual([15, 0])
    take(1)
    await turn()
    expect([sent.join(""), waiting.bytes]).toEqual(["firstaaaa", 11])
    take(1)
    await turn()
    expect([sent.join(""), waiting.bytes]).toEqual(["firstaaaabb", 9])
    take(9)
    await turn()
    expect([sent.join(""), waiting.bytes, over]).toEqual(["firstaaaabb-ccccdddd", 0, 1])
    take(1)
    expect(ends()).toBe(1)
  })

  it("counts nothing once its client has left", async () => {
    const { reply, waiting, take, leave } = connect(10)
    reply.parts([stored(["aaaa", "bb", "cc"], 8)])
    await turn()
    take(1)
    await turn()
    expect(waiting.bytes).toBe(2)
    leave()
    await turn()
    expect(waiting.bytes).toBe(0)
  })
})

describe("a stream on a connection that it shares", () => {
  it("is not stalled when it begins, although bytes of others wait", () => {
    let nowMs = 60_000
    const connection: Connection<never> = {
      events: new EventWriter(),
      send: () => {},
      refuse: () => {},
      write: () => false,
      end: () => {},
      cut: () => {},
      unsentBytes: () => 5000,
      takenBytes: () => 70_000,
      listen: () => {},
    }
    const waiting = { bytes: 0, limitBytes: 1_000_000 }
    const options = { connection, waiting, bufferBytes: 1000, stallMs: 1000, heartbeatMs: 1000, nowMs: () => nowMs }
    const reply = new ClientReply(options)
    reply.write("first")
    expect(reply.stall(nowMs)).toBeGreaterThan(nowMs)
    nowMs += 999
    expect(reply.stall(nowMs)).toBeGreaterThan(nowMs)
    nowMs += 1
    expect(reply.stall(nowMs)).toBe(0)
  })
})
