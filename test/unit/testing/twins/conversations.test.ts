/** Random conversations: no vendor refuses a request of Weir, and each client gets replies in the form of its API. */
import { describe, expect, it } from "vitest"
import { type Broken, clientNames, converse, newTally, targets } from "./random-conversations.ts"

/** The first part: the checks of a change run 200 of each pair (`.ci/run`). */
const conversations = 50

describe.each(clientNames)("%s", (client) => {
  it.each(targets)("with $name", (target) => {
    const tally = newTally()
    const broken: Array<Broken> = []
    for (let seed = 1; seed <= conversations && broken.length === 0; seed++) {
      const found = converse(client, target, seed, tally)
      if (found !== undefined) broken.push(found)
    }
    expect(broken).toEqual([])
    const refused = [...tally.refused.values()].reduce((sum, count) => sum + count, 0)
    expect(tally.answered).toBeGreaterThan(refused)
  })
})
