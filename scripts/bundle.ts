/**
 * The bundles of the package that `npm run build` makes: the command and its threads, with Effect. A command starts in a
 * fifth of the time.
 */
import { defineConfig, type Plugin } from "rolldown"
import manifest from "../package.json" with { type: "json" }

/** Bundled, because most of it is not needed: the other dependencies are installed beside the package. */
const bundled = new Set(["effect", "@effect/platform-node", "@effect/sql-pg"])
const installed = Object.keys(manifest.dependencies).filter((name) => !bundled.has(name))

const segmenter = /new Intl\.Segmenter\(undefined, \{\s*granularity: "grapheme"\s*\}\)/

/** Effect's command line makes a segmenter of text when it loads, which takes 20 ms and which only help needs: later. */
const laterSegmenter: Plugin = {
  name: "later-segmenter",
  transform: (code, id) => {
    if (!id.endsWith("/cli/CliOutput.js")) return undefined
    const [made] = segmenter.exec(code) ?? []
    if (made === undefined) throw new Error(`${id} makes no segmenter any more: remove this`)
    return code.replace(made, `{ segment(text) { return (this.made ??= ${made}).segment(text) } }`)
  },
}

export default defineConfig({
  input: {
    main: "src/main.ts",
    // Threads and processes, which are started by their file's name beside the one that starts them.
    "draft-worker": "src/setup/draft-worker.ts",
    "embedded-worker": "src/store/embedded-worker.ts",
    "encoder-worker": "src/exports/encoder-worker.ts",
    "guide-worker": "src/http/guide/guide-worker.ts",
    "large-worker": "src/http/large/large-worker.ts",
    "reader-worker": "src/catalogue/reader-worker.ts",
    "tokenizer-worker": "src/calls/tokens/tokenizer-worker.ts",
  },
  platform: "node",
  plugins: [laterSegmenter],
  external: (id) => installed.some((name) => id === name || id.startsWith(`${name}/`)),
  // The output is as deep as the folders of src: migrations are found beside dist.
  output: {
    dir: "dist/bin",
    format: "esm",
    entryFileNames: "[name].js",
    chunkFileNames: "[name]-[hash].js",
    minify: true,
  },
})
