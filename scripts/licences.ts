/**
 * Writes the licences of everything that the package needs into `dist/LICENCES.txt`: parts of it are bundled, and their
 * licences want to be named. An unknown licence is an error.
 */
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import lockfile from "../package-lock.json" with { type: "json" }

const allowed = new Set([
  "MIT",
  "MIT-0",
  "ISC",
  // BSD without its condition.
  "0BSD",
  "Apache-2.0",
  "BSD-2-Clause",
  "BSD-3-Clause",
  "BlueOak-1.0.0",
  "PSF-2.0",
])

interface Locked {
  readonly version?: string
  readonly dev?: boolean
  readonly optional?: boolean
  /** Whether it is one of ours. */
  readonly link?: boolean
}

const root = fileURLToPath(new URL("..", import.meta.url))
const needed = Object.entries<Locked>(lockfile.packages).filter(
  ([path, { dev, optional, link }]) =>
    path.startsWith("node_modules/") && dev !== true && optional !== true && link !== true,
)

const entries = needed.flatMap(([path]) => {
  const folder = `${root}/${path}`
  if (!existsSync(`${folder}/package.json`)) return []
  const { name, version, license } = JSON.parse(readFileSync(`${folder}/package.json`, "utf8"))
  if (!allowed.has(license))
    throw new Error(`${name}@${version} has the licence ${license}: look at it, and allow it here`)
  const file = readdirSync(folder).find((entry) => /^licen[cs]e/i.test(entry))
  const text = file === undefined ? "" : readFileSync(`${folder}/${file}`, "utf8").trim()
  return [`${name} ${version}, ${license}\n\n${text}`]
})
writeFileSync(`${root}/dist/LICENCES.txt`, `${[...new Set(entries)].join(`\n\n${"-".repeat(80)}\n\n`)}\n`)
