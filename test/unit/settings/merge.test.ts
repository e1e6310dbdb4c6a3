/** Merging layers: rules by table, algebraic laws by property. */

import { describe, expect, it } from "@effect/vitest"
import { Schema } from "effect"
import { isWithin, type Json, type JsonObject, leavesOf, undeliverable } from "../../../src/settings/key-paths.ts"
import { type Layer, merge, type Setting } from "../../../src/settings/merge.ts"

type More = Partial<Omit<Setting, "keyPath" | "value">>
const set = (keyPath: string, value: Json, more: More = {}): Setting => ({
  keyPath,
  value,
  locked: false,
  enforcement: "enforce",
  ...more,
})
const layer = (scope: Layer["scope"], ...settings: ReadonlyArray<Setting>): Layer => ({ scope, settings })
const lock: More = { locked: true }
const shadow: More = { enforcement: "shadow" }

describe("rules", () => {
  it("a fully empty chain gives the empty shape", () => {
    const empty = { values: {}, locks: [], origins: {}, shadow: [] }
    expect(merge([])).toEqual(empty)
    expect(merge([layer("platform"), layer("user")])).toEqual(empty)
  })

  it("objects merge per key, arrays and scalars replace wholesale; origins are in lexicographic order", () => {
    const { values, origins } = merge([
      layer("platform", set("site", { theme: "light", font: { size: 12, face: "serif" }, tags: ["a", "b"] })),
      layer("org", set("site.font.size", 14), set("site.tags", ["c"])),
      layer("user", set("site.theme", "dark")),
    ])
    expect(values).toEqual({ site: { theme: "dark", font: { size: 14, face: "serif" }, tags: ["c"] } })
    expect(Object.entries(origins)).toEqual([
      ["site.font.face", "platform"],
      ["site.font.size", "org"],
      ["site.tags", "org"],
      ["site.theme", "user"],
    ])
  })

  it.each<[string, ReadonlyArray<Layer>, Json]>([
    ["a scalar replaces an object", [layer("platform", set("a", { b: 1 })), layer("org", set("a", 2))], { a: 2 }],
    ["an object replaces a scalar", [layer("platform", set("a", 2)), layer("org", set("a.b", 1))], { a: { b: 1 } }],
    ["null is a value", [layer("platform", set("a", 1)), layer("org", set("a", null))], { a: null }],
    [
      "an empty object adds nothing",
      [layer("platform", set("a", { b: 1 })), layer("org", set("a", {}))],
      { a: { b: 1 } },
    ],
    ["an empty object replaces a scalar", [layer("platform", set("a", 1)), layer("org", set("a", {}))], { a: {} }],
    [
      "within a layer the longer path wins",
      [layer("org", set("a.b", 2), set("a", { b: 1, c: 1 }))],
      { a: { b: 2, c: 1 } },
    ],
  ])("%s", (_what, layers, values) => {
    expect(merge(layers).values).toEqual(values)
  })

  it.each<[string, Setting]>([
    ["the key", set("a.b", 2)],
    ["what is within it", set("a.b.c", 2)],
    ["what contains it, as one value", set("a", 2)],
    ["what contains it, member by member", set("a", { b: 2 })],
  ])("an enforced lock holds against %s", (_what, lower) => {
    const { values, locks, lockOrigins } = merge([layer("platform", set("a.b", 1, lock)), layer("user", lower)])
    expect(values).toEqual({ a: { b: 1 } })
    expect(locks).toEqual(["a.b"])
    expect(lockOrigins).toEqual({ "a.b": "platform" })
  })

  it("a lock applies below its layer, not within it, and not to neighbouring keys", () => {
    const { values } = merge([layer("org", set("a", { b: 1 }, lock), set("a.b", 2)), layer("user", set("ab", 3))])
    expect(values).toEqual({ a: { b: 2 }, ab: 3 })
  })

  it("several layers lock one key: the highest in governance order is recorded; in lexicographic order", () => {
    const { lockOrigins, locks } = merge([
      layer("platform", set("z", 1, lock)),
      layer("org", set("z", 2, lock), set("b", 1, lock)),
      layer("team", set("b", 2, lock)),
    ])
    expect(Object.entries(lockOrigins ?? {})).toEqual([
      ["b", "org"],
      ["z", "platform"],
    ])
    expect(locks).toEqual(["b", "z"])
  })

  it("shadow: delivered, not enforced; a subtree is closed", () => {
    const above = layer("org", set("a", { b: 1, c: 1 }, { ...lock, ...shadow }))
    const some = merge([above, layer("user", set("a.b", 2))])
    expect(some.values).toEqual({ a: { b: 2, c: 1 } })
    expect(some.locks).toEqual([])
    expect(some.shadow).toEqual(["a.b", "a.c"])
    expect(merge([above, layer("user", set("a", { b: 2, c: 2 }))]).shadow).toEqual([])
  })

  it.each([
    ["permissions.allow", "excluded_section"],
    ["hooks", "excluded_section"],
    ["mcpServers.x.y", "excluded_section"],
    ["policy.a", "excluded_section"],
    ["workspaceTrust.a", "excluded_section"],
    ["memory.a", "excluded_section"],
    ["memoryless", "unknown_leaf"],
    ["site", "unknown_leaf"],
    ["site.theme", undefined],
    ["site.font.size", undefined],
    ["mode.localProviders", undefined],
    ["mode.localProviders.ollama", undefined],
    ["mode.other", "unknown_leaf"],
    ["editor.tabs", undefined],
    ["model", undefined],
    ["models", "unknown_leaf"],
  ])("%s is %s", (path, reason) => {
    expect(undeliverable(path, ["editor.*", "model"])).toBe(reason)
  })
})

const names = ["a", "b", "c"] as const
/** An object of few names, so that layers overlap. */
const objectOf = <S extends Schema.Top>(member: S) =>
  Schema.Struct({ a: Schema.optionalKey(member), b: Schema.optionalKey(member), c: Schema.optionalKey(member) })
const Scalar = Schema.Union([Schema.Int, Schema.Boolean, Schema.Array(Schema.Int)])
const Value = Schema.Union([Scalar, objectOf(Schema.Union([Scalar, objectOf(Scalar)]))])
const Anything = objectOf(Value)
/** Objects at the top, scalars within them: no layer replaces an object by a scalar. */
const Shaped = objectOf(objectOf(Scalar))
const Name = Schema.Literals(names)
const Settings = Schema.Array(
  Schema.Struct({
    path: Schema.NonEmptyArray(Name),
    value: Value,
    locked: Schema.Boolean,
    enforcement: Schema.Literals(["shadow", "enforce"]),
  }),
)
const Chain = Schema.Tuple([Settings, Settings, Settings, Settings])

const scopes = ["platform", "org", "team", "user"] as const
const chainOf = (chain: typeof Chain.Type): ReadonlyArray<Layer> =>
  chain.map((settings, at) => {
    const byPath = settings.map(({ path, value, ...more }) => set(path.slice(0, 3).join("."), value, more))
    const unique = new Map(byPath.map((setting) => [setting.keyPath, setting]))
    return layer(scopes[at] ?? "user", ...unique.values())
  })

/** A plain deep merge, as in the contract. */
const deepMerge = (low: Json, high: Json): Json => {
  if (!isPlain(low) || !isPlain(high)) return high
  const merged: Record<string, Json> = { ...low }
  for (const [key, member] of Object.entries(high))
    merged[key] = key in low ? deepMerge(low[key] ?? null, member) : member
  return merged
}
const isPlain = (json: Json): json is JsonObject => typeof json === "object" && json !== null && !Array.isArray(json)
const leaves = (values: JsonObject) => Object.entries(values).flatMap(([key, member]) => leavesOf(key, member))
const whole = (scope: Layer["scope"], object: JsonObject) =>
  layer(scope, ...Object.entries(object).map(([key, member]) => set(key, member)))

describe("laws", () => {
  it.prop("origins are complete: every leaf of the values has one, and nothing else has", [Chain], ([chain]) => {
    const { values, origins } = merge(chainOf(chain))
    expect(Object.keys(origins)).toEqual(
      leaves(values)
        .map(([path]) => path)
        .sort(),
    )
  })

  it.prop(
    "without locks it is the deep merge of the layers, one after the other",
    [Anything, Anything, Anything],
    ([low, middle, high]) => {
      const { values } = merge([whole("platform", low), whole("org", middle), whole("user", high)])
      expect(values).toEqual(deepMerge(deepMerge(low, middle), high))
    },
  )

  it.prop("layering is associative where shapes agree", [Shaped, Shaped, Shaped], ([low, middle, high]) => {
    const two = merge([whole("platform", low), whole("org", middle)]).values
    const others = merge([whole("org", middle), whole("user", high)]).values
    expect(merge([whole("platform", two), whole("user", high)]).values).toEqual(
      merge([whole("platform", low), whole("org", others)]).values,
    )
  })

  it.prop("locks are honoured: nothing at, within or around one comes from below it", [Chain], ([chain]) => {
    const { origins, lockOrigins = {} } = merge(chainOf(chain))
    for (const [path, scope] of Object.entries(origins)) {
      for (const [locked, by] of Object.entries(lockOrigins)) {
        if (isWithin(path, locked) || isWithin(locked, path)) {
          expect(scopes.indexOf(scope)).toBeLessThanOrEqual(scopes.indexOf(by))
        }
      }
    }
  })

  it.prop("shadow keys are winning keys; the order of a layer's settings does not matter", [Chain], ([chain]) => {
    const layers = chainOf(chain)
    const merged = merge(layers)
    for (const path of merged.shadow) expect(merged.origins[path]).toBeDefined()
    expect(merge(layers.map(({ scope, settings }) => ({ scope, settings: settings.toReversed() })))).toEqual(merged)
  })
})
