/** Writes data that the gateway reads at run time into the package: the pages of the guide, and the known prices. */
import { copyFileSync, mkdirSync, writeFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { readMarkdown } from "../src/http/guide/pages.ts"

const path = (place: string): string => fileURLToPath(new URL(place, import.meta.url))
mkdirSync(path("../dist"), { recursive: true })
writeFileSync(path("../dist/guide.json"), JSON.stringify(readMarkdown(new URL("../src/docs/", import.meta.url))))
copyFileSync(path("../src/setup/known-prices.json"), path("../dist/known-prices.json"))
