/** The gateway and its commands as processes, for one test each. */
import { type ChildProcess, spawn } from "node:child_process"
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { afterEach, beforeEach } from "vitest"
import { eventually } from "./gateway.ts"
import { type Ready, requestsTo } from "./ready.ts"
import { copyTemplate } from "./template.ts"

const source = fileURLToPath(new URL("../../src/main.ts", import.meta.url))
const packaged = process.env["SVC_TEST_COMMAND"] ?? source
/** Other tests need the cores, and few queries do not repay that the embedded database's code is optimised. */
const sparing = ["--liftoff-only", "--single-threaded"]
/** Short processes do not repay that our code is. */
const quick = [...sparing, "--no-maglev", "--no-opt"]
/** Node's arguments for the command as the package has it: bundled, and with a database that is migrated. */
export const packagedCommand: ReadonlyArray<string> = [...quick, packaged]
/** The same for a process that has much to do. */
export const packagedCommandUnderLoad: ReadonlyArray<string> = [...sparing, packaged]
const node = fileURLToPath(new URL("../../node_modules/.bin/node", import.meta.url))

/** Settings with which a second node soon notices that the first one is dead. */
export const quickToNotice = { SVC_MASTER_KEY: "master", SVC_LEASE_MS: "2000", SVC_CHECKPOINT_MS: "200" }

/**
 * Gives each test a directory and what it needs to run commands; what still runs after the test is killed.
 * @param options.fresh from the sources, without a migrated database in the data directory: as on a new machine
 */
export const useProcesses = (options: { readonly fresh?: boolean } = {}) => {
  let dir = ""
  const processes: Array<ChildProcess> = []
  beforeEach(() => {
    dir = mkdtempSync(join(tmpdir(), "weir-start-"))
  })
  afterEach(async () => {
    for (const child of processes.splice(0)) {
      if (child.exitCode === null && child.signalCode === null) {
        child.kill("SIGKILL")
        await new Promise((resolve) => child.once("exit", resolve))
      }
    }
    rmSync(dir, { recursive: true, force: true })
  })

  const weir = (args: ReadonlyArray<string>, env: Record<string, string> = {}) => {
    if (args[0] === "serve" && options.fresh !== true) copyTemplate(join(dir, "data"))
    const command = options.fresh === true ? [...quick, source] : packagedCommand
    const child = spawn(node, [...command, ...args], {
      env: {
        PATH: process.env["PATH"],
        HOME: dir,
        SVC_PORT: "0",
        SVC_DEMO_TRAFFIC: "0",
        SVC_DATA_DIR: join(dir, "data"),
        SVC_READY_FILE: join(dir, "ready"),
        NODE_COMPILE_CACHE: process.env["NODE_COMPILE_CACHE"],
        ...env,
      },
    })
    processes.push(child)
    const output = { text: "" }
    child.stdout?.on("data", (chunk) => {
      output.text += chunk
    })
    child.stderr?.on("data", (chunk) => {
      output.text += chunk
    })
    const exit = new Promise<number | null>((resolve) => child.once("exit", resolve))
    return { child, output, exit }
  }

  const serve = async (env: Record<string, string> = {}) => {
    const started = weir(["serve"], env)
    await eventually(() => existsSync(join(dir, "ready")) || started.child.exitCode !== null, 60_000)
    if (started.child.exitCode !== null) throw new Error(`It did not start: ${started.output.text}`)
    const ready: Ready = JSON.parse(readFileSync(join(dir, "ready"), "utf8"))
    /** Runs a command of operators to its end. */
    const run = async (...args: ReadonlyArray<string>) => {
      const { exit, output } = weir(args, { SVC_BASE_URL: ready.baseUrl, SVC_ADMIN_KEY: ready.adminKey })
      return { code: await exit, text: output.text }
    }
    return { ...started, ready, run, ...requestsTo(ready) }
  }

  return { weir, serve, dir: () => dir }
}
