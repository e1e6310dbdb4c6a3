import { Effect, Exit, Fiber, Scope } from "effect"
import { describe, expect, it } from "vitest"
import { Keyed, type Member, Members, makeForkIn } from "../../src/collections.ts"
import { randomOf } from "../support/random.ts"

describe("members", () => {
  it("are those of a Set, whatever comes and goes", () => {
    const random = randomOf(3)
    const members = new Members<number>()
    const expected = new Set<number>()
    const known: Array<Member<number>> = []
    for (let step = 0; step < 5000; step++) {
      if (random() < 0.5) {
        known.push(members.add(step))
        expected.add(step)
      } else {
        // Also those that have been removed before.
        const member = known[Math.floor(random() * known.length)]
        if (member === undefined) continue
        members.remove(member)
        expected.delete(member.value)
      }
      expect(members.size).toBe(expected.size)
    }
    expect(new Set(members)).toEqual(expected)
  })

  it("may leave while they are looked at", () => {
    const members = new Members<number>()
    const known = [1, 2, 3, 4].map((value) => members.add(value))
    const seen: Array<number> = []
    for (const value of members) {
      seen.push(value)
      for (const member of known) members.remove(member)
    }
    expect(seen).toEqual([1, 2, 3, 4])
    expect(members.size).toBe(0)
  })
})

describe("values by a key", () => {
  it("are those of a Map, under keys that objects have too", () => {
    const random = randomOf(5)
    const keys = ["__proto__", "constructor", "toString", "", "a", "b", "7", "req_1"]
    const keyed = new Keyed<number>()
    const expected = new Map<string, number>()
    for (let step = 0; step < 5000; step++) {
      const key = keys[Math.floor(random() * keys.length)] ?? ""
      expect(keyed.has(key)).toBe(expected.has(key))
      expect(keyed.get(key)).toBe(expected.get(key))
      if (random() < 0.5) {
        keyed.set(key, step)
        expected.set(key, step)
      } else {
        if (random() < 0.5) keyed.delete(key)
        else expect(keyed.take(key)).toBe(expected.get(key))
        expected.delete(key)
      }
      expect(keyed.size).toBe(expected.size)
    }
    expect(new Map(keyed.entries())).toEqual(expected)
    expect([...keyed.values()].sort()).toEqual([...expected.values()].sort())
  })
})

describe("fibers that run in a scope", () => {
  it("are interrupted and waited for when it closes, and at once after that", async () => {
    const scope = Effect.runSync(Scope.make())
    const forkIn = Effect.runSync(Scope.provide(makeForkIn, scope))
    const ended: Array<string> = []
    const run = (name: string) =>
      forkIn(
        Effect.ensuring(
          Effect.never,
          Effect.delay(
            Effect.sync(() => ended.push(name)),
            "20 millis",
          ),
        ),
      )
    const done = forkIn(Effect.succeed(1))
    run("a")
    run("b")
    expect(ended).toEqual([])
    await Effect.runPromise(Scope.close(scope, Exit.void))
    expect(ended).toEqual(["a", "b"])
    expect(await Effect.runPromise(Fiber.join(done))).toBe(1)
    await Effect.runPromise(Fiber.await(run("late")))
    expect(ended).toEqual(["a", "b", "late"])
  })
})
