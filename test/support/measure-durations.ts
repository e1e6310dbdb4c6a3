/** A reporter that writes which test files are slow (`npm run test:durations`). */
import { writeFileSync } from "node:fs"
import { relative } from "node:path"
import type { Reporter, TestModule } from "vitest/node"
import { durationsFile } from "./longest-first.ts"

/** The order of files that take less does not matter. */
const slowSeconds = 4

export default class MeasureDurations implements Reporter {
  onTestRunEnd(modules: ReadonlyArray<TestModule>): void {
    const durations = modules
      .map(
        (module) =>
          [relative(process.cwd(), module.moduleId), Math.round(module.diagnostic().duration / 1000)] as const,
      )
      .filter(([, seconds]) => seconds >= slowSeconds)
      .sort(([, a], [, b]) => b - a)
    writeFileSync(durationsFile, `${JSON.stringify(Object.fromEntries(durations), null, 2)}\n`)
  }
}
