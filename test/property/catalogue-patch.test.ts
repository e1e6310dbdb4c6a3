/** Taking up a catalogue by what changed gives the same as reading all of it, and keeps what did not change. */
import { describe, expect, it } from "@effect/vitest"
import { Result, Schema } from "effect"
import { applyPatch, joinPart, partsOf } from "../../src/catalogue/patch.ts"
import { readStored, readText } from "../../src/catalogue/reading.ts"
import { CatalogueDocument } from "../../src/protocol/catalogue.ts"

const Digit = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 7 }))
/** Organisations by number, with the name of each; the first of a number counts. */
const Orgs = Schema.Array(Schema.Struct({ id: Digit, name: Digit })).check(Schema.isMaxLength(8))
const Sketch = Schema.Struct({
  orgs: Orgs,
  prices: Orgs,
  ttfb: Schema.optionalKey(Digit),
  isEmpty: Schema.Boolean,
})

const unique = (items: typeof Orgs.Type) => [...new Map(items.map((item) => [item.id, item])).values()]

const textOf = ({ orgs, prices, ttfb, isEmpty }: typeof Sketch.Type): string =>
  isEmpty
    ? "version: 1"
    : JSON.stringify({
        version: 1,
        ...(ttfb !== undefined && { timeouts: { test: { ttfb: `${ttfb + 1}s` } } }),
        vendors: [{ id: "v", dialect: "anthropic", baseUrl: "http://v.test", timeouts: { connect: "2s" } }],
        models: [{ handle: "m", targets: [{ vendor: "v", model: "a" }] }],
        prices: unique(prices).map(({ id, name }) => {
          return { model: "m", currency: "USD", input: String(name), output: "2", from: `2026-01-0${id + 1}` }
        }),
        orgs: unique(orgs).map(({ id, name }) => {
          return { id: `o${id}`, name: `N${name}`, currency: "USD", models: ["m"] }
        }),
      })

const decode = Schema.decodeUnknownSync(CatalogueDocument)

describe("a catalogue is taken up by what changed", () => {
  it.prop("from one to another", [Sketch, Sketch], ([before, after]) => {
    const first = Result.getOrThrow(readText(textOf(before), ""))
    const known = applyPatch({ version: 1 }, first)
    expect(known).toEqual(decode(JSON.parse(first.json)))
    for (const second of [
      Result.getOrThrow(readText(textOf(after), first.json)),
      readStored(Result.getOrThrow(readText(textOf(after), "")).json, first.json),
    ]) {
      const parts = [...partsOf(second.news, 3)]
      const news = parts.reduce(joinPart)
      const document = applyPatch(known, { order: second.order, news })
      expect(document).toEqual(decode(JSON.parse(second.json)))
      const kept = new Set<unknown>(known.orgs)
      for (const org of document.orgs ?? []) {
        const same = known.orgs?.find(({ id, name }) => id === org.id && name === org.name)
        expect(kept.has(org)).toBe(same !== undefined)
      }
      expect(second.changes.length === 0).toBe(first.fingerprint === second.fingerprint)
    }
  })
})
