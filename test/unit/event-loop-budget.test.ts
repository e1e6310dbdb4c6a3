/** The bytes of large bodies that are taken in a turn of the event loop. */
import { setImmediate as turn } from "node:timers/promises"
import { describe, expect, it } from "vitest"
import { EventLoopBudget } from "../../src/event-loop-budget.ts"
import { randomOf } from "../support/random.ts"

describe("the share of a turn", () => {
  it("is there again in the next turn", async () => {
    const share = new EventLoopBudget(100)
    expect(share.take(60)).toBeUndefined()
    expect(share.take(40)).toBeUndefined()
    await turn()
    expect(share.take(100)).toBeUndefined()
    expect(share.take(1)).toBeInstanceOf(Promise)
  })

  it("is not given to who comes later, however little that is, while somebody waits", async () => {
    const share = new EventLoopBudget(100)
    expect(share.take(60)).toBeUndefined()
    const order: Array<string> = []
    const first = share.take(60)?.then(() => order.push("first"))
    const second = share.take(10)?.then(() => order.push("second"))
    await Promise.all([first, second])
    expect(order).toEqual(["first", "second"])
  })

  it("is not exceeded by more than one part a turn, whoever waits; who waits longest goes on first", async () => {
    const random = randomOf(7)
    for (let round = 0; round < 50; round++) {
      const share = new EventLoopBudget(100)
      const largest = 1 + Math.floor(random() * 150)
      const order: Array<number> = []
      let inTurn = 0
      // Before the share's own, so that each of its turns is seen alone.
      let next = turn(false)
      const clients = Array.from({ length: 20 }, async (_, client) => {
        for (let part = 0; part < 5; part++) {
          const bytes = Math.ceil(random() * largest)
          const later = share.take(bytes)
          if (later === undefined) {
            inTurn += bytes
            continue
          }
          order.push(client)
          await later
          expect(order.shift()).toBe(client)
          inTurn += bytes
        }
      })
      let turns = 0
      const all = Promise.all(clients).then(() => true)
      while (!(await Promise.race([all, next]))) {
        next = turn(false)
        expect(inTurn).toBeLessThanOrEqual(100 + largest)
        inTurn = 0
        turns++
      }
      expect(turns).toBeLessThanOrEqual(101)
      expect(order).toEqual([])
    }
  })
})
