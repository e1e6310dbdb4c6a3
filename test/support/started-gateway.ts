/** A gateway as the README's reader has it: started by `npm start`, on a folder and a port of its own. */
import { type ChildProcess, spawn } from "node:child_process"
import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { fileURLToPath } from "node:url"

const root = fileURLToPath(new URL("../..", import.meta.url))

export class StartedGateway {
  readonly dir = mkdtempSync(join(tmpdir(), "weir-started-"))
  readonly #child: ChildProcess
  log = ""

  /** @param data a data directory to begin with a copy of: creating one takes seconds */
  constructor(variables: Readonly<Record<string, string>> = {}, data?: string) {
    if (data !== undefined) cpSync(data, join(this.dir, "data"), { recursive: true })
    const own = {
      SVC_PORT: "0",
      SVC_DEMO_TRAFFIC: "0",
      SVC_DATA_DIR: join(this.dir, "data"),
      SVC_READY_FILE: join(this.dir, "ready"),
      SVC_MASTER_KEY: "of a trial",
    }
    this.#child = spawn("npm", ["start"], { cwd: root, env: { ...process.env, ...own, ...variables }, detached: true })
    for (const stream of [this.#child.stdout, this.#child.stderr]) {
      stream?.on("data", (chunk) => {
        this.log += chunk
      })
    }
  }

  async ready(): Promise<Readonly<Record<string, string>>> {
    const file = join(this.dir, "ready")
    for (let tries = 0; tries < 600 && this.#child.exitCode === null; tries++) {
      if (existsSync(file)) return JSON.parse(readFileSync(file, "utf8"))
      await sleep(100)
    }
    throw new Error(`npm start did not come up:\n${this.log}`)
  }

  /** Ends it without warning, as a machine does that loses its power. */
  async kill(): Promise<void> {
    await this.#end("SIGKILL")
  }

  async #end(signal: "SIGTERM" | "SIGKILL"): Promise<void> {
    const { pid } = this.#child
    if (pid === undefined || this.#child.exitCode !== null || this.#child.signalCode !== null) return
    const gone = new Promise((resolve) => this.#child.once("exit", resolve))
    process.kill(-pid, signal)
    await gone
  }

  async stop(): Promise<void> {
    await this.#end("SIGTERM")
    rmSync(this.dir, { recursive: true, force: true })
  }
}
