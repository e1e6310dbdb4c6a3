/** Random threads of masked requests: no vendor gets a value, and each value comes back as it was sent. */
import { describe, expect, it } from "vitest"
import { type Counts, type Fault, maskedThread } from "./masked-threads.ts"
import { clientNames, targets } from "./random-conversations.ts"

/** Threads of each pair, of three turns. */
const threads = 25

describe.each(clientNames)("%s", (client) => {
  it.each(targets)("with $name", (target) => {
    const counts: Counts = { turns: 0, refused: 0 }
    const faults: Array<Fault> = []
    for (let seed = 1; seed <= threads && faults.length === 0; seed++) {
      const fault = maskedThread(client, target, seed, counts)
      if (fault !== undefined) faults.push(fault)
    }
    expect(faults).toEqual([])
    expect(counts.turns).toBeGreaterThanOrEqual(threads)
  })
})
