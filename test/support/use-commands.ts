/**
 * Commands in the test's own process, where one takes a hundredth of a second and not a fifth, and a gateway as `weir serve`
 * composes it, on a database that is used again. Features of a process (its exit, signals, input) are tested with a process.
 */
import { mkdtempSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { format } from "node:util"
import { ConfigProvider, Console, Effect, Exit, Layer, Scope } from "effect"
import { afterEach, beforeEach } from "vitest"
import { layerGateway } from "../../src/cli/serve/gateway.ts"
import { weir } from "../../src/cli/weir.ts"
import { WeirConfig } from "../../src/config.ts"
import { layerTestDatabases } from "../../src/testing/stores.ts"
import { type Ready, requestsTo } from "./ready.ts"
import { withVariables } from "./variables.ts"

type Variables = Readonly<Record<string, string>>

/** A console that collects the text that is printed. */
const captured = () => {
  const output = { text: "", stdout: "", stderr: "" }
  const printTo =
    (stream: "stdout" | "stderr") =>
    (...parts: ReadonlyArray<unknown>) => {
      const text = `${format(...parts)}\n`
      output.text += text
      output[stream] += text
    }
  return {
    output,
    console: Object.assign(Object.create(console), { log: printTo("stdout"), error: printTo("stderr") }),
  }
}

/** Runs a command to its end. */
const runCommand = async (args: ReadonlyArray<string>, env: Variables) => {
  const back = withVariables(env)
  const { output, console } = captured()
  const exit = await weir(args).pipe(
    Effect.provideService(Console.Console, console),
    Effect.provideService(ConfigProvider.ConfigProvider, ConfigProvider.fromEnv({ env })),
    Effect.runPromiseExit,
  )
  back()
  return { code: Exit.isSuccess(exit) ? 0 : 1, ...output }
}

/** Gives each test a directory, commands, and gateways, which end with it. */
export const useCommands = () => {
  let dir = ""
  let scope = Scope.makeUnsafe()
  beforeEach(() => {
    dir = mkdtempSync(join(tmpdir(), "weir-command-"))
    scope = Scope.makeUnsafe()
  })
  afterEach(async () => {
    await Effect.runPromise(Scope.close(scope, Exit.void))
    rmSync(dir, { recursive: true, force: true })
  })

  const run = (args: ReadonlyArray<string>, env: Variables = {}) =>
    runCommand(args, { HOME: dir, SVC_PORT: "0", SVC_DATA_DIR: join(dir, "data"), ...env })

  const serve = async (env: Variables = {}) => {
    const readyFile = join(dir, "ready")
    const all = {
      SVC_PORT: "0",
      SVC_DEMO_TRAFFIC: "0",
      SVC_DATA_DIR: ":memory:",
      SVC_READY_FILE: readyFile,
      ...env,
    }
    const { output, console } = captured()
    const gateway = layerGateway.pipe(Layer.provide(layerTestDatabases), Layer.provide(WeirConfig.layer))
    await Layer.buildWithScope(gateway, scope).pipe(
      Effect.provideService(Console.Console, console),
      Effect.provideService(ConfigProvider.ConfigProvider, ConfigProvider.fromEnv({ env: all })),
      Effect.runPromise,
    )
    const ready: Ready = JSON.parse(readFileSync(readyFile, "utf8"))
    const operator = { SVC_BASE_URL: ready.baseUrl, SVC_ADMIN_KEY: ready.adminKey }
    return {
      ready,
      output,
      /** Runs a command of operators. */
      run: (...args: ReadonlyArray<string>) => run(args, operator),
      ...requestsTo(ready),
    }
  }
  return { run, serve, dir: () => dir }
}
