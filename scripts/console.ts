/** Writes the console's files into the package: modules without their types, styles, and libraries. */
import { mkdirSync, writeFileSync } from "node:fs"
import { dirname } from "node:path"
import { fileURLToPath } from "node:url"
import { readSources } from "../src/http/console/assets.ts"

const path = (place: string) => fileURLToPath(new URL(place, import.meta.url))
const file = path("../dist/console.json")
mkdirSync(dirname(file), { recursive: true })
writeFileSync(file, JSON.stringify(readSources(path("../src/"))))
