/** Every error code is handled, by type and by value. */
import { describe, expect, expectTypeOf, it } from "vitest"
import { type Advice, adviceFor, type ErrorCode, errorCodes, type WeirError } from "../../../src/client/index.ts"

/** Compiles only while it handles every advice. */
const explain = (advice: Advice): string => {
  switch (advice) {
    case "retry":
      return "again"
    case "wait":
      return "later"
    case "log_in":
      return "who are you"
    case "pay":
      return "money"
    case "ask_permission":
      return "may I"
    case "new_session":
      return "anew"
    case "fix_request":
      return "mistaken"
    case "contact_operator":
      return "broken"
    default:
      return advice satisfies never
  }
}

/** The same for the errors of a call. */
const tell = (error: WeirError): string => {
  switch (error._tag) {
    case "WeirRefused":
      return explain(error.advice)
    case "WeirUnreachable":
    case "WeirUnreadable":
    case "WeirStillRunning":
    case "WeirMisused":
      return error.message
    default:
      return error satisfies never
  }
}

describe("error codes", () => {
  it("each has an advice", () => {
    expectTypeOf(adviceFor).parameter(0).toEqualTypeOf<ErrorCode>()
    expectTypeOf<keyof typeof import("../../../src/client/advice.ts")["advice"]>().toEqualTypeOf<ErrorCode>()
    for (const code of errorCodes) expect(explain(adviceFor(code))).not.toBe("")
    expect(tell).toBeTypeOf("function")
  })
})
