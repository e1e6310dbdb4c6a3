/** The README's table of figures, from the run in scripts/bench/front-page.json. */
import { readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { Schema } from "effect"
import { type PeerFigures, PeerRun } from "../bench/front-page.ts"

export const readmePage = fileURLToPath(new URL("../../README.md", import.meta.url))

const run = Schema.decodeUnknownSync(Schema.fromJsonString(PeerRun))(
  readFileSync(new URL("../bench/front-page.json", import.meta.url), "utf8"),
)

/** The answers of each gateway to the questions about money, from its documentation. */
const money: Readonly<Record<string, readonly [holds: string, repeats: string]>> = {
  Weir: ["yes", "yes"],
  aisix: ["no", "no"],
  GoModel: ["counted afterwards, in floats", "no"],
  Portkey: ["no", "no"],
  LiteLLM: ["counted afterwards, in floats", "no"],
}

const gateways = run.gateways.filter(({ name }) => money[name] !== undefined)

const number = (value: number | undefined, unit: string, digits = 0): string =>
  value === undefined
    ? "failed"
    : `${value.toLocaleString("en-US", { minimumFractionDigits: digits, maximumFractionDigits: digits })} ${unit}`

const rows: ReadonlyArray<readonly [what: string, cell: (gateway: PeerFigures) => string]> = [
  ["CPU of an exchange", ({ json }) => number(json?.us, "µs")],
  ["CPU of a stream of 200 frames", ({ stream }) => number(stream?.us, "µs")],
  ["added time to the first frame, p50", ({ firstMs }) => number(firstMs?.[0], "ms", 1)],
  ["resident memory after the load", ({ residentMib }) => number(residentMib, "MiB")],
  ["holds before a call, exact bills after it", ({ name }) => money[name]?.[0] ?? ""],
  ["a repeated request id is billed once, also after a crash", ({ name }) => money[name]?.[1] ?? ""],
]

const failuresOf = ({ name, version, failures }: PeerFigures): string =>
  failures.length === 0 ? "" : ` ${name} ${version}, as it is installed, failed: ${failures.join("; ")}.`

const table = (): string =>
  [
    `| | ${gateways.map(({ name, version }) => `${name} ${version}`.trim()).join(" | ")} |`,
    `| --- |${" --- |".repeat(gateways.length)}`,
    ...rows.map(([what, cell]) => `| ${what} | ${gateways.map(cell).join(" | ")} |`),
    "",
    `Measured on ${run.date} with the same vendor and load (${run.machine}). \`${run.command}\``,
    `repeats it.${gateways.map(failuresOf).join("")}`,
  ].join("\n")

const begin = "<!-- Made by npm run docs from scripts/bench/front-page.json. -->"
const end = "<!-- End of the table. -->"

/** The README with the table of the run. */
export const withFigures = (text: string): string => {
  const [before = "", rest = ""] = text.split(begin)
  return `${before}${begin}\n\n${table()}\n\n${rest.slice(rest.indexOf(end))}`
}
