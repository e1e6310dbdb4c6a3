/** What a module preloaded into a gateway measures: it writes a number to a file on SIGUSR2. */
import { existsSync, readFileSync, rmSync } from "node:fs"
import { setTimeout as sleep } from "node:timers/promises"

/** Asks a process for its number. @param file where the process writes it */
export const preloaded = (pid: number, file: string) => async (): Promise<number> => {
  rmSync(file, { force: true })
  process.kill(pid, "SIGUSR2")
  while (!existsSync(file)) await sleep(10)
  await sleep(20)
  return Number(readFileSync(file, "utf8"))
}
