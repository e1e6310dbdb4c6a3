/** A token is fetched once for all, renewed before it runs out, and never awaited while it is valid. */
import { beforeEach, describe, expect, it } from "vitest"
import { type Issued, Renewed } from "../../../src/cloud-identities/renewed.ts"

const hourMs = 3_600_000

describe("a token", () => {
  let nowMs = 0
  let fetches = 0
  let answer: () => Promise<Issued<string>> = () => Promise.reject(new Error("not set"))
  const issue = async () => ({ value: `token ${fetches}`, expiresAtMs: nowMs + hourMs })
  const fetch = () => {
    fetches++
    return answer()
  }
  /** The functions that are to be run later, with their times. */
  let later: Array<{ readonly run: () => void; readonly atMs: number }> = []
  const options = {
    nowMs: () => nowMs,
    later: (run: () => void, ms: number) => {
      later.push({ run, atMs: nowMs + ms })
    },
  }
  const describeFailure = (cause: unknown) => (cause instanceof Error ? cause.message : "")
  let token = new Renewed<string>(describeFailure, options)

  beforeEach(() => {
    nowMs = 0
    fetches = 0
    answer = issue
    later = []
    token = new Renewed(describeFailure, options)
  })

  it("is fetched once by all who ask at the same time, and kept", async () => {
    const got = await Promise.all(Array.from({ length: 10_000 }, () => token.get(fetch)))
    expect(new Set(got)).toEqual(new Set(["token 1"]))
    nowMs = 0.69 * hourMs
    expect(await token.get(fetch)).toBe("token 1")
    expect(fetches).toBe(1)
  })

  it("is renewed in the background, and the old one serves while the issuer is slow", async () => {
    await token.get(fetch)
    nowMs = 0.81 * hourMs
    const slow = Promise.withResolvers<Issued<string>>()
    answer = () => slow.promise
    expect(await Promise.all([token.get(fetch), token.get(fetch)])).toEqual(["token 1", "token 1"])
    expect(fetches).toBe(2)
    slow.resolve({ value: "new", expiresAtMs: nowMs + hourMs })
    await slow.promise
    await Promise.resolve()
    expect(await token.get(fetch)).toBe("new")
    expect(fetches).toBe(2)
  })

  it("serves to its end while renewing fails, which is tried again every five seconds", async () => {
    await token.get(fetch)
    answer = () => Promise.reject(new Error("down"))
    for (nowMs = 0.81 * hourMs; nowMs < 0.81 * hourMs + 20_000; nowMs += 100) {
      expect(await token.get(fetch)).toBe("token 1")
    }
    expect(fetches).toBe(1 + 4)
    nowMs = hourMs
    await expect(token.get(fetch)).rejects.toMatchObject({ _tag: "IdentityFailed", sentence: "down" })
    expect(token.problem).toBe("down")
    answer = issue
    expect(await token.get(fetch)).toMatch(/^token /)
    expect(token.problem).toBeUndefined()
  })

  it("that is used is renewed in time although nobody asks for it then; one that is not used is left alone", async () => {
    await token.get(fetch)
    await token.get(fetch)
    const [timer] = later.splice(0)
    expect(timer?.atMs).toBeGreaterThan(0.69 * hourMs)
    expect(timer?.atMs).toBeLessThanOrEqual(0.8 * hourMs)
    nowMs = timer?.atMs ?? 0
    timer?.run()
    await new Promise(setImmediate)
    expect(fetches).toBe(2)
    const [again] = later.splice(0)
    nowMs = again?.atMs ?? 0
    again?.run()
    await new Promise(setImmediate)
    expect(fetches).toBe(2)
  })

  it("is renewed as the last who used it asks, e.g. through another proxy", async () => {
    await token.get(() => Promise.resolve({ value: "by the old proxy", expiresAtMs: hourMs }))
    expect(await token.get(fetch)).toBe("by the old proxy")
    const [timer] = later.splice(0)
    nowMs = timer?.atMs ?? 0
    timer?.run()
    await new Promise(setImmediate)
    expect(await token.get(fetch)).toBe("token 1")
  })

  it("whose renewal fails is tried again in five seconds, although nobody asks for it then", async () => {
    await token.get(fetch)
    await token.get(fetch)
    const [due] = later.splice(0)
    answer = () => Promise.reject(new Error("down"))
    nowMs = due?.atMs ?? 0
    due?.run()
    await new Promise(setImmediate)
    expect(token.problem).toBe("down")
    const [again] = later.splice(0)
    expect(again?.atMs).toBe(nowMs + 5_000)
    answer = issue
    nowMs = again?.atMs ?? 0
    again?.run()
    await new Promise(setImmediate)
    expect(await token.get(fetch)).toBe("token 3")
  })

  it("whose issuer does not answer in time fails, and says so", async () => {
    const slow = new Renewed<string>(describeFailure, { ...options, deadlineMs: 20 })
    await expect(slow.get(() => new Promise(() => {}))).rejects.toMatchObject({
      sentence: "the issuer took longer than 20 ms",
    })
    expect(await slow.get(issue)).toBe("token 0")
  })

  it("that runs out without having been used is fetched again", async () => {
    await token.get(fetch)
    nowMs = 5 * hourMs
    expect(await token.get(fetch)).toBe("token 2")
  })
})
