/** Entries that are added to the text of a catalogue. */
import { Result } from "effect"
import { describe, expect, it } from "vitest"
import { loadCatalogue } from "../../../src/catalogue/load.ts"
import { addEntries, entryLine } from "../../../src/setup/catalogue-text.ts"
import { additionsOf, starterCatalogue } from "../../../src/setup/starter.ts"

const text = `# Ours
version: 1
vendors: # whom we call
- id: a
  dialect: openai-chat # the old one
  baseUrl: "https://a.test/v1"

# What we sell
models:
    - { handle: m, targets: [{ vendor: a, model: x }] }
    # - { handle: later, targets: [] }
prices:
  - { model: m, currency: USD, input: "1", output: "1", from: 2026-01-01 }

# The customers
orgs:
  - { id: o, name: O, currency: USD, models: [m] }
`
const vendor = { id: "b", dialect: "anthropic", baseUrl: "https://b.test" } as const
const model = { handle: "n", targets: [{ vendor: "b", model: "y: #1" }] }
const price = { model: "n", currency: "USD", input: "0.1", output: "2", from: "2026-02-01" }

describe("entries", () => {
  it("are added at the end of their sections, and nothing else moves", () => {
    const { text: added } = Result.getOrThrow(addEntries(text, { vendors: [vendor], models: [model], prices: [price] }))
    const lines = added.split("\n")
    const isNew = (line: string) => !text.split("\n").includes(line)
    expect(lines.filter(isNew)).toEqual([
      `- ${entryLine(vendor).slice(2)}`,
      `    ${entryLine(model)}`,
      `  ${entryLine(price)}`,
    ])
    expect(lines.filter((line) => !isNew(line)).join("\n")).toBe(text)
    expect(Result.getOrThrow(loadCatalogue(added)).document.models?.[1]?.targets?.[0]?.model).toBe("y: #1")
  })

  it("get a section if there is none", () => {
    const { text: added } = Result.getOrThrow(addEntries("version: 1", { vendors: [vendor] }))
    expect(added).toBe(`version: 1\nvendors:\n  ${entryLine(vendor)}\n`)
  })

  it.each([
    [
      "in one line",
      text.replace(/vendors:[\s\S]*?\n\n/, 'vendors: [{ id: a, dialect: openai-chat, baseUrl: "https://a.test" }]\n'),
    ],
    [
      "in brackets over lines",
      text.replace(
        /vendors:[\s\S]*?\n\n/,
        'vendors: [\n  { id: a, dialect: openai-chat, baseUrl: "https://a.test" }\n]\n',
      ),
    ],
    ["named in quotes", text.replace("vendors:", '"vendors":')],
  ])("are refused for a section that is %s", (_what, changed) => {
    expect(addEntries(changed, { vendors: [vendor] })).toMatchObject({
      failure: { _tag: "NoPlace", sections: ["vendors"] },
    })
  })

  it("that are wrong are refused by their path", () => {
    const wrong = addEntries(text, { models: [{ handle: "n", targets: [{ vendor: "nobody", model: "y" }] }] })
    expect(wrong).toMatchObject({ failure: { _tag: "Invalid", issues: [{ path: "models[1].targets[0].vendor" }] } })
  })
})

describe("a catalogue to start with", () => {
  const chosen = ["x", "y", "no id here"].map((name) => ({ vendor: "b", model: name, priced: undefined }))
  const terms = { markup: 0n, from: "2026-11-22" }

  it("is valid, and has what was chosen", () => {
    const starter = starterCatalogue(additionsOf(undefined, [vendor], chosen, terms), terms.from)
    const { document } = Result.getOrThrow(loadCatalogue(starter))
    expect(document.models?.map(({ handle }) => handle)).toEqual(["x", "y"])
    expect(additionsOf(document, [vendor], chosen.slice(0, 2), terms)).toEqual({ vendors: [], models: [], prices: [] })
  })

  it("names a model with its vendor where another has its name", () => {
    const { document } = Result.getOrThrow(
      loadCatalogue(text.replace("handle: m,", "handle: x,").replaceAll("model: m", "model: x").replace("[m]", "[x]")),
    )
    const { models } = additionsOf(document, [vendor], chosen.slice(0, 1), terms)
    expect(models).toEqual([{ handle: "b/x", targets: [{ vendor: "b", model: "x" }] }])
  })
})
