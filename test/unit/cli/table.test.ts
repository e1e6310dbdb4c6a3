/** Tables of the commands. */
import { expect, it } from "vitest"
import { table } from "../../../src/cli/table.ts"

it("instants of a table end with the second; other cells stay as they are", () => {
  const rows = [
    ["2026-11-27T23:49:33.29+00:00", "1.50"],
    ["2026-11-27T23:49:33Z", "12"],
    ["since 2026-11-27T23:49:33.29+00:00", ""],
  ]
  expect(table(["at", "amount"], rows).split("\n")).toEqual([
    "AT                                  AMOUNT",
    "2026-11-27T23:49:33Z                  1.50",
    "2026-11-27T23:49:33Z                    12",
    "since 2026-11-27T23:49:33.29+00:00",
  ])
})
