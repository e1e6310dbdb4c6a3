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

it.each([
  ["日本語", 6],
  ["한국", 4],
  ["ｆｕｌｌ", 8],
  ["😀", 2],
  ["e\u0301te\u0301", 3],
  ["שלום", 4],
  ["añ", 2],
])("%s is %d columns wide", (name, width) => {
  const [, line = ""] = table(["name", "id"], [[name, "x"]]).split("\n")
  const spaces = Math.max(width, "name".length) - width + 2
  expect(line).toBe(`${name}${" ".repeat(spaces)}x`)
})

it("a cell is one line and commands nothing", () => {
  const text = table(["name", "id"], [["a\n\u001b[31mb\u009b", "x"]])
  expect(text).toBe("NAME       ID\na\ufffd\ufffd[31mb\ufffd  x")
})

it("without rows, the next step is shown instead", () => {
  expect(table(["webhook"], [], "No webhooks yet. Add one: weir webhooks add")).toBe(
    "No webhooks yet. Add one: weir webhooks add",
  )
})
