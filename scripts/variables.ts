/**
 * `node scripts/variables.ts`: writes the meaning of each variable, from the comments of src/config.ts, to where
 * `weir config` reads it, and the reference of all variables to src/docs/reference/variables.md.
 */
import { execFileSync } from "node:child_process"
import { readFileSync, writeFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { Effect } from "effect"
import { readVariables } from "../src/config.ts"

const place = (name: string): string => fileURLToPath(new URL(`../src/${name}`, import.meta.url))
export const meaningsFile = place("variable-meanings.ts")
export const referenceFile = place("docs/reference/variables.md")

const member = /^ {2}\/\*\*([\s\S]*?)\*\/\n {2}(\w+):/gm

/** The comments of the table of variables, by the names of its members. */
export const readMeanings = (): Readonly<Record<string, string>> => {
  const source = readFileSync(place("config.ts"), "utf8")
  const table = source.slice(source.indexOf("const variables = {"))
  return Object.fromEntries(
    [...table.matchAll(member)].map(([, comment = "", name = ""]) => [
      name,
      comment.replace(/\s*\n\s*\*?\s*/g, " ").trim(),
    ]),
  )
}

export const meaningsText = (): string =>
  [
    "/** Made by scripts/variables.ts from the comments of config.ts: what each member of its table means. */",
    "export const meanings: Readonly<Record<string, string>> = {",
    ...Object.entries(readMeanings()).map(([name, meaning]) => `  ${name}:\n    ${JSON.stringify(meaning)},`),
    "}",
    "",
  ].join("\n")

export const referenceText = async (): Promise<string> => {
  const known = readMeanings()
  const variables = await Effect.runPromise(readVariables({}))
  const cell = (text: string) => text.replaceAll("|", "\\|")
  return [
    "# Variables",
    "",
    "`weir config` prints them with the values in force, and their sources. Times are in milliseconds unless the name says seconds (`_S`), or",
    "have a unit, as `60s`. A secret can be in a file that `NAME_FILE` names.",
    "",
    "| variable | default | meaning |",
    "| --- | --- | --- |",
    ...variables.map(
      ({ name, fallback, isSecret, member }) =>
        `| \`${name}\`${isSecret ? ", secret" : ""} | ${fallback === "" ? "" : `\`${cell(fallback)}\``} | ${cell(known[member] ?? "")} |`,
    ),
    "",
  ].join("\n")
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  writeFileSync(meaningsFile, meaningsText())
  execFileSync(fileURLToPath(new URL("../node_modules/.bin/biome", import.meta.url)), [
    "format",
    "--write",
    meaningsFile,
  ])
  writeFileSync(referenceFile, await referenceText())
}
