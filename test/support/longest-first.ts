/**
 * The order of test files: those that take longest begin first, because a run would wait for one that begins last alone.
 * `durations.json` says how long they take; `npm run test:durations` measures it.
 */
import { readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { BaseSequencer, type TestSpecification } from "vitest/node"

const root = fileURLToPath(new URL("../..", import.meta.url))
export const durationsFile = fileURLToPath(new URL("durations.json", import.meta.url))

/** Seconds of the slow files, by their paths from the root. */
export const readDurations = (): Readonly<Record<string, number>> => JSON.parse(readFileSync(durationsFile, "utf8"))

/** The others begin in Vitest's order: those that failed or took long the last time, or are large. */
export class LongestFirst extends BaseSequencer {
  override async sort(files: Array<TestSpecification>): Promise<Array<TestSpecification>> {
    const durations = readDurations()
    const secondsOf = ({ moduleId }: TestSpecification) => durations[moduleId.slice(root.length)] ?? 0
    return (await super.sort(files)).sort((a, b) => secondsOf(b) - secondsOf(a))
  }
}
