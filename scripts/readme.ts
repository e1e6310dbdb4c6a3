/**
 * `npm run readme`: runs every command of the README and of the guide. Each page runs from top to bottom on one fresh gateway, as
 * its reader does, and the output of each command must have the lines `# → …` beneath it: `…` in them is any text of a line, and
 * a space any number of spaces. `NAME=$(…)` sets a variable for the commands below it. Commands that another part of `.ci/run` runs
 * are looked up there. Names of pages as arguments run those only.
 */
import { spawnSync } from "node:child_process"
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { fileURLToPath } from "node:url"
import { contents } from "../src/http/guide/contents.ts"
import { freePort } from "../test/support/free-port.ts"
import { StartedGateway } from "../test/support/started-gateway.ts"

const root = fileURLToPath(new URL("..", import.meta.url))
const pages = [
  "README.md",
  ...contents.flatMap(({ paths }) => paths.map((path) => `src/docs/${path}.md`)),
  "CONTRIBUTING.md",
  "scripts/bench/README.md",
]
const ci = readFileSync(join(root, ".ci/run"), "utf8")

/** Commands that `.ci/run` runs itself, by what must stand there. */
const elsewhere: ReadonlyArray<readonly [command: RegExp, there: string]> = [
  [/^npm ci$/, "npm ci"],
  [/^npm test$/, "npm test"],
  [/^npm run test:browser$/, "npm run test:browser"],
  [/^npm run check$/, "npm run check"],
  [/^npm run readme$/, "npm run readme"],
  [/^(export OPENAI_API_KEY=…|npm run weir -- init|SVC_CATALOGUE=weir.yaml npm start)$/, "npm run first-hour"],
  [/^npx vitest run /, "npm test"],
  [/^scripts\/with-stores npm test$/, "scripts/with-stores"],
  [/^\.ci\/run$/, ""],
  // A test holds that the pages are as it writes them.
  [/^npm run docs$/, "npm test"],
  [/^npm run (conversations|simulate)\b/, "npm run conversations"],
  [/^npm run faults$/, "npm run faults"],
  [/^npm run fuzz$/, "npm run fuzz"],
  [/^npm run schemathesis$/, "npm run schemathesis"],
  [/^npm run first-hour$/, "npm run first-hour"],
  [/^npm run upgrade$/, "npm run upgrade"],
  // They take minutes: said there to be for a release.
  [
    /^npm run (package|container|screenshots|mutations|demo-data)$/,
    "npm run package, npm run container, npm run screenshots and npm run mutations are for a release",
  ],
  [/npm run bench/, "npm run bench"],
]

interface Command {
  readonly text: string
  /** The lines that its output must have. */
  readonly expected: ReadonlyArray<string>
}

/** The commands of one page, with the catalogue that is in it. */
interface Section {
  readonly title: string
  readonly commands: ReadonlyArray<Command>
  readonly yaml: string | undefined
}

const chosen = process.argv.slice(2)
const sections: ReadonlyArray<Section> = pages
  .filter((page) => chosen.length === 0 || chosen.includes(page))
  .map((page) => {
    const text = readFileSync(join(root, page), "utf8")
    return {
      title: page,
      commands: [...text.matchAll(/^```sh\n([\s\S]*?)^```/gm)].flatMap(([, block = ""]) => commandsOf(block)),
      yaml: /^```yaml\n(version: 1\n[\s\S]*?)^```/m.exec(text)?.[1],
    }
  })

function commandsOf(block: string): ReadonlyArray<Command> {
  const commands: Array<{ text: string; expected: Array<string> }> = []
  for (const line of block.replaceAll(/\\\n\s*/g, "").split("\n")) {
    const expected = /^# → (.*)$/.exec(line)?.[1]
    if (expected !== undefined) commands.at(-1)?.expected.push(expected)
    else if (line.trim() !== "" && !line.startsWith("#"))
      commands.push({ text: line.replace(/ {2,}#.*$/, ""), expected: [] })
  }
  return commands
}

/** Logs in as the development catalogue's owner, as a person would: with the code from the log. */
const accessToken = async (gateway: StartedGateway, baseUrl: string): Promise<string> => {
  const post = async (path: string, body: object) => {
    const headers = { "content-type": "application/json" }
    return fetch(`${baseUrl}${path}`, { method: "POST", headers, body: JSON.stringify(body) })
  }
  await post("/v1/auth/otp/request", { email: "ada@example.com" })
  const reply = await post("/v1/auth/otp/verify", { email: "ada@example.com", code: await codeIn(gateway, "") })
  const { accessToken = "" } = JSON.parse(await reply.text())
  return accessToken
}

/** The newest code in the log that is not the one known. */
const codeIn = async (gateway: StartedGateway, known: string): Promise<string> => {
  for (let tries = 0; tries < 100; tries++) {
    const code = [...gateway.log.matchAll(/Your code to log in is (\d{6})/g)].at(-1)?.[1]
    if (code !== undefined && code !== known) return code
    await sleep(50)
  }
  throw new Error("no code came")
}

const template = mkdtempSync(join(tmpdir(), "weir-readme-"))

/** A data directory with a migrated database, made once. */
const migrated = (): string => {
  if (!existsSync(join(template, "postgres"))) {
    const env = { ...process.env, SVC_DATA_DIR: template }
    const { status, stderr } = spawnSync("npm", ["run", "weir", "--", "migrate"], { cwd: root, env, encoding: "utf8" })
    if (status !== 0) throw new Error(stderr)
  }
  return template
}

const problems: Array<string> = []
let ran = 0
let compared = 0

const judge = (section: Section, command: Command, code: number | null, output: string): void => {
  ran++
  // The reason comes last: it is at the end of a log.
  if (code !== 0) problems.push(`${output}\n${section.title}: ${command.text}\n  ended with ${code}`)
  for (const expected of command.expected) {
    compared++
    if (!patternOf(expected).test(output)) {
      problems.push(`${output}\n${section.title}: ${command.text}\n  does not print ${expected}`)
    }
  }
}

/** The shown line: `…` is any text of a line, a space any number of spaces. */
const patternOf = (shown: string): RegExp =>
  new RegExp(
    shown
      .split("…")
      .map((part) => part.replaceAll(/[[\]{}()*+?.^$|\\/]/g, "\\$&").replaceAll(/ +/g, " +"))
      .join(".*"),
  )

/** `NAME=value … npm start`: starts, and stops on SIGTERM. */
const start = async (section: Section, command: Command): Promise<void> => {
  const variables = Object.fromEntries(
    [...command.text.matchAll(/(\w+)=(\S+)/g)].map(([, name = "", value = ""]) => [name, value]),
  )
  const stores = {
    SVC_DATABASE_URL: process.env["SVC_TEST_DATABASE_URL"],
    SVC_REDIS_URL: process.env["SVC_TEST_REDIS_URL"],
  }
  for (const [name, url] of Object.entries(stores)) {
    if (variables[name] === undefined) continue
    if (url === undefined) return console.log(`skipped, for want of ${name}: ${command.text}`)
    variables[name] = url
  }
  if (variables["SVC_ADMIN_KEY_SHA256"] !== undefined) variables["SVC_ADMIN_KEY_SHA256"] = "0".repeat(64)
  if (variables["SVC_CATALOGUE"] !== undefined) variables["SVC_CATALOGUE"] = join(root, variables["SVC_CATALOGUE"])
  const gateway = new StartedGateway(variables)
  const outcome = await gateway.ready().then(
    () => 0,
    () => 1,
  )
  judge(section, command, outcome, gateway.log)
  await gateway.stop()
}

/** Opens a shell with stores; the rest of its block is typed there. */
const storesShell = "scripts/with-stores bash"

const runInStoresShell = async (section: Section, commands: ReadonlyArray<Command>): Promise<void> => {
  const folder = mkdtempSync(join(tmpdir(), "weir-readme-shell-"))
  const port = String(await freePort())
  const script = commands
    .map(({ text }) => text)
    .join("\n")
    .replaceAll("8081", port)
    .replaceAll(/\b(a|b)\.json|'\$1\.json'/g, (name) =>
      name.startsWith("'") ? `'${folder}/$1.json'` : `${folder}/${name}`,
    )
    .replaceAll(".weir-b", `${folder}/b`)
  const env = { ...process.env, SVC_DATA_DIR: join(folder, "a"), SVC_PORT: String(await freePort()) }
  const { status, stdout, stderr } = spawnSync("bash", ["-c", `${storesShell} -c "$SCRIPT"`], {
    cwd: root,
    env: { ...env, SVC_BASE_URL: `http://127.0.0.1:${env.SVC_PORT}`, SCRIPT: script },
    encoding: "utf8",
    timeout: 120_000,
  })
  const expected = commands.flatMap((command) => command.expected)
  judge(
    section,
    { text: [storesShell, ...commands.map(({ text }) => text)].join("\n"), expected },
    status,
    stdout + stderr,
  )
  rmSync(folder, { recursive: true, force: true })
}

const run = async (section: Section): Promise<void> => {
  const known = section.commands.filter(({ text }) => {
    const found = elsewhere.find(([pattern]) => pattern.test(text))
    if (found === undefined) return true
    if (ci.includes(found[1])) ran++
    else problems.push(`${section.title}: ${text} is not run by .ci/run`)
    return false
  })
  const [shell, ...inShell] = known.slice(known.findIndex(({ text }) => text === storesShell))
  const isInShell = (command: Command) => shell?.text === storesShell && [shell, ...inShell].includes(command)
  if (shell?.text === storesShell) await runInStoresShell(section, inShell)
  const own = known.filter((command) => !isInShell(command))
  const commands = own.filter(({ text }) => !/npm start$/.test(text))
  for (const command of own.filter(({ text }) => /npm start$/.test(text))) await start(section, command)
  if (commands.length === 0) return

  const gateway = new StartedGateway({}, migrated())
  try {
    const { baseUrl = "", keyId = "", key = "", adminKey = "" } = await gateway.ready()
    // So that there is something to see.
    const hello = { model: "main", thread: [{ role: "user", blocks: [{ t: "text", v: "Hello" }] }] }
    const headers = { "content-type": "application/json", "x-svc-key-id": keyId, "x-svc-key": key }
    await fetch(`${baseUrl}/t1/exchange`, { method: "POST", headers, body: JSON.stringify(hello) })
    const token = section.commands.some(({ text }) => text.includes("$ACCESS_TOKEN"))
      ? await accessToken(gateway, baseUrl)
      : ""
    const env: Record<string, string | undefined> = {
      ...process.env,
      NODE_COMPILE_CACHE: join(template, "compiled"),
      SVC_BASE_URL: baseUrl,
      SVC_KEY_ID: keyId,
      SVC_KEY: key,
      SVC_ADMIN_KEY: adminKey,
      ACCESS_TOKEN: token,
      SVC_DATA_DIR: join(gateway.dir, "commands"),
      SVC_PORT: "0",
      BENCH_SCALE: "0.05",
      PATH: `${join(root, "node_modules/.bin")}:${process.env["PATH"]}`,
    }
    if (section.yaml !== undefined) writeFileSync(join(root, "weir.yaml"), section.yaml)
    let lastCode = [...gateway.log.matchAll(/Your code to log in is (\d{6})/g)].at(-1)?.[1] ?? ""
    for (const command of commands) {
      if (/^CODE=…/.test(command.text)) {
        lastCode = await codeIn(gateway, lastCode)
        env["CODE"] = lastCode
        ran++
        continue
      }
      // Graphs are drawn elsewhere than in the repository, from less than an honest measurement needs.
      const text = command.text
        .replaceAll("http://127.0.0.1:8080", baseUrl)
        .replace(/docs\/images\/(\w+\.svg)/, join(gateway.dir, "$1"))
      const variable = /^([A-Z_]+)=\$\(/.exec(text)?.[1]
      const shown = variable === undefined ? text : `${text} && printf %s "$${variable}"`
      const { status, stdout, stderr } = spawnSync("bash", ["-c", shown], {
        cwd: root,
        env,
        encoding: "utf8",
        timeout: 120_000,
      })
      judge(section, command, status, stdout + stderr)
      if (variable !== undefined) env[variable] = stdout
    }
  } finally {
    rmSync(join(root, "weir.yaml"), { force: true })
    rmSync(join(root, "now.prom"), { force: true })
    await gateway.stop()
  }
}

for (const section of sections) {
  if (section.commands.length === 0) continue
  process.stderr.write(`${section.title} (${section.commands.length})\n`)
  await run(section)
}
rmSync(template, { recursive: true, force: true })
for (const problem of problems) console.error(problem)
console.log(`README: ${ran} commands run, ${compared} outputs compared, ${problems.length} problems`)
process.exit(problems.length === 0 ? 0 : 1)
