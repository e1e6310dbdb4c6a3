/**
 * `npm run first-hour`: the first hour of a new user, from a clone in an empty folder to a gateway with vendors, prices,
 * keys and a budget, as commands in a shell. Prints the transcript; ends with 1 where something else comes than a user
 * would expect. With `--linked`, the clone takes the dependencies that `npm ci` has installed here: CI begins with it.
 */
import { type ChildProcess, execFileSync, spawn } from "node:child_process"
import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs"
import { createServer } from "node:http"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { fileURLToPath } from "node:url"
import { openaiBody } from "../src/testing/vendor-replies.ts"
import { freePort } from "../test/support/free-port.ts"

const root = fileURLToPath(new URL("..", import.meta.url))
const dir = mkdtempSync(join(tmpdir(), "weir-first-hour-"))
const home = join(dir, "weir")
const port = await freePort()
const env: Record<string, string | undefined> = {
  PATH: process.env["PATH"],
  HOME: dir,
  npm_config_cache: execFileSync("npm", ["config", "get", "cache"], { encoding: "utf8" }).trim(),
  npm_config_update_notifier: "false",
  // So that it does not matter what else listens here.
  SVC_SHED_LAG_MS: "60000",
  SVC_PORT: String(port),
  SVC_BASE_URL: `http://127.0.0.1:${port}`,
  OPENAI_API_KEY: "sk-of-a-new-user",
}

/** Secrets differ from run to run, and do not belong into a log. */
const shown = (text: string): string =>
  text
    .replaceAll(/\b(w[ka]_)[\w-]{20,}/g, "$1…")
    .split("\n")
    .map((line) => (line.length > 160 ? `${line.slice(0, 160)} …` : line))
    .join("\n")

const mayClone = (): boolean => {
  try {
    execFileSync("git", ["-c", "safe.directory=*", "rev-parse", "--verify", "--quiet", "HEAD"], {
      cwd: root,
      stdio: "ignore",
    })
    return true
  } catch {
    return false
  }
}

const problems: Array<string> = []

/** Runs a line in a shell, shows it with what it prints, and returns that. */
const sh = async (line: string, expected?: RegExp): Promise<string> => {
  const startedAt = performance.now()
  const child = spawn("bash", ["-c", line], { cwd: existsSync(home) ? home : dir, env, timeout: 600_000 })
  let text = ""
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (chunk) => (text += chunk))
  const code = await new Promise((resolve) => child.once("close", resolve))
  const seconds = ((performance.now() - startedAt) / 1000).toFixed(1)
  console.log(`$ ${shown(line)}\n${shown(text.trimEnd())}\n# ${seconds} s\n`)
  if (code !== 0) problems.push(`${line} ended with ${code}`)
  if (expected !== undefined && !expected.test(text)) problems.push(`${line} was to print ${expected}`)
  return text
}

let running: ChildProcess | undefined

/** `npm start` with variables before it; its banner. */
const start = async (variables: Readonly<Record<string, string>> = {}): Promise<string> => {
  const startedAt = performance.now()
  const child = spawn("npm", ["start"], { cwd: home, env: { ...env, ...variables }, detached: true })
  running = child
  let text = ""
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (chunk) => (text += chunk))
  for (let tries = 0; tries < 1200 && child.exitCode === null && !/ is ready at /.test(text); tries++) await sleep(50)
  // The lines after the first one come at once.
  await sleep(100)
  const before = Object.entries(variables).map((pair) => `${pair.join("=")} `)
  console.log(
    `$ ${before.join("")}npm start\n${shown(text.trimEnd())}\n# ${((performance.now() - startedAt) / 1000).toFixed(1)} s\n`,
  )
  if (!/ is ready at /.test(text)) throw new Error("npm start did not come up")
  return text
}

const stop = async (): Promise<void> => {
  const child = running
  if (child?.pid === undefined || child.exitCode !== null) return
  const gone = new Promise((resolve) => child.once("exit", resolve))
  process.kill(-child.pid, "SIGTERM")
  await gone
}

/** A vendor of the kind that the user has a key for. */
const vendor = createServer((request, response) => {
  const isAllowed = request.headers.authorization === "Bearer sk-of-a-new-user"
  response.writeHead(isAllowed ? 200 : 401, { "content-type": "application/json" })
  if (request.url === "/v1/models") response.end(JSON.stringify({ data: [{ id: "gpt-5" }, { id: "gpt-5-mini" }] }))
  else
    request
      .resume()
      .on("end", () => response.end(openaiBody({ words: ["Good ", "morning"], inTokens: 9, outTokens: 2 })))
})

try {
  await new Promise<void>((resolve) => vendor.listen(0, "127.0.0.1", resolve))
  const address = vendor.address()
  const vendorPort = typeof address === "object" && address !== null ? address.port : 0

  // Without a repository that may be cloned, the folder is copied.
  if (mayClone()) await sh(`git -c safe.directory='*' clone --quiet --depth 1 "file://${root}" weir`)
  else cpSync(root, home, { recursive: true, filter: (path) => !/node_modules|[\\/]\.weir/.test(path) })
  if (process.argv.includes("--linked")) symlinkSync(join(root, "node_modules"), join(home, "node_modules"))
  else {
    const installed = await sh("npm ci --no-audit --no-fund", /added \d+ packages/)
    if (installed.includes("EBADENGINE")) problems.push("npm ci was to warn of nothing")
  }
  const banner = await start()
  for (const line of banner.split("\n").filter((one) => /^ {2}curl /.test(one))) {
    await sh(line.trim().replace("curl ", "curl -s "), /Hello|river/)
  }
  env["SVC_ADMIN_KEY"] = /SVC_ADMIN_KEY=(\S+)/.exec(banner)?.[1]
  await sh("npm run --silent weir -- orgs", /org_development +Development/)

  cpSync(join(root, "test/support/model_prices.json"), join(home, "prices.json"))
  await sh(
    `npm run --silent weir -- init --vendor openai=http://127.0.0.1:${vendorPort}/v1 --prices prices.json --markup 10% --yes`,
    /works after/,
  )
  await sh("npm run --silent weir -- prices import prices.json --vendor openai --markup 25%", /gpt-5 +1\.5625/)
  await sh("npm run --silent weir -- apply weir.yaml --dry-run", /Dry run: nothing was applied/)
  const applied = await sh("npm run --silent weir -- apply weir.yaml", /is in force/)
  if (!/key_first: wk_\S+/.test(applied)) problems.push("apply was to print the generated key")
  const minted = await sh("npm run --silent weir -- keys mint app_first --id laptop", /printed once/)
  const secret = /wk_[\w-]+/.exec(minted)?.[0] ?? ""
  const ask = (path: string, header: string, body: object) =>
    sh(
      `curl -s $SVC_BASE_URL${path} -H '${header}' -H 'content-type: application/json' -d '${JSON.stringify(body)}'`,
      /Good morning/,
    )
  const messages = [{ role: "user", content: "Good morning" }]
  await ask("/openai/v1/chat/completions", `authorization: Bearer laptop~${secret}`, { model: "gpt-5", messages })
  await ask("/anthropic/v1/messages", `x-api-key: laptop~${secret}`, { model: "gpt-5", max_tokens: 50, messages })

  const budget = 'budgets:\n  - { id: month, scope: org, unit: money, period: month, limit: "5", warnAt: [0.8] }\n'
  writeFileSync(join(home, "weir.yaml"), `${readFileSync(join(home, "weir.yaml"), "utf8")}${budget}`)
  console.log(`$ cat >> weir.yaml\n${budget}`)
  await sh("npm run --silent weir -- apply weir.yaml", /is in force/)
  await ask("/openai/v1/chat/completions", `authorization: Bearer laptop~${secret}`, { model: "gpt-5", messages })
  await sh("npm run --silent weir -- budgets org_first", /month +platform +org +org_first +money +month +enforce +0\.0/)
  await sh("npm run --silent weir -- timeouts", /ttfb +openai +gpt-5/)
  const before = await sh("npm run --silent weir -- ledger org_first", /USD available/)

  await stop()
  // The shortest way to one's own vendor: the start makes the first key.
  const ownBanner = await start({ SVC_CATALOGUE: "weir.yaml", SVC_DATA_DIR: "own", SVC_DEMO_TRAFFIC: "0" })
  const [, own = ""] = /^ {2}(key_first~wk_\S+)$/m.exec(ownBanner) ?? []
  await ask("/openai/v1/chat/completions", `authorization: Bearer ${own}`, { model: "gpt-5", messages })
  await stop()
  await start({ SVC_CATALOGUE: "weir.yaml" })
  const after = await sh("npm run --silent weir -- ledger org_first", /USD available/)
  if (before.split("\n")[0] !== after.split("\n")[0]) problems.push("the balance changed with the restart")
  await ask("/openai/v1/chat/completions", `authorization: Bearer laptop~${secret}`, { model: "gpt-5", messages })
  await sh("SVC_CATALOGUE=weir.yaml npm run --silent weir -- doctor", /ledger +ok +consistent/)
} finally {
  await stop()
  vendor.close()
  rmSync(dir, { recursive: true, force: true })
}
for (const problem of problems) console.error(shown(problem))
console.log(`The first hour: ${problems.length} problems`)
process.exit(problems.length === 0 ? 0 : 1)
