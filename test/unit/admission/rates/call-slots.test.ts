/** Calls at a time over nodes: never more than the limit run, however questions, answers and reports are delayed. */
import { describe, expect, it } from "vitest"
import { CallSlots, type SlotAsk, shareOfFree } from "../../../../src/admission/rates/call-slots.ts"
import { randomOf } from "../../../support/random.ts"

const key = "k"

/** The store: the number that each node holds. */
class Store {
  readonly held = new Map<number, number>()

  ask(node: number, { limit, need, want }: SlotAsk): number | undefined {
    const others = [...this.held].reduce((sum, [other, calls]) => (other === node ? sum : sum + calls), 0)
    if (others + need > limit) return undefined
    const calls = need + Math.min(want - need, Math.floor((limit - others - need) / shareOfFree))
    this.held.set(node, calls)
    return calls
  }
}

/** @returns the most that ran at a time, and whether a slot was lost when all had ended */
const simulate = (seed: number, limit: number) => {
  const random = randomOf(seed)
  const store = new Store()
  const nodes = Array.from({ length: 4 }, () => ({ slots: new CallSlots(), wire: [] as Array<() => void> }))
  const ends: Array<{ readonly at: number; readonly end: () => void }> = []
  let [running, most, at] = [0, 0, 0]
  const run = (slots: CallSlots) => {
    running++
    most = Math.max(most, running)
    const end = () => {
      running--
      slots.leave([key])
    }
    ends.push({ at: at + 1 + Math.floor(random() * 200), end })
  }
  const report = (node: number, why: "changes" | "renewal") => {
    const { slots, wire } = nodes[node] ?? { slots: new CallSlots(), wire: [] }
    for (const { held, isLeast } of slots.reports(why)) {
      wire.push(() => store.held.set(node, isLeast ? Math.max(held, store.held.get(node) ?? 0) : held))
    }
  }
  for (; at < 6000; at++) {
    for (const [node, { slots, wire }] of nodes.entries()) {
      // One connection: what was sent first arrives first.
      while (wire.length > 0 && random() < 0.2) wire.shift()?.()
      if (at < 5000 && random() < 0.1) {
        if (slots.take([key])) run(slots)
        else {
          const asks = slots.ask([key], [limit])
          const [ask] = asks
          wire.push(() => {
            const granted = ask && store.ask(node, ask)
            slots.answered(asks, granted === undefined ? undefined : [granted])
            if (granted !== undefined) run(slots)
          })
        }
      }
      if (at % 100 === node) report(node, at % 500 === node ? "renewal" : "changes")
    }
    for (const { end } of ends.filter((each) => each.at === at)) end()
    ends.splice(0, ends.length, ...ends.filter((each) => each.at > at))
  }
  const deliver = () => {
    for (const { wire } of nodes) for (const send of wire.splice(0)) send()
  }
  deliver()
  for (const { end } of ends) end()
  for (const node of nodes.keys()) report(node, "renewal")
  deliver()
  return { most, left: [...store.held.values()].reduce((sum, held) => sum + held, 0) }
}

describe.each([1, 3, 20, 100])("a limit of %i calls at a time, at four nodes", (limit) => {
  it("is reached, is never exceeded, and is free again when all have ended", () => {
    for (let seed = 1; seed <= 20; seed++) {
      const { most, left } = simulate(seed, limit)
      expect(most, `seed ${seed}`).toBeLessThanOrEqual(limit)
      if (limit <= 20) expect(most, `seed ${seed}`).toBe(limit)
      expect(left, `seed ${seed}`).toBe(0)
    }
  })
})
