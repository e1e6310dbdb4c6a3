/**
 * Functions that V8 makes in the old space, where they stay, with all that they can reach, until everything is collected: those
 * that are assigned to a property as they are written. Four in each call kept every request and its reply.
 */
import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { Predicate } from "effect"
import { parseAst } from "rolldown/parseAst"
import { describe, expect, it } from "vitest"

const isFunction = (node: unknown): boolean =>
  Predicate.hasProperty(node, "type") &&
  (node.type === "ArrowFunctionExpression" || node.type === "FunctionExpression" || isInBrackets(node))

const isInBrackets = (node: object): boolean =>
  Predicate.hasProperty(node, "type") &&
  node.type === "ParenthesizedExpression" &&
  Predicate.hasProperty(node, "expression") &&
  isFunction(node.expression)

/** The lines of a program where a function is assigned to a property as it is written. */
const assignedFunctions = (code: string): ReadonlyArray<number> => {
  const lines: Array<number> = []
  const visit = (node: unknown): void => {
    if (!Predicate.isObjectOrArray(node)) return
    if (
      Predicate.hasProperty(node, "type") &&
      node.type === "AssignmentExpression" &&
      Predicate.hasProperty(node, "left") &&
      Predicate.hasProperty(node.left, "type") &&
      node.left.type === "MemberExpression" &&
      Predicate.hasProperty(node, "right") &&
      isFunction(node.right) &&
      Predicate.hasProperty(node, "start")
    ) {
      lines.push(code.slice(0, Number(node.start)).split("\n").length)
    }
    for (const child of Object.values(node)) visit(child)
  }
  visit(parseAst(code, { lang: "ts" }))
  return lines
}

describe("functions", () => {
  it("are found where they are assigned to a property", () => {
    const code = [
      "const named = () => 1",
      "reply.onGone = named",
      "reply.onGone = () => 1",
      "this.#tell ??= function () {}",
      "flight.onShared = (async (): Promise<void> => {})",
      "call({ onGone: () => 1 })",
      "class A { readonly look = () => 1 }",
    ].join("\n")
    expect(assignedFunctions(code)).toEqual([3, 4, 5])
  })

  it("have a name of their own before they are assigned to a property, in what a gateway runs", () => {
    const root = fileURLToPath(new URL("../../src", import.meta.url))
    const files = readdirSync(root, { recursive: true, encoding: "utf8" }).filter(
      (file) => file.endsWith(".ts") && !file.startsWith("console/"),
    )
    const found = files.flatMap((file) =>
      assignedFunctions(readFileSync(join(root, file), "utf8")).map((line) => `src/${file}:${line}`),
    )
    expect(found).toEqual([])
  })
})
