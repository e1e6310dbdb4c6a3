/** Request ids that need no look in the books. */
import { describe, expect, it } from "vitest"
import { isRegistryComplete } from "../../../src/admission/request-id.ts"
import { timeOfUlid } from "../../../src/protocol/values/ulid.ts"

const minute = 60_000
const hour = 60 * minute
const nowMs = 1_800_000_000_000
const alphabet = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
const ulidAt = (time: number) => {
  let digits = ""
  for (let rest = time, at = 0; at < 10; at++, rest = Math.floor(rest / 32)) digits = alphabet[rest % 32] + digits
  return `${digits}0123456789ABCDEF`
}
const complete = (id: string, remembersSinceMs: number | undefined) =>
  isRegistryComplete(id, { nowMs, keptMs: 24 * hour, remembersSinceMs })

describe("timeOfUlid", () => {
  it("reads the time of the specification's example, in any case", () => {
    expect(timeOfUlid("01ARZ3NDEKTSV4RRFFQ69G5FAV")).toBe(1_469_922_850_259)
    expect(timeOfUlid("01arz3ndektsv4rrffq69g5fav")).toBe(1_469_922_850_259)
  })

  it.each(["", "k-1", "81ARZ3NDEKTSV4RRFFQ69G5FAV", "01ARZ3NDEKTSV4RRFFQ69G5FA", "01ARZ3NDEKTSV4RRFFQ69G5FAU"])(
    "knows none of %j",
    (id) => expect(timeOfUlid(id)).toBeUndefined(),
  )
})

describe("isRegistryComplete", () => {
  const longAgo = nowMs - 30 * 24 * hour
  it.each([
    ["a new id", ulidAt(nowMs), longAgo, true],
    ["an id of yesterday", ulidAt(nowMs - 23 * hour), longAgo, true],
    ["an id that the registry may have dropped", ulidAt(nowMs - 25 * hour), longAgo, false],
    ["an id of a clock that is a little ahead", ulidAt(nowMs + 4 * minute), longAgo, true],
    ["an id of a clock that is far ahead", ulidAt(nowMs + 6 * minute), longAgo, false],
    ["an id older than the registry", ulidAt(nowMs - hour), nowMs - 30 * minute, false],
    ["an id that may be older than the registry", ulidAt(nowMs), nowMs - 4 * minute, false],
    ["an id younger than the registry", ulidAt(nowMs), nowMs - 6 * minute, true],
    ["an id while the registry does not answer", ulidAt(nowMs), undefined, false],
    ["an id without a time", "k-1", longAgo, false],
  ])("%s: %#", (_what, id, since, expected) => expect(complete(id, since)).toBe(expected))
})
