/**
 * The files of the console: its modules, with their types stripped, its styles, and libraries from `node_modules`. From
 * sources they are found by following imports; a build writes the same set into one file, which the package reads.
 */
import { createHash } from "node:crypto"
import { existsSync, readFileSync } from "node:fs"
import { createRequire, stripTypeScriptTypes } from "node:module"
import { dirname, join, posix } from "node:path"
import { fileURLToPath } from "node:url"
import { Schema } from "effect"
import { tokens } from "../pages/tokens.ts"

export interface Asset {
  readonly type: string
  readonly text: string
}

/** Files by their path below the console, and the modules that its first page needs. */
const ConsoleFiles = Schema.Struct({
  files: Schema.Record(Schema.String, Schema.Struct({ type: Schema.String, text: Schema.String })),
  first: Schema.Array(Schema.String),
})

export interface ConsoleAssets {
  readonly files: ReadonlyMap<string, Asset>
  /** Paths of the modules that load before anything is shown. */
  readonly first: ReadonlyArray<string>
  /** Changes with any of the files. */
  readonly version: string
}

/** Specifiers of modules, and the files of the packages that serve them. */
export const libraries: Readonly<Record<string, { readonly path: string; readonly file: string }>> = {
  preact: { path: "lib/preact.js", file: "preact/dist/preact.mjs" },
  "preact/hooks": { path: "lib/preact-hooks.js", file: "preact/hooks/dist/hooks.mjs" },
  htm: { path: "lib/htm.js", file: "htm/dist/htm.mjs" },
  "htm/preact": { path: "lib/htm-preact.js", file: "htm/preact/index.mjs" },
  uplot: { path: "lib/uplot.js", file: "uplot/dist/uPlot.esm.js" },
}

/** Paths as the page names them. */
export const entry = "console/main.ts"
export const styles: ReadonlyArray<string> = ["lib/uplot.css", "console/console.css"]

const script = "text/javascript; charset=utf-8"
const css = "text/css; charset=utf-8"

/** Reads the console's files: those of the package's build, or those of the sources. */
export const loadAssets = (): ConsoleAssets => {
  const built = fileURLToPath(new URL("../console.json", import.meta.url))
  const { files, first } = existsSync(built)
    ? Schema.decodeUnknownSync(Schema.fromJsonString(ConsoleFiles))(readFileSync(built, "utf8"))
    : readSources(fileURLToPath(new URL("../../", import.meta.url)))
  const version = createHash("sha256").update(JSON.stringify(files)).digest("hex").slice(0, 12)
  return { files: new Map(Object.entries(files)), first, version }
}

/** What the build stores. @param src the folder of the sources */
export const readSources = (src: string): typeof ConsoleFiles.Type => {
  const files: Record<string, Asset> = {}
  const first: Array<string> = []
  const read = (path: string, isFirst: boolean): void => {
    if (files[path] !== undefined && (!isFirst || first.includes(path))) return
    const text = stripTypeScriptTypes(readFileSync(join(src, path), "utf8"))
    files[path] = { type: script, text }
    if (isFirst) first.push(path)
    for (const [, statically, dynamically] of text.matchAll(specifier)) {
      const found = statically ?? dynamically ?? ""
      const isNeeded = isFirst && statically !== undefined
      if (found.startsWith(".")) read(posix.join(dirname(path), found), isNeeded)
      else readLibrary(found, isNeeded)
    }
  }
  const packages = dirname(dirname(createRequire(import.meta.url).resolve("preact/package.json")))
  const readLibrary = (name: string, isFirst: boolean): void => {
    const library = libraries[name]
    if (library === undefined) throw new Error(`The console imports ${name}, which is not one of its libraries`)
    const { path, file } = library
    files[path] ??= { type: script, text: readFileSync(join(packages, file), "utf8").replace(sourceMap, "") }
    if (isFirst && !first.includes(path)) first.push(path)
    for (const [, needed = ""] of (files[path]?.text ?? "").matchAll(specifier)) {
      if (needed in libraries && libraries[needed] !== library) readLibrary(needed, isFirst)
    }
  }
  read(entry, true)
  files["lib/uplot.css"] = { type: css, text: readFileSync(join(packages, "uplot/dist/uPlot.min.css"), "utf8") }
  files["console/console.css"] = { type: css, text: tokens + readFileSync(join(src, "console/console.css"), "utf8") }
  return { files, first }
}

const specifier = /(?:\bfrom\s*"([^"]+)"|\bimport\(\s*"([^"]+)"\s*\))/g
const sourceMap = /\/\/# sourceMappingURL=.*\s*$/
