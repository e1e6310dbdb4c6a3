/** The measurement of a module that is preloaded into a gateway: it writes a number to a file on SIGUSR2. */
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { fileURLToPath } from "node:url"
import { type Subjects, type Weir, wideLimits } from "./subjects.ts"

/** Asks a process for its number. @param file where the process writes it */
export const preloaded = (pid: number, file: string) => async (): Promise<number> => {
  rmSync(file, { force: true })
  process.kill(pid, "SIGUSR2")
  while (!existsSync(file)) await sleep(10)
  await sleep(20)
  return Number(readFileSync(file, "utf8"))
}

const variables = { "longest-turn": "BENCH_LONGEST_TURN", allocated: "BENCH_ALLOCATED", kept: "BENCH_KEPT" }

export interface Measured {
  readonly weir: Weir
  /** Reads the number that its module has measured. */
  readonly read: () => Promise<number>
  /** A folder for what the scenario writes. */
  readonly dir: string
  readonly remove: () => void
}

/** Starts a gateway with a module that measures it. */
export const startMeasured = async (subjects: Subjects, module: keyof typeof variables): Promise<Measured> => {
  const dir = mkdtempSync(join(tmpdir(), "weir-measured-"))
  const file = join(dir, module)
  const weir = await subjects.another({
    ...wideLimits,
    NODE_OPTIONS: `--import ${fileURLToPath(new URL(`./${module}.ts`, import.meta.url))}`,
    [variables[module]]: file,
  })
  return { weir, read: preloaded(weir.pid, file), dir, remove: () => rmSync(dir, { recursive: true, force: true }) }
}
