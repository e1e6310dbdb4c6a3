/** A token is fetched once for all, renewed before it runs out, and never awaited while it is valid. */
import { beforeEach, describe, expect, it } from "vitest"
import { type IssuedToken, RenewedToken } from "../../src/upstream/renewed-token.ts"

const hourMs = 3_600_000

describe("a token", () => {
  let nowMs = 0
  let fetches = 0
  let answer: () => Promise<IssuedToken> = () => Promise.reject(new Error("not set"))
  const issue = async () => ({ token: `token ${fetches}`, expiresAtMs: nowMs + hourMs })
  const fetch = () => {
    fetches++
    return answer()
  }
  let token = new RenewedToken()

  beforeEach(() => {
    nowMs = 0
    fetches = 0
    answer = issue
    token = new RenewedToken(() => nowMs)
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
    const slow = Promise.withResolvers<IssuedToken>()
    answer = () => slow.promise
    expect(await Promise.all([token.get(fetch), token.get(fetch)])).toEqual(["token 1", "token 1"])
    expect(fetches).toBe(2)
    slow.resolve({ token: "new", expiresAtMs: nowMs + hourMs })
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
    await expect(token.get(fetch)).rejects.toThrow("down")
    answer = issue
    expect(await token.get(fetch)).toMatch(/^token /)
  })

  it("that runs out without having been used is fetched again", async () => {
    await token.get(fetch)
    nowMs = 5 * hourMs
    expect(await token.get(fetch)).toBe("token 2")
  })
})
