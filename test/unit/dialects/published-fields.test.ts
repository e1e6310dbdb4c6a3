/** Each field that a vendor publishes for its replies is read, kept, carried, a fault, or left out for a reason. */
import { readdirSync, readFileSync } from "node:fs"
import { Schema } from "effect"
import { describe, expect, it } from "vitest"
import { fates } from "./published-fields.ts"

/** Types by name: each field with the types that it refers to. */
const Published = Schema.Struct({
  source: Schema.NonEmptyString,
  version: Schema.NonEmptyString,
  date: Schema.String.check(Schema.isPattern(/^\d{4}-\d{2}-\d{2}$/)),
  roots: Schema.Array(Schema.String).check(Schema.isMinLength(1)),
  types: Schema.Record(Schema.String, Schema.Record(Schema.String, Schema.Array(Schema.String))),
})
const publishedBy = (dialect: string) =>
  Schema.decodeUnknownSync(Published)(
    JSON.parse(readFileSync(new URL(`published/${dialect}.json`, import.meta.url), "utf8")),
  )

const isFate = /^(read|kept|carried only|fault|left out: .+)$/

/** The source text of the modules that read a dialect's replies. */
const sourcesOf = (dialect: string): string =>
  [`../../../src/dialects/${dialect}/`, "../../../src/dialects/openai-chat/", "../../../src/dialects/"]
    .flatMap((folder) => {
      const url = new URL(folder, import.meta.url)
      return readdirSync(url)
        .filter((name) => name.endsWith(".ts"))
        .map((name) => readFileSync(new URL(name, url), "utf8"))
    })
    .join("\n")

describe.each(Object.entries(fates))("replies of %s", (dialect, table) => {
  const { roots, types } = publishedBy(dialect)
  /** The fields that are published and read, as far as the table looks into them. */
  const visited = new Set<string>()
  const missing: Array<string> = []
  const readNames = new Set<string>()
  const visit = (type: string): void => {
    if (visited.has(type)) return
    visited.add(type)
    const fate = table[type]
    if (fate === undefined) missing.push(type)
    if (fate === undefined || typeof fate === "string") return
    for (const [name, refersTo] of Object.entries(types[type] ?? {})) {
      const fateOfField = fate[name]
      if (fateOfField === undefined) missing.push(`${type}.${name}`)
      if (fateOfField !== "read") continue
      readNames.add(name)
      refersTo.forEach(visit)
    }
  }
  roots.forEach(visit)

  it("have no published field whose fate is not told", () => {
    expect(missing).toEqual([])
  })

  it("have no fate of a field that is not published", () => {
    const unknown = Object.entries(table).flatMap(([type, fate]) => {
      if (!visited.has(type)) return [type]
      if (typeof fate === "string") return []
      return Object.keys(fate).flatMap((name) => (types[type]?.[name] === undefined ? [`${type}.${name}`] : []))
    })
    expect(unknown).toEqual([])
  })

  it("have fates of a known kind", () => {
    const told = Object.values(table).flatMap((fate) => (typeof fate === "string" ? [fate] : Object.values(fate)))
    expect(told.filter((fate) => !isFate.test(fate))).toEqual([])
  })

  it("have no field that is said to be read and that no reader names", () => {
    const source = sourcesOf(dialect)
    expect([...readNames].filter((name) => !new RegExp(`\\b${name}\\b`).test(source))).toEqual([])
  })
})
