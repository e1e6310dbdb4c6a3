/** The plain check and the schema agree: a value that the check accepts, the schema accepts unchanged. */
import { Result, Schema } from "effect"
import { describe, expect, it } from "vitest"
import { acceptsPlainly } from "../../../src/protocol/json/plain-check.ts"
import { randomOf } from "../../support/random.ts"
import { mutate, valid } from "./changed-requests.ts"

describe.each(valid)("%s", (_, schema, examples) => {
  const accepts = (json: unknown) => acceptsPlainly(schema, json)
  const decode = Schema.decodeUnknownResult(schema, { errors: "all", onExcessProperty: "error" })

  it("is accepted plainly where it is valid", () => {
    for (const example of examples) expect([accepts(example), decode(example)]).toEqual([true, Result.succeed(example)])
  })

  it("is accepted plainly only where the schema accepts it as it is, of many that are changed at random", () => {
    const random = randomOf(7)
    let accepted = 0
    let valid = 0
    for (let run = 0; run < 25_000; run++) {
      let changed: unknown = examples[run % examples.length]
      for (let changes = 1 + Math.floor(random() * 3); changes > 0; changes--) changed = mutate(changed, random)
      const decoded = decode(changed)
      const isValid = Result.isSuccess(decoded)
      const isAccepted = accepts(changed)
      if (isValid) valid++
      if (!isAccepted) continue
      accepted++
      if (!isValid) throw new Error(`accepted: ${JSON.stringify(changed)}`)
      expect(decoded.success).toEqual(changed)
    }
    // It is sure of nearly all that is valid.
    expect(accepted).toBeGreaterThan(0.98 * valid)
    expect(valid).toBeGreaterThan(100)
  }, 120_000)
})
