/** The lag of an export whose books are on several shards. */
import { expect, it } from "vitest"
import { lags } from "../../../src/exports/exports.ts"

it("is that of the shard that is behind most, of each kind of records, of exports that there are", () => {
  const position = (name: string, records: "usage" | "transfers", secondsAgo: number, is_active = true) => ({
    export: name,
    records,
    at: new Date(1_000_000 - secondsAgo * 1000),
    is_active,
  })
  const positions = [
    position("lake", "usage", 10),
    position("lake", "usage", 900),
    position("lake", "usage", 20),
    position("lake", "transfers", 30),
    position("bucket", "usage", -5),
    position("gone", "usage", 5000, false),
  ]
  expect([...lags(positions, 1_000_000)]).toEqual([
    { name: "lake", records: "usage", seconds: 900 },
    { name: "lake", records: "transfers", seconds: 30 },
    { name: "bucket", records: "usage", seconds: 0 },
  ])
})
