/** Issues of refused input: Effect's own, and never more than the maximum, however much is wrong. */
import { Result, Schema, SchemaIssue } from "effect"
import { describe, expect, it } from "vitest"
import { SubjectLimits } from "../../../src/protocol/catalogue/limits.ts"
import { ExchangeRequest } from "../../../src/protocol/exchange.ts"
import { findIssues, maxIssues, pathText } from "../../../src/protocol/json/find-issues.ts"
import { decodeJson } from "../../../src/protocol/json/json-body.ts"
import { EmbeddingRequest } from "../../../src/protocol/kinds/embedding.ts"
import { randomOf } from "../../support/random.ts"
import { mutate, valid } from "./changed-requests.ts"

const format = SchemaIssue.makeFormatterStandardSchemaV1()

const allPaths = (schema: Schema.Decoder<unknown>, value: unknown): ReadonlySet<string> => {
  const decoded = Schema.decodeUnknownResult(schema, { errors: "all", onExcessProperty: "error" })(value)
  if (Result.isSuccess(decoded)) return new Set()
  const { issues } = format(decoded.failure.issue)
  return new Set(
    issues.map(({ path = [] }) => pathText(path.map((each) => (typeof each === "object" ? each.key : each)))),
  )
}

describe.each(valid)("%s", (_, schema, examples) => {
  it("has issues exactly where it is refused, at paths that the schema refuses", () => {
    const random = randomOf(11)
    let refused = 0
    for (let run = 0; run < 5000; run++) {
      let changed: unknown = examples[run % examples.length]
      for (let changes = 1 + Math.floor(random() * 4); changes > 0; changes--) changed = mutate(changed, random)
      const paths = allPaths(schema, changed)
      const found = findIssues(schema, changed)
      expect(found.length > 0, JSON.stringify(changed)).toBe(paths.size > 0)
      if (paths.size > 0) refused++
      for (const { path } of found) {
        const isTold = [...paths].some((told) => told.startsWith(pathText(path)) || pathText(path).startsWith(told))
        if (!isTold) throw new Error(`${pathText(path)} is none of ${[...paths]} in ${JSON.stringify(changed)}`)
      }
    }
    expect(refused).toBeGreaterThan(1000)
  })
})

it("issues stop at the maximum, and a list that is too long is one issue", () => {
  const wrong = Array.from({ length: 200_000 }, () => 1)
  const exchange = { model: "main", thread: [{ role: "user", blocks: wrong.slice(0, 1000) }] }
  expect(findIssues(ExchangeRequest, exchange)).toHaveLength(maxIssues)
  const tooLong = findIssues(EmbeddingRequest, { model: "e", input: wrong })
  expect(tooLong.map(({ path }) => path)).toEqual([["input"]])
  expect(tooLong[0]?.message).toContain("at most 2048")
  const unknown = Object.fromEntries(wrong.map((_, at) => [`field${at}`, 1]))
  expect(findIssues(ExchangeRequest, { ...exchange, ...unknown })).toHaveLength(maxIssues)
})

it("each wrong field is told, with the words of the schema", () => {
  const decoded = decodeJson(ExchangeRequest, {
    thread: [{ role: "user", blocks: [{ t: "text", v: 1 }] }],
    params: { maxTokens: "many" },
    extra: 1,
  })
  const issues = Result.isFailure(decoded) ? decoded.failure.detail?.["issues"] : undefined
  expect(issues).toEqual([
    { path: "model", message: "is required" },
    { path: "thread.0.blocks.0.v", message: "1 is not text" },
    { path: "params.maxTokens", message: '"many" is not an integer from 1 to 100000000' },
    {
      path: "extra",
      message: "is not known here; known are model, thread, tools, params, meta, cache, stream, keep, after",
    },
  ])
})

it("of the members of a union, the one with most of the value's fields was meant", () => {
  const found = (rate: object) => findIssues(SubjectLimits, { rates: [rate] }).map(({ path }) => pathText(path))
  expect(found({ tokens: 5, per: "1h" })).toEqual([])
  expect(found({ tokens: 5, per: "744h" })).toEqual([])
  expect(found({ tokens: 5, per: "1d" })).toEqual(["rates.0.per"])
  expect(found({ concurrent: 0 })).toEqual(["rates.0.concurrent"])
  expect(found({ tokns: 5, per: "1h" })).toContain("rates.0.requests")
})
