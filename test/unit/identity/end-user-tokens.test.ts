/** The key ring of end-user tokens: the first signs, all verify, and removed keys do not. */
import { describe, expect, it } from "@effect/vitest"
import { Effect, Result } from "effect"
import { TestClock } from "effect/testing"
import { type EndUserClaims, makeEndUserTokens } from "../../../src/identity/end-user-tokens.ts"
import { makeKey } from "../../../src/identity/key-ring.ts"

const key = (id: string) => makeKey(id, `secret of ${id}`)
const claims: EndUserClaims = { endUserId: "ada", appId: "app", keyId: "key" }
const outcome = (tokens: ReturnType<typeof makeEndUserTokens>, token: string) =>
  Effect.map(Effect.result(tokens.verify(token)), (result) =>
    Result.isSuccess(result) ? result.success : result.failure.code,
  )

describe("the ring", () => {
  it.effect("rotates: tokens of the key before verify until it leaves", () =>
    Effect.gen(function* () {
      const before = makeEndUserTokens([key("old")])
      const { token } = yield* before.mint(claims, 3600)
      expect(yield* outcome(makeEndUserTokens([key("new"), key("old")]), token)).toEqual(claims)
      expect(yield* outcome(makeEndUserTokens([key("new")]), token)).toBe("unauthorized")
      const rotated = makeEndUserTokens([key("new"), key("old")])
      const fresh = yield* rotated.mint(claims, 3600)
      expect(yield* outcome(before, fresh.token)).toBe("unauthorized")
    }),
  )

  it.effect("a key of the same name and another secret verifies nothing", () =>
    Effect.gen(function* () {
      const { token } = yield* makeEndUserTokens([key("one")]).mint(claims, 3600)
      const forged = makeEndUserTokens([makeKey("one", "another secret")])
      expect(yield* outcome(forged, token)).toBe("unauthorized")
    }),
  )

  it.effect("a token ends when it says so", () =>
    Effect.gen(function* () {
      const tokens = makeEndUserTokens([key("one")])
      const { token, expiresAt } = yield* tokens.mint(claims, 60)
      expect(expiresAt.getTime()).toBe(60_000)
      yield* TestClock.adjust("59 seconds")
      expect(yield* outcome(tokens, token)).toEqual(claims)
      yield* TestClock.adjust("1 second")
      expect(yield* outcome(tokens, token)).toBe("token_expired")
    }),
  )
})
