/**
 * `npm run bench`: Weir's cost as ratios to a hand-written floor in the same run. Absolute times belong to the
 * machine; ratios belong to the code. With SVC_TEST_DATABASE_URL and SVC_TEST_REDIS_URL the stores are real
 * (`scripts/with-stores npm run bench`); without them the embedded database's CPU is Weir's own.
 *
 *   npm run bench -- [SCENARIO …] [--rounds 3] [--scale 1] [--streams 1500] [--json FILE] [--vs URL] [--peers]
 *
 * `--peers` installs gateways from npm and PyPI, and measures them beside Weir. The table of the README is made from such a run:
 * `--peers --json scripts/bench/front-page.json`, then `npm run docs`.
 * `--vs URL` drives any gateway that speaks chat completions with the same load (BENCH_VS_KEY, BENCH_VS_MODEL).
 */
import { writeFileSync } from "node:fs"
import { cpus } from "node:os"
import { parseArgs } from "node:util"
import type { PeerRun } from "./front-page.ts"
import { comparePeers } from "./peers.ts"
import type { Row } from "./scenario.ts"
import { pauses, scenarios, warmUp } from "./scenarios.ts"
import { canPin, startSubjects } from "./subjects.ts"
import { driveOther } from "./versus.ts"

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    rounds: { type: "string", default: process.env["BENCH_ROUNDS"] ?? "3" },
    scale: { type: "string", default: process.env["BENCH_SCALE"] ?? "1" },
    streams: { type: "string", default: "1500" },
    json: { type: "string" },
    vs: { type: "string" },
    peers: { type: "boolean", default: false },
  },
})
for (const name of ["rounds", "scale", "streams"] as const) {
  if (!(Number(values[name]) > 0)) throw new Error(`--${name} ${values[name]} is not a number above zero`)
}
const effort = { rounds: Number(values.rounds), scale: Number(values.scale), streams: Number(values.streams) }
const chosen = Object.entries(scenarios).filter(([name]) => positionals.length === 0 || positionals.includes(name))
if (chosen.length === 0) throw new Error(`There are these scenarios: ${Object.keys(scenarios).join(", ")}`)

const stores = process.env["SVC_TEST_DATABASE_URL"] ? "PostgreSQL and Redis" : "embedded stores"
const machine = `Node ${process.version}, ${cpus()[0]?.model ?? "unknown CPU"}, ${cpus().length} cores${canPin ? ", pinned" : ""}, ${stores}, median of ${effort.rounds}`

const shown = (value: number | undefined, unit: string) =>
  value === undefined ? "" : `${value.toFixed(value < 10 ? 2 : 1)} ${unit}`

const verdict = ({ budget, weir, floor }: Row): string => {
  if (budget === undefined) return ""
  const value = budget.of === "value" ? weir : weir / (floor ?? Number.NaN)
  return `${budget.max.toFixed(budget.max < 10 ? 2 : 0)}${value <= budget.max ? ", met" : ", not met"}`
}

const line = (row: Row): string => {
  const { what, unit, floor, weir, spread, note = "" } = row
  const ratio = floor === undefined ? "" : (weir / floor).toFixed(2)
  const more = [spread === undefined ? "" : `± ${spread.toFixed(2)}`, note].filter((text) => text !== "").join("; ")
  return `| ${what} | ${shown(floor, unit)} | ${shown(weir, unit)} | ${ratio} | ${verdict(row)} | ${more} |`
}

if (values.vs !== undefined) {
  await driveOther(values.vs, effort)
} else if (values.peers) {
  console.log(machine)
  const subjects = await startSubjects()
  try {
    const gateways = await comparePeers(subjects, effort)
    const sources = ["BENCH_AISIX", "BENCH_GOMODEL"].filter((name) => process.env[name] !== undefined)
    const command = `${sources.map((name) => `${name}=FOLDER `).join("")}scripts/with-stores npm run bench -- ${process.argv.slice(2).join(" ")}`
    const run: PeerRun = { date: new Date().toISOString().slice(0, 10), machine, command, gateways }
    if (values.json !== undefined) writeFileSync(values.json, `${JSON.stringify(run, undefined, 2)}\n`)
  } finally {
    subjects.stop()
  }
} else {
  console.log(machine)
  console.log("| what | floor | Weir | ratio | budget | note |\n|---|---|---|---|---|---|")
  const rows: Array<Row> = []
  // Scenarios with the same pace share their subjects.
  for (const pauseMs of new Set(chosen.map(([name]) => pauses[name]))) {
    const subjects = await startSubjects(pauseMs)
    try {
      await warmUp(subjects, effort)
      for (const [, scenario] of chosen.filter(([name]) => pauses[name] === pauseMs)) {
        const measured = await scenario(subjects, effort)
        rows.push(...measured)
        for (const row of measured) console.log(line(row))
      }
    } finally {
      subjects.stop()
    }
  }
  if (values.json !== undefined) writeFileSync(values.json, `${JSON.stringify({ machine, rows }, undefined, 2)}\n`)
}
