/** Codes are valid by the clock of the database: nodes have clocks of their own. */
import { expect, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { TestClock } from "effect/testing"
import { KeyRing } from "../../../src/identity/key-ring.ts"
import { OneTimeCodes } from "../../../src/identity/one-time-codes.ts"
import { layerTestDatabase } from "../../support/books.ts"

const services = OneTimeCodes.layer.pipe(Layer.provide(KeyRing.layer), Layer.provideMerge(layerTestDatabase))

layer(services, { excludeTestServices: true })("a code of a node", (it) => {
  it.effect.each([-3_600_000, 3_600_000])("whose clock is %i ms off is valid as long as any other", (offMs) =>
    Effect.gen(function* () {
      const codes = yield* OneTimeCodes
      const subject = `ada${offMs}@example.com`
      const code = yield* Effect.provide(
        Effect.andThen(TestClock.setTime(Date.now() + offMs), codes.make("login", subject)),
        TestClock.layer(),
      )
      yield* codes.spend("login", subject, code ?? "")
      expect(code).toMatch(/^\d{6}$/)
    }),
  )
})
