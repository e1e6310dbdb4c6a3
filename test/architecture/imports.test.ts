/** The structure of `src`, `scripts` and `test`: no import circles, types included; in `src` none from a lower layer to a higher one. */
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs"
import { dirname, join, relative } from "node:path"
import { fileURLToPath } from "node:url"
import { describe, expect, it } from "vitest"

/** From the top down: a folder (or file) may import those below it, and none above. */
const layers = [
  "main.ts",
  "cli",
  "development",
  "testing",
  "services.ts",
  "console",
  "http",
  "setup",
  "webhooks",
  "exports",
  "jobs",
  "batches",
  "kinds",
  "tool-servers",
  "calls",
  "reply-cache",
  "client-files",
  "kept-responses",
  "settings",
  "admission",
  "identity",
  "tenants",
  "catalogue",
  "policies",
  "tools",
  "pass-through",
  "money",
  "object-storage",
  "secret-stores",
  "cloud-identities",
  "upstream",
  "dialects",
  "media",
  "workers",
  "watched-files.ts",
  "telemetry",
  "store",
  "files",
  "config.ts",
  "variable-meanings.ts",
  "secrets.ts",
  "secret-files.ts",
  "memory.ts",
  "background.ts",
  "deadlines.ts",
  "collections.ts",
  "worker-thread.ts",
  "event-loop-budget.ts",
  "conformance",
  "client",
  "protocol",
]

type Imports = ReadonlyMap<string, ReadonlyArray<string>>

const specifier = /(?:from|import|import\()\s*"(\.{1,2}\/[^"]+)"/g

const importsOf = (root: string): Imports => {
  const files = readdirSync(root, { recursive: true, encoding: "utf8" }).filter((file) => file.endsWith(".ts"))
  return new Map(
    files.map((file) => [
      file,
      [...readFileSync(join(root, file), "utf8").matchAll(specifier)].map(([, path = ""]) =>
        relative(root, join(root, dirname(file), path)),
      ),
    ]),
  )
}

/** Every pair of a file and what it imports against the order. */
const againstOrder = (imports: Imports): ReadonlyArray<string> => {
  const levelOf = (file: string): number => layers.indexOf(file.split("/")[0] ?? "")
  return [...imports].flatMap(([file, targets]) =>
    targets
      .filter((target) => levelOf(file) === -1 || levelOf(target) < levelOf(file))
      .map((target) => `${file} imports ${target}`),
  )
}

/** The first circle found, as a path of files; undefined if there is none. */
const findCircle = (imports: Imports): ReadonlyArray<string> | undefined => {
  const finished = new Set<string>()
  const visit = (file: string, path: ReadonlyArray<string>): ReadonlyArray<string> | undefined => {
    if (path.includes(file)) return [...path.slice(path.indexOf(file)), file]
    if (finished.has(file)) return undefined
    for (const target of imports.get(file) ?? []) {
      const circle = visit(target, [...path, file])
      if (circle !== undefined) return circle
    }
    finished.add(file)
    return undefined
  }
  for (const file of imports.keys()) {
    const circle = visit(file, [])
    if (circle !== undefined) return circle
  }
  return undefined
}

const src = fileURLToPath(new URL("../../src", import.meta.url))

describe("src", () => {
  const imports = importsOf(src)

  it("has no import circle", () => {
    expect(findCircle(imports)).toBeUndefined()
  })

  it("has no import against the order of its layers", () => {
    expect(againstOrder(imports)).toEqual([])
  })

  it("imports only files that exist", () => {
    const missing = [...imports].flatMap(([file, targets]) =>
      targets.filter((target) => !existsSync(join(src, target))).map((target) => `${file} imports ${target}`),
    )
    expect(missing).toEqual([])
  })

  it("has a layer for each of its folders, and no layer without one", () => {
    const entries = readdirSync(src).filter((name) => name.endsWith(".ts") || statSync(join(src, name)).isDirectory())
    // The guide has no modules.
    expect(entries.filter((name) => name !== "docs").sort()).toEqual([...layers].sort())
  })
})

describe.each(["scripts", "test"])("the folder %s", (folder) => {
  const root = fileURLToPath(new URL(`../../${folder}`, import.meta.url))
  const imports = importsOf(root)

  it("has no import circle", () => {
    expect(findCircle(imports)).toBeUndefined()
  })

  it("imports only files that exist", () => {
    const missing = [...imports].flatMap(([file, targets]) =>
      targets.filter((target) => !existsSync(join(root, target))).map((target) => `${file} imports ${target}`),
    )
    expect(missing).toEqual([])
  })
})

describe("the check itself", () => {
  it("names a circle by its files, types included", () => {
    const imports = new Map([
      ["a.ts", ["b.ts"]],
      ["b.ts", ["c.ts"]],
      ["c.ts", ["b.ts"]],
    ])
    expect(findCircle(imports)).toEqual(["b.ts", "c.ts", "b.ts"])
  })

  it("names an import that runs upwards, and a folder without a layer", () => {
    const imports = new Map([
      ["store/a.ts", ["money/b.ts", "protocol/c.ts"]],
      ["unknown/d.ts", ["protocol/c.ts"]],
    ])
    expect(againstOrder(imports)).toEqual(["store/a.ts imports money/b.ts", "unknown/d.ts imports protocol/c.ts"])
  })
})
