/** The client's package: the compiled modules that its entries reach, with declarations of their own. */
import { cpSync, globSync, mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { dirname, join, relative } from "node:path"
import { flatTypes, type Wanted } from "./flat-types.ts"

const entries = ["client/index.js", "client/effect/index.js"]
const specifier = /(?:from|import)\s*"(\.{1,2}\/[^"]+)"/g

/** The files that a file imports, below `dist`. */
const importsOf = (dist: string, file: string): ReadonlyArray<string> =>
  [...readFileSync(join(dist, file), "utf8").matchAll(specifier)].map(([, path = ""]) =>
    join(dirname(file), path).replace(/\.ts$/, ".js"),
  )

export const copyClient = (dist: string, to: string): void => {
  const reached = new Set<string>()
  const reach = (file: string) => {
    if (reached.has(file)) return
    reached.add(file)
    importsOf(dist, file).forEach(reach)
  }
  entries.forEach(reach)
  for (const file of reached) cpSync(join(dist, file), join(to, file))
  for (const file of globSync("client/**/*.d.ts", { cwd: dist })) write(join(to, file), ownImports(dist, file))
  const wanted = namesFrom(to)
  for (const [module, text] of flatTypes(wanted)) write(join(to, "protocol", `${module}.d.ts`), text)
}

const write = (path: string, text: string): void => {
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, text)
}

/** Declarations name the files that are there when they are installed. */
const ownImports = (dist: string, file: string): string => {
  const text = readFileSync(join(dist, file), "utf8")
  if (!file.startsWith("client/effect/") && /"effect[/"]/.test(text))
    throw new Error(`The declarations of ${file} need Effect: name the type there`)
  return text.replaceAll(/(from\s*"\.{1,2}\/[^"]+)\.ts"/g, '$1.js"')
}

const imported = /(?:import|export)\s+(?:type\s+)?\{([^}]*)\}\s*from\s*"([^"]*\/protocol\/[^"]+)\.js"/g

/** The names that the client's declarations take from each module of the protocol. */
const namesFrom = (to: string): Wanted => {
  const names = new Map<string, Set<string>>()
  for (const file of globSync("client/**/*.d.ts", { cwd: to })) {
    for (const [, list = "", path = ""] of readFileSync(join(to, file), "utf8").matchAll(imported)) {
      const module = relative("protocol", join(dirname(file), path))
      const ofModule = names.get(module) ?? new Set()
      for (const name of list.split(",")) ofModule.add(name.replace(/^\s*type\s+/, "").trim())
      names.set(module, ofModule)
    }
  }
  return names
}
