/** A real Presidio in a process of its own. SVC_TEST_PRESIDIO_PYTHON is an interpreter that has `presidio-analyzer`. */
import { type ChildProcess, spawn } from "node:child_process"
import { createInterface } from "node:readline"
import { fileURLToPath } from "node:url"

export const presidioPython = process.env["SVC_TEST_PRESIDIO_PYTHON"]

export interface PresidioProcess {
  readonly url: string
  readonly child: ChildProcess
}

const server = fileURLToPath(new URL("../../../scripts/presidio/server.py", import.meta.url))

/** Starts it, and waits until it listens. */
export const startPresidio = (): Promise<PresidioProcess> => {
  const child = spawn(presidioPython ?? "", [server], { stdio: ["ignore", "pipe", "pipe"] })
  let errors = ""
  child.stderr.on("data", (chunk) => {
    errors += chunk
  })
  return new Promise((resolve, reject) => {
    createInterface({ input: child.stdout }).once("line", (url) => resolve({ url, child }))
    child.once("error", reject)
    child.once("exit", () => reject(new Error(`Presidio has ended: ${errors}`)))
  })
}
