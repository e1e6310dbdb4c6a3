/** Taking up a catalogue by what changed gives the same as reading all of it, and keeps what did not change. */
import { describe, expect, it } from "@effect/vitest"
import { Result, Schema } from "effect"
import { joinDeclared, nothingDeclared, slicesOf } from "../../../src/catalogue/declared.ts"
import { applyPatch, joinPart, partsOf } from "../../../src/catalogue/patch.ts"
import { readStored, readText } from "../../../src/catalogue/reading.ts"
import { PlatformDocument } from "../../../src/protocol/catalogue/document.ts"

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
        plans: unique(orgs).map(({ id, name }) => ({ id: `p${id}`, perMinute: name + 1 })),
        orgs: unique(orgs).map(({ id, name }) => {
          return { id: `o${id}`, name: `N${name}`, currency: "USD", models: ["m"] }
        }),
      })

const decode = Schema.decodeUnknownSync(PlatformDocument)
const nothing = new Uint8Array()
const parse = (json: Uint8Array) => JSON.parse(new TextDecoder().decode(json))

describe("a catalogue is taken up by what changed", () => {
  it.prop("from one to another", [Sketch, Sketch], ([before, after]) => {
    const first = Result.getOrThrow(readText(textOf(before), nothing))
    const known = applyPatch({ version: 1 }, first)
    expect(known).toEqual(decode(parse(first.json)))
    for (const second of [
      Result.getOrThrow(readText(textOf(after), first.json, { prune: true })),
      readStored(Result.getOrThrow(readText(textOf(after), nothing)).json, first.json),
    ]) {
      const parts = [...partsOf(second.news, 3)]
      const news = parts.reduce(joinPart)
      const document = applyPatch(known, { order: second.order, news })
      expect(document).toEqual(decode(parse(second.json)))
      const kept = new Set<unknown>(known.plans)
      for (const plan of document.plans ?? []) {
        const same = known.plans?.find(({ id, perMinute }) => id === plan.id && perMinute === plan.perMinute)
        expect(kept.has(plan)).toBe(same !== undefined)
      }
      const tenants = new Map(first.declared.changed.map(({ id, document: org }) => [id, org]))
      const declared = [...slicesOf(second.declared, 3)].reduce(joinDeclared, nothingDeclared)
      for (const { id, document: org } of declared.changed) tenants.set(id, org)
      for (const { id } of declared.removed) tenants.delete(id)
      const { orgs = [] } = parse(second.json)
      expect(tenants).toEqual(new Map(orgs.map((org: { readonly id: string }) => [org.id, org])))
      expect(second.changes.length === 0).toBe(first.fingerprint === second.fingerprint)
    }
  })
})
