/**
 * The files of the console. From sources: its modules, with their types stripped, found by following imports, its style,
 * and libraries from `node_modules`. The package has the same bundled, in one file that a build writes.
 */
import { createHash } from "node:crypto"
import { readFileSync } from "node:fs"
import { createRequire, stripTypeScriptTypes } from "node:module"
import { dirname, join, posix } from "node:path"
import { fileURLToPath } from "node:url"
import { Schema } from "effect"
import { packagedFile } from "../packaged-file.ts"
import { tokens } from "../pages/tokens.ts"

export interface Asset {
  readonly type: string
  readonly text: string
}

const ConsoleFiles = Schema.Struct({
  /** The files by their paths below the console. */
  files: Schema.Record(Schema.String, Schema.Struct({ type: Schema.String, text: Schema.String })),
  /** Paths of the modules that the document runs, in order. */
  entries: Schema.Array(Schema.String),
  /** Paths of the modules of the first page: they load at once, so that none waits for another to name it. */
  first: Schema.Array(Schema.String),
  /** Paths of libraries by their specifiers. */
  libraries: Schema.Record(Schema.String, Schema.String),
})
export type ConsoleFiles = typeof ConsoleFiles.Type

export interface ConsoleAssets extends Omit<ConsoleFiles, "files"> {
  readonly files: ReadonlyMap<string, Asset>
  /** Changes with any of the files. */
  readonly version: string
}

/** Specifiers of modules, and the files of the packages that serve them. */
const libraries: Readonly<Record<string, { readonly path: string; readonly file: string }>> = {
  preact: { path: "lib/preact.js", file: "preact/dist/preact.mjs" },
  "preact/hooks": { path: "lib/preact-hooks.js", file: "preact/hooks/dist/hooks.mjs" },
  htm: { path: "lib/htm.js", file: "htm/dist/htm.mjs" },
  "htm/preact": { path: "lib/htm-preact.js", file: "htm/preact/index.mjs" },
  uplot: { path: "lib/uplot.js", file: "uplot/dist/uPlot.esm.js" },
}

/** The script of the document: it requests the session of the browser while the rest loads. */
export const entries: ReadonlyArray<string> = ["console/session.ts", "console/main.ts"]
export const startPage = "console/pages/overview.ts"
export const style = "console.css"

export const script = "text/javascript; charset=utf-8"
const css = "text/css; charset=utf-8"

/** Reads the console's files: those of the package's build, or those of the sources. */
export const loadAssets = (): ConsoleAssets => {
  const built = packagedFile("console.json")
  const { files, ...rest } =
    built !== undefined
      ? Schema.decodeUnknownSync(Schema.fromJsonString(ConsoleFiles))(readFileSync(built, "utf8"))
      : readSources(fileURLToPath(new URL("../../", import.meta.url)))
  const version = createHash("sha256").update(JSON.stringify(files)).digest("hex").slice(0, 12)
  return { ...rest, files: new Map(Object.entries(files)), version }
}

/** @param src the folder of the sources */
const readSources = (src: string): ConsoleFiles => {
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
  const readLibrary = (name: string, isFirst: boolean): void => {
    const library = libraries[name]
    if (library === undefined) throw new Error(`The console imports ${name}, which is not one of its libraries`)
    const { path, file } = library
    files[path] ??= { type: script, text: readFileSync(fileOf(file), "utf8").replace(sourceMap, "") }
    if (isFirst && !first.includes(path)) first.push(path)
    for (const [, needed = ""] of (files[path]?.text ?? "").matchAll(specifier)) {
      if (needed in libraries && libraries[needed] !== library) readLibrary(needed, isFirst)
    }
  }
  for (const path of [...entries, startPage]) read(path, true)
  readLibrary("uplot", true)
  files[style] = readStyle(src)
  const paths = Object.entries(libraries).map(([name, { path }]) => [name, path] as const)
  return { files, entries, first, libraries: Object.fromEntries(paths) }
}

/** The one style: tokens, charts, the console. @param src the folder of the sources */
export const readStyle = (src: string): Asset => {
  const charts = readFileSync(fileOf("uplot/dist/uPlot.min.css"), "utf8")
  return { type: css, text: tokens + charts + readFileSync(join(src, "console/console.css"), "utf8") }
}

const fileOf = (library: string): string =>
  join(dirname(dirname(createRequire(import.meta.url).resolve("preact/package.json"))), library)

const specifier = /(?:(?<!")\bfrom\s*"([^"]+)"|\bimport\(\s*"([^"]+)"\s*\))/g
const sourceMap = /\/\/# sourceMappingURL=.*\s*$/
