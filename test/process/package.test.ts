/** The published packages: built, packed, installed into the example project, whose tests then run. */
import { execFile, spawnSync } from "node:child_process"
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import { Effect, Exit, Scope } from "effect"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { version } from "../../src/protocol/version.ts"
import { answering, startGateway } from "../../src/testing/index.ts"

const root = fileURLToPath(new URL("../..", import.meta.url))
const dir = mkdtempSync(join(tmpdir(), "weir-package-"))
const project = join(dir, "river")
const scope = join(project, "node_modules/@weir-gateway")
const installed = join(scope, "weir")
afterAll(() => rmSync(dir, { recursive: true, force: true }))

const run = (command: string, args: ReadonlyArray<string>, cwd: string, env: Record<string, string> = {}) => {
  const { status, stdout, stderr } = spawnSync(command, args, {
    cwd,
    env: { ...process.env, ...env },
    encoding: "utf8",
  })
  return { status, output: stdout + stderr }
}

beforeAll(() => {
  const packed = run("npm", ["run", "--silent", "build"], root)
  expect(packed.status, packed.output).toBe(0)
  cpSync(join(root, "examples/river"), project, { recursive: true })
  for (const name of ["client", "testing", "weir"]) {
    const args = ["pack", "--silent", "--workspace", `@weir-gateway/${name}`, "--pack-destination", dir]
    const packed = run("npm", args, root)
    expect(packed.status, packed.output).toBe(0)
    const tarball = readdirSync(dir).find((file) => file.startsWith(`weir-gateway-${name}-`)) ?? ""
    mkdirSync(join(scope, name), { recursive: true })
    run("tar", ["-xzf", join(dir, tarball), "-C", join(scope, name), "--strip-components=1"], dir)
  }
  // The downloads of `npm install` are already installed.
  for (const name of readdirSync(join(root, "node_modules"))) {
    if (name !== ".bin" && name !== "@weir-gateway")
      symlinkSync(join(root, "node_modules", name), join(project, "node_modules", name))
  }
}, 120_000)

describe("the package", () => {
  it("has what it needs and nothing else", () => {
    expect(readdirSync(installed).sort()).toEqual([
      "LICENSE",
      "README.md",
      "bin.js",
      "dist",
      "migrations",
      "package.json",
    ])
    expect(readdirSync(join(installed, "dist")).sort()).toEqual([
      "LICENCES.txt",
      "bin",
      "console.json",
      "database.tgz",
      "guide.json",
      "known-prices.json",
    ])
    expect(readdirSync(join(scope, "client")).sort()).toEqual(["LICENSE", "dist", "package.json"])
    expect(readdirSync(join(scope, "client/dist")).sort()).toEqual(["client", "protocol"])
    expect(readdirSync(join(scope, "testing")).sort()).toEqual(["LICENSE", "dist", "migrations", "package.json"])
  })

  it("has the console bundled: the document names all that its first page needs, and nothing is missing", () => {
    const { files, entries, first } = JSON.parse(readFileSync(join(installed, "dist/console.json"), "utf8"))
    const missing = [...entries, ...first].filter((name: string) => files[name] === undefined)
    const named = Object.values<{ text: string }>(files).flatMap(({ text }) =>
      [...text.matchAll(/(?:from|import\()\s*[`"']\.\/([^`"']+)[`"']/g)].map(([, name = ""]) => name),
    )
    expect(named.length).toBeGreaterThan(10)
    expect([...missing, ...named.filter((name) => files[name] === undefined)]).toEqual([])
    expect(first.some((name: string) => name.startsWith("overview"))).toBe(true)
    expect(first.length).toBeLessThan(12)
  })

  it("the example project's tests pass with it", () => {
    const tested = run("npm", ["test"], project, { PATH: `${join(root, "node_modules/.bin")}:${process.env["PATH"]}` })
    expect(tested.status, tested.output).toBe(0)
    expect(tested.output).toMatch(/11 passed/)
  }, 120_000)

  it("the example application asks a running gateway", async () => {
    const scope = Scope.makeUnsafe()
    const script = answering({ words: ["It ", "regulates."], inTokens: 10, outTokens: 5 })
    const gateway = await Effect.runPromise(Scope.provide(startGateway({ script }), scope))
    const { baseUrl: WEIR_URL, keyId: WEIR_KEY_ID, key: WEIR_KEY } = gateway
    const env = { ...process.env, WEIR_URL, WEIR_KEY_ID, WEIR_KEY }
    const said = await promisify(execFile)(process.execPath, ["river.mjs"], { cwd: project, env })
    await Effect.runPromise(Scope.close(scope, Exit.void))
    expect(said.stdout).toBe("It regulates.\n")
  })

  it("the test kit has the guide, the console and large requests too", async () => {
    cpSync(join(root, "test/process/outsider/whole-kit.mjs"), join(project, "whole-kit.mjs"))
    // The database that our own tests share would keep the process running.
    const { SVC_TEST_EMBEDDED_TEMPLATE: _, ...env } = process.env
    const options = { cwd: project, env, timeout: 60_000 }
    const { stdout } = await promisify(execFile)(process.execPath, ["whole-kit.mjs"], options)
    expect(JSON.parse(stdout)).toEqual({ guide: 200, console: 200, openapi: 200, exchange: 400 })
  }, 90_000)

  const typecheck = (file: string, folder: string, ...flags: ReadonlyArray<string>) => {
    cpSync(join(root, "test/process/outsider", file), join(folder, file))
    const tsc = join(root, "node_modules/typescript/bin/tsc")
    const strictly = ["--noEmit", "--strict", "--target", "es2024", "--module", "nodenext"]
    return run(process.execPath, [tsc, ...strictly, ...flags, file], folder)
  }

  it("the client has its types without Effect", () => {
    const outside = join(dir, "outside")
    mkdirSync(join(outside, "node_modules/@weir-gateway"), { recursive: true })
    cpSync(join(scope, "client"), join(outside, "node_modules/@weir-gateway/client"), { recursive: true })
    expect(typecheck("client.ts", outside, "--lib", "es2024,dom", "--types", "")).toEqual({ status: 0, output: "" })
  })

  it("the test kit and the client of Effect have types that others can use", () => {
    expect(typecheck("testing.ts", project, "--lib", "es2025,dom", "--types", "node")).toEqual({
      status: 0,
      output: "",
    })
  })

  it("the command runs", () => {
    expect(run(process.execPath, [join(installed, "bin.js"), "--version"], project).output).toContain(version)
    expect(JSON.parse(readFileSync(join(root, "package.json"), "utf8"))).toMatchObject({ version })
  })

  it("the command refuses an old Node in one sentence, before it loads anything", () => {
    const bare = join(dir, "bare")
    mkdirSync(bare)
    cpSync(join(installed, "bin.js"), join(bare, "bin.js"))
    cpSync(join(installed, "package.json"), join(bare, "package.json"))
    writeFileSync(join(bare, "old.cjs"), `Object.defineProperty(process.versions, "node", { value: "20.20.2" })`)
    const refused = run(process.execPath, ["--require", "./old.cjs", "bin.js", "--help"], bare)
    expect(refused).toEqual({ status: 1, output: "Weir needs Node 22.19 or newer, and this is Node 20.20.2.\n" })
  })
})
