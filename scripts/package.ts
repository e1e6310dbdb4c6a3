/**
 * `npm run package`: packs Weir's packages as they would be published, installs them into empty folders as their users do
 * (no install scripts of dependencies), and tries each of their parts with each Node that they promise. Prints tables.
 */
import { execFileSync, spawn, spawnSync } from "node:child_process"
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { fileURLToPath } from "node:url"
import { type ConsoleLoad, measureConsole, slowdowns } from "./console-load.ts"

const root = fileURLToPath(new URL("..", import.meta.url))
const dir = mkdtempSync(join(tmpdir(), "weir-package-"))
const versions = ["22.19.0", "24", "26.10.0"]
/** Growth is to be seen; 5.8 MB of the first two are the files of an empty, migrated database. */
const mostPackedBytes = { weir: 7_800_000, testing: 7_400_000, client: 100_000 }
type PackageName = keyof typeof mostPackedBytes
const mostCommandMs = 250
/** A machine that others use must not look overloaded. */
const unhurried = { SVC_SHED_LAG_MS: "60000", SVC_SHED_WAIT_MS: "60000" }

const npm = (cwd: string, ...args: ReadonlyArray<string>) =>
  execFileSync("npm", [...args, "--no-audit", "--no-fund", "--silent"], { cwd, stdio: ["ignore", "pipe", "inherit"] })

const packed = (name: PackageName): string => {
  npm(root, "pack", "--workspace", `@weir-gateway/${name}`, "--pack-destination", dir)
  const tarball = readdirSync(dir).find((file) => file.startsWith(`weir-gateway-${name}-`)) ?? ""
  return join(dir, tarball)
}

/** An empty project with the packages, and with a Node of its own beside it. */
const project = (tarballs: ReadonlyArray<string>): string => {
  const folder = mkdtempSync(join(dir, "project-"))
  writeFileSync(join(folder, "package.json"), `{ "name": "river", "private": true, "type": "module" }`)
  npm(folder, "install", ...tarballs, "--ignore-scripts")
  return folder
}

/** The command in an empty folder, as `npx` runs it there; and what it says to an old Node. */
const tryNpx = (tarball: string): void => {
  const folder = mkdtempSync(join(dir, "empty-"))
  const run = (node: string) =>
    spawnSync("npx", ["--yes", "-p", `node@${node}`, "-p", tarball, "weir", "--help"], {
      cwd: folder,
      encoding: "utf8",
    })
  const [version = ""] = versions
  const helped = run(version)
  if (helped.status !== 0 || !helped.stdout.includes("serve"))
    throw new Error(`npx of the package failed:\n${helped.stdout}${helped.stderr}`)
  const old = run("20")
  if (old.status !== 1 || !/Weir needs Node 22\.19 or newer, and this is Node 20\.\S+\.\n$/.test(old.stderr))
    throw new Error(`Node 20 was to be refused with one sentence:\n${old.stdout}${old.stderr}`)
}

const nodeOf = (version: string): string => {
  const folder = mkdtempSync(join(dir, "node-"))
  writeFileSync(
    join(folder, "package.json"),
    `{ "name": "node-only", "private": true, "allowScripts": { "node": true } }`,
  )
  npm(folder, "install", `node@${version}`)
  return join(folder, "node_modules/.bin/node")
}

interface Tried {
  readonly node: string
  readonly version: string
  readonly help: number
  readonly orgs: number
  readonly start: number
  readonly opened: ReadonlyArray<ConsoleLoad>
  readonly conformance: string
}

const tryWith = async (folder: string, node: string): Promise<Tried> => {
  const main = join(folder, "node_modules/@weir-gateway/weir/bin.js")
  const data = mkdtempSync(join(dir, "data-"))
  const env = {
    ...process.env,
    SVC_PORT: "0",
    SVC_DATA_DIR: join(data, "data"),
    SVC_READY_FILE: join(data, "ready"),
    ...unhurried,
  }
  const run = (args: ReadonlyArray<string>, more: Readonly<Record<string, string>> = {}) => {
    const startedAt = performance.now()
    const { status, stdout, stderr } = spawnSync(node, args, {
      cwd: folder,
      env: { ...env, ...more },
      encoding: "utf8",
    })
    const millis = Math.round(performance.now() - startedAt)
    if (status !== 0) throw new Error(`${args.join(" ")} failed with ${node}:\n${stdout}${stderr}`)
    return { millis, text: stdout }
  }
  /** The quickest of some: others may use the machine. */
  const quickest = (...args: Parameters<typeof run>) =>
    Math.min(...Array.from({ length: 5 }, () => run(...args).millis))

  const startedAt = performance.now()
  const gateway = spawn(node, [main, "serve"], { cwd: folder, env, stdio: ["ignore", "ignore", "pipe"] })
  let errors = ""
  gateway.stderr.on("data", (text) => (errors += text))
  try {
    while (!existsSync(join(data, "ready"))) {
      if (gateway.exitCode !== null) throw new Error(`weir serve ended with ${gateway.exitCode}`)
      await sleep(20)
    }
    const start = Math.round(performance.now() - startedAt)
    const { baseUrl, keyId, key, adminKey } = JSON.parse(readFileSync(join(data, "ready"), "utf8"))
    const operator = { SVC_BASE_URL: baseUrl, SVC_ADMIN_KEY: adminKey, SVC_KEY_ID: keyId, SVC_KEY: key }
    const own = { ...operator, WEIR_API_KEY: `${keyId}~${key}` }
    const file = join(data, "weir.yaml")
    run([main, "init", "--file", file, "--vendor", `weir=${baseUrl}/openai/v1`, "--yes"], own)
    run([main, "apply", file, "--dry-run"], own)
    run(
      [
        "-e",
        `const { connect } = await import("@weir-gateway/client")
      const weir = connect({ baseUrl: process.env.SVC_BASE_URL, credentials: { keyId: process.env.SVC_KEY_ID, key: process.env.SVC_KEY } })
      const thread = [{ role: "user", blocks: [{ t: "text", v: "Hello, river" }] }]
      const reply = await weir.exchange({ model: "main", thread })
      if (!JSON.stringify(reply).includes("Hello, river")) throw new Error(JSON.stringify(reply))
      const { startGateway } = await import("@weir-gateway/testing")
      if (typeof startGateway !== "function") throw new Error("the test kit has no startGateway")`,
        "--input-type=module",
      ],
      operator,
    )
    const guide = await fetch(`${baseUrl}/docs/tutorial`)
    if (!(await guide.text()).includes("The first hour")) throw new Error("the package has no guide")
    const opened = await measureConsole(baseUrl, adminKey)
    const [, conformance = "none"] =
      /\n(\d+ passed, .*)\n$/.exec(run([main, "conformance", baseUrl], operator).text) ?? []
    if (errors !== "") throw new Error(`weir serve was to print no error or warning:\n${errors}`)
    return {
      node: run(["--version"]).text.trim(),
      version: run([main, "--version"]).text.trim(),
      help: quickest([main, "--help"]),
      orgs: quickest([main, "orgs"], operator),
      start,
      opened,
      conformance,
    }
  } finally {
    gateway.kill("SIGKILL")
  }
}

try {
  npm(root, "run", "build")
  const names: ReadonlyArray<PackageName> = ["client", "testing", "weir"]
  const tarballs = names.map(packed)
  const [, , command = ""] = tarballs
  tryNpx(command)
  const folder = project(tarballs)
  const sizes = tarballs.map((tarball) => statSync(tarball).size)
  const tried: Array<Tried> = []
  for (const version of versions) tried.push(await tryWith(folder, nodeOf(version)))
  console.log(`${tried[0]?.version}`)
  names.forEach((name, at) => {
    console.log(`@weir-gateway/${name} is ${((sizes[at] ?? 0) / 1000).toFixed(0)} kB packed`)
  })
  const opening = `console with the CPU slowed ${slowdowns.join(", ")} times: navigable, figures`
  console.log(`| Node | weir --help | weir orgs | first start, embedded | ${opening} | weir conformance |`)
  console.log("|---|---|---|---|---|---|")
  for (const { node, help, orgs, start, opened, conformance } of tried) {
    const loads = opened.map(({ navigable, figures }) => `${navigable}, ${figures} ms`).join("; ")
    console.log(`| ${node} | ${help} ms | ${orgs} ms | ${start} ms | ${loads} | ${conformance} |`)
  }
  names.forEach((name, at) => {
    const most = mostPackedBytes[name]
    if ((sizes[at] ?? 0) > most) throw new Error(`@weir-gateway/${name} is larger than ${most} bytes`)
  })
  const slow = tried.filter(({ help, orgs }) => Math.max(help, orgs) > mostCommandMs)
  if (slow.length > 0) console.log(`Slower than ${mostCommandMs} ms with ${slow.map(({ node }) => node).join(", ")}`)
} finally {
  rmSync(dir, { recursive: true, force: true })
}
