/** Writes the pages of the guide into one file of the package. */
import { mkdirSync, writeFileSync } from "node:fs"
import { dirname } from "node:path"
import { fileURLToPath } from "node:url"
import { readMarkdown } from "../src/http/guide/pages.ts"

const file = fileURLToPath(new URL("../dist/guide.json", import.meta.url))
mkdirSync(dirname(file), { recursive: true })
writeFileSync(file, JSON.stringify(readMarkdown(new URL("../src/docs/", import.meta.url))))
