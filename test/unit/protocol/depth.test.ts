/** The depth to which a value may be nested: in lists and in objects alike. */
import { expect, it } from "vitest"
import { isDeeperThan } from "../../../src/protocol/json/depth.ts"

const nested = (levels: number, around: (inner: unknown) => unknown): unknown => {
  let value: unknown = "text"
  for (let level = 0; level < levels; level++) value = around(value)
  return value
}

it.each([
  ["lists", (inner: unknown) => [1, inner]],
  ["objects", (inner: unknown) => ({ beside: null, inner })],
  ["a field of the name __proto__", (inner: unknown) => JSON.parse(`{"__proto__":${JSON.stringify(inner)}}`)],
])("%s", (_, around) => {
  expect(isDeeperThan(nested(0, around), 0)).toBe(false)
  expect(isDeeperThan(nested(64, around), 64)).toBe(false)
  expect(isDeeperThan(nested(65, around), 64)).toBe(true)
  expect(
    isDeeperThan(
      nested(100_000, (inner) => [inner]),
      64,
    ),
  ).toBe(true)
})
