import { Result } from "effect"
import { describe, expect, it } from "vitest"
import { parseBody } from "../../../src/protocol/json/json-body.ts"
import { exceededLimit, type JsonLimits, loopLimits } from "../../../src/protocol/json/json-size.ts"
import { randomOf } from "../../support/random.ts"

const exceeded = (text: string, limits: JsonLimits) => exceededLimit(Buffer.from(text), limits)

describe("the size of JSON", () => {
  it.each([
    ["[1,2,3]", 3, 0],
    ['{"a":1,"b":[{},{}]}', 8, 2],
    ['"a,b:[{\\",:"', 1, 0],
    ['["\\\\","\\"",1]', 5, 0],
  ])("%s has %i values and %i names", (text, values, names) => {
    const limits = { values, names, levels: 3 }
    expect(exceeded(text, limits)).toBeUndefined()
    expect(exceeded(text, { ...limits, values: values - 1 })).toBe("values")
    if (names > 0) expect(exceeded(text, { ...limits, names: names - 1 })).toBe("names")
  })

  it("strings end where JSON ends them, however long they are", () => {
    const random = randomOf(5)
    const pieces = ["x", "\\", '"', "\n", "é", "x".repeat(100), "{", ":"]
    for (let run = 0; run < 2000; run++) {
      const texts = Array.from({ length: 1 + Math.floor(random() * 5) }, () =>
        Array.from({ length: Math.floor(random() * 12) }, () => pieces[Math.floor(random() * pieces.length)]).join(""),
      )
      const text = JSON.stringify(texts)
      const values = 2 * texts.length
      const limits = { values, names: 0, levels: 1 }
      expect(exceeded(text, limits), text).toBeUndefined()
      expect(exceeded(text, { ...limits, values: values - 1 }), text).toBe("values")
    }
  })

  it("text that is not JSON ends", () => {
    for (const text of ["", '"', '"\\', '{"a', "\\\\", ",,,,"]) expect(exceeded(text, loopLimits)).toBeUndefined()
  })

  it("a body with too many values or names is refused before it is parsed", () => {
    const deep = (levels: number) => `${'[{"a":'.repeat(levels / 2)}1${"}]".repeat(levels / 2)}`
    const message = (body: string) => {
      const parsed = parseBody(Buffer.from(body))
      return Result.isFailure(parsed) ? parsed.failure.message : undefined
    }
    expect(message(`[${"1,".repeat(loopLimits.values)}`)).toBe("The body has more than 400000 values")
    expect(message(`{${'"a":'.repeat(loopLimits.names + 1)}`)).toBe("The body has more than 50000 names")
    expect(message(`[${"1,".repeat(1000)}1]`)).toBeUndefined()
    expect(message(deep(66))).toBe("The body is nested deeper than 64")
    expect(message(`[${deep(62)},${deep(62)}]`)).toBeUndefined()
    expect(message(JSON.stringify(",".repeat(loopLimits.values + 1)))).toBeUndefined()
  })
})
