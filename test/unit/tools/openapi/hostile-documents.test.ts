/** Documents that are made to take long: nothing else runs while a document is read. */
import { expect, it } from "@effect/vitest"
import { toolsOf } from "../../../../src/tools/openapi/operations.ts"

const pathsOf = (count: number, operation: object) =>
  Object.fromEntries(Array.from({ length: count }, (_, at) => [`/path${at}`, { get: operation, post: operation }]))
const many = (count: number) => Array.from({ length: count }, (_, at) => `name${at}`)
const bodyOf = (schema: object) => ({ requestBody: { content: { "application/json": { schema } } } })
const nested = (depth: number): object => (depth === 0 ? {} : { not: nested(depth - 1) })

it.each([
  ["a name of many underscores", { paths: { "/a": { get: { operationId: `a${"_".repeat(100_000)}a` } } } }],
  [
    "a parameter of many underscores",
    {
      paths: { "/a": { get: { parameters: [{ in: "query", name: `a${"_".repeat(100_000)}a` }] } } },
    },
  ],
  [
    "many parameters",
    {
      paths: { "/a": { get: { parameters: many(20_000).map((name) => ({ in: "query", name, schema: {} })) } } },
    },
  ],
  [
    "a large schema that many operations share",
    {
      components: { schemas: { Large: { enum: many(100_000) } } },
      paths: pathsOf(500, { parameters: [{ in: "query", name: "a", schema: { $ref: "#/components/schemas/Large" } }] }),
    },
  ],
  [
    "a large body that many operations share",
    {
      components: {
        schemas: { Large: { type: "object", properties: Object.fromEntries(many(20_000).map((name) => [name, {}])) } },
      },
      paths: pathsOf(20, bodyOf({ $ref: "#/components/schemas/Large" })),
    },
  ],
  [
    "a deep schema",
    { paths: pathsOf(1, { parameters: [{ in: "query", name: "a", schema: { default: nested(3000) } }] }) },
  ],
])("%s takes no time", (_, document) => {
  const before = process.threadCpuUsage()
  toolsOf({ openapi: "3.1.0", ...document })
  // Each took ten times as long, or more. Others that run on this machine do not count.
  const { user, system } = process.threadCpuUsage(before)
  expect((user + system) / 1000).toBeLessThan(1500)
})

it("is not read any further when its time is over", () => {
  let looks = 0
  const { operations, problems } = toolsOf(
    { openapi: "3.1.0", paths: pathsOf(100, {}) },
    { isOver: () => ++looks > 10 },
  )
  expect(operations).toHaveLength(10)
  expect(problems).toEqual([{ place: "GET /path5", message: "the document takes too long to be read" }])
})
