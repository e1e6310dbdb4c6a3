/** Whether a reply is the answer to a request of a batch, or the request is made again. */
import { expect, it } from "vitest"
import { isNone, laterOf } from "../../../src/batches/line-outcome.ts"

const never = { "x-should-retry": "false" }
const afterLong = { "retry-after": "120", "retry-after-ms": "120000", ...never }

it.each([
  ["an answer", 200, {}, 0, true],
  ["a bad request", 400, never, 0, true],
  ["a busy vendor", 429, { "retry-after-ms": "2000" }, 0, false],
  ["a vendor that is busy for longer than clients wait", 429, afterLong, 0, false],
  ["a call that is larger than its rate", 429, never, 0, true],
  ["a vendor that fails", 503, {}, 0, false],
  ["a vendor that fails for longer than clients wait", 503, afterLong, 0, false],
  ["a vendor that has failed often", 503, {}, 8, true],
  ["a failure that a repetition does not help", 502, never, 0, true],
  ["a call that runs elsewhere", 409, { "retry-after-ms": "1000" }, 0, false],
  ["a conflict", 409, never, 0, true],
])("%s is the answer, or is asked again", (_name, status, headers, failures, isAnswered) => {
  expect(laterOf({ status, headers, body: "{}" }, failures).isAnswered).toBe(isAnswered)
})

it("waits as long as the reply says, and at most five minutes", () => {
  expect(laterOf({ status: 503, headers: afterLong, body: "" }, 0).pauseMs).toBe(120_000)
  expect(laterOf({ status: 503, headers: { "retry-after-ms": "9000000" }, body: "" }, 0).pauseMs).toBe(300_000)
  expect(laterOf({ status: 503, headers: {}, body: "" }, 3).pauseMs).toBe(8000)
})

it.each([
  ["cannot be read", 502, 2, false],
  ["cannot be read each time", 502, 3, true],
  ["a store could not settle", 503, 10, false],
  ["makes the gateway fail each time", 500, 20, true],
  ["waits for a rate", 429, 100, false],
])("a vendor's reply that %s is none, or is read again", (_name, status, reads, expected) => {
  expect(isNone(status, reads)).toBe(expected)
})
