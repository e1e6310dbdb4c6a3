/** The messages of clients of the embedded database, however they are cut into pieces. */

import { describe, expect, it } from "@effect/vitest"
import { Schema } from "effect"
import { type ClientMessage, ClientMessages } from "../../../src/store/client-messages.ts"
import { first, int, message, startup } from "./client-bytes.ts"

/** Takes after each piece what is whole; work that comes one after the other is one. */
const taken = (pieces: ReadonlyArray<Buffer>) => {
  const messages = new ClientMessages()
  const all: Array<ClientMessage> = []
  for (const piece of pieces) {
    messages.push(piece)
    for (let next = messages.take(); next !== undefined; next = messages.take()) {
      all.push(next)
      if (next.is === "nonsense" || next.is === "end") return all
    }
  }
  return all
}
const work = (all: ReadonlyArray<ClientMessage>) =>
  Buffer.concat(all.map((each) => ("bytes" in each ? each.bytes : new Uint8Array())))

const Count = (most: number) => Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: most }))
const Sizes = Schema.Array(Count(40)).check(Schema.isMaxLength(8))
const Cuts = Schema.Array(Count(400)).check(Schema.isMaxLength(12))

describe("messages of clients", () => {
  it("are given out whole, all that are there at once", () => {
    const batch = Buffer.concat([message("P"), message("B"), message("E"), message("S")])
    const password = message("p", "secret\0")
    // The password comes alone, also where work was sent with it.
    expect(taken([startup, Buffer.concat([password, batch])])).toEqual([
      { is: "startup", bytes: startup },
      { is: "password", bytes: password },
      { is: "work", bytes: batch },
    ])
  })

  it.prop(
    "are the same however they are cut into pieces",
    [Sizes, Cuts, Schema.Boolean],
    ([sizes, cuts, isEncrypted]) => {
      const statements = Buffer.concat(sizes.map((size) => message("Q", new Uint8Array(size).fill(size))))
      const bytes = Buffer.concat([...(isEncrypted ? [first(80877103)] : []), startup, statements, message("X")])
      const at = [0, ...cuts.map((cut) => Math.min(cut, bytes.length)).sort((a, b) => a - b), bytes.length]
      const all = taken(at.slice(1).map((end, before) => bytes.subarray(at[before], end)))
      expect(work(all)).toEqual(Buffer.concat([startup, statements]))
      expect(all[0]?.is).toBe(isEncrypted ? "encryption request" : "startup")
      expect(all.at(-1)?.is).toBe("end")
    },
  )

  it("end with the one that ends the connection: nothing after it is read", () => {
    const before = Buffer.concat([message("p"), message("S")])
    const all = taken([startup, Buffer.concat([before, message("X"), message("Q")])])
    expect(all.map(({ is }) => is)).toEqual(["startup", "password", "work", "end"])
    expect(work(all)).toEqual(Buffer.concat([startup, before]))
  })

  it.each([
    ["TLS", 80877103, "encryption request"],
    ["GSSAPI", 80877104, "encryption request"],
    ["the end of a statement", 80877102, "cancel request"],
  ])("that ask for %s are known before a connection begins", (_what, code, is) => {
    expect(taken([first(code)])).toEqual([{ is }])
  })

  it.each([
    ["the first too short", [int(7), int(196608)]],
    ["the first negative", [int(-1), int(196608)]],
    ["the first too long", [int(10_001), int(196608)]],
    ["another shorter than itself", [startup, Buffer.from("Q"), int(3)]],
    ["another negative", [startup, Buffer.from("Q"), int(-2_000_000_000)]],
  ])("of no possible length are nonsense: %s", (_what, parts) => {
    expect(taken([Buffer.concat(parts)]).at(-1)).toEqual({ is: "nonsense" })
  })

  it("of megabytes are joined once, not with each piece", () => {
    const large = message("Q", new Uint8Array(64 * 1024 ** 2))
    const pieces = Array.from({ length: 1024 }, (_, at) =>
      large.subarray((at * large.length) / 1024, ((at + 1) * large.length) / 1024),
    )
    const started = process.cpuUsage()
    expect(work(taken([startup, ...pieces])).length).toBe(startup.length + large.length)
    // Copies with each piece would be thirty gigabytes.
    expect(process.cpuUsage(started).user).toBeLessThan(2_000_000)
  })
})
