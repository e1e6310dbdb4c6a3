/** Bundles the console for the package: a browser that opens it asks for a handful of files instead of thirty. */
import { mkdirSync, writeFileSync } from "node:fs"
import { basename, dirname, join } from "node:path"
import { fileURLToPath } from "node:url"
import { type OutputChunk, rolldown } from "rolldown"
import { type ConsoleFiles, entries, readStyle, script, startPage, style } from "../src/http/console/assets.ts"

const path = (place: string) => fileURLToPath(new URL(place, import.meta.url))
const src = path("../src/")
const sources = await rolldown({ input: entries.map((entry) => join(src, entry)), platform: "browser" })
const { output } = await sources.generate({
  format: "esm",
  minify: true,
  entryFileNames: "[name].js",
  chunkFileNames: "[name]-[hash].js",
})
const chunks = output.filter((file) => file.type === "chunk")
const chunkOf = (module: string) => chunks.find(({ moduleIds }) => moduleIds.some((id) => id.endsWith(module)))

/** A chunk and what it imports at once. */
const withImports = (chunk: OutputChunk | undefined): ReadonlyArray<string> =>
  chunk === undefined
    ? []
    : [
        chunk.fileName,
        ...chunk.imports.flatMap((name) => withImports(chunks.find(({ fileName }) => fileName === name))),
      ]

const files: ConsoleFiles = {
  files: {
    ...Object.fromEntries(chunks.map(({ fileName, code }) => [fileName, { type: script, text: code }])),
    [style]: readStyle(src),
  },
  entries: entries.map((entry) => `${basename(entry, ".ts")}.js`),
  first: [...new Set([...entries, startPage, "/uPlot.esm.js"].flatMap((module) => withImports(chunkOf(module))))],
  libraries: {},
}
const file = path("../dist/console.json")
mkdirSync(dirname(file), { recursive: true })
writeFileSync(file, JSON.stringify(files))
