/**
 * `npm run agents`: Claude Code, Codex (over SSE and over a WebSocket) and opencode, as the npm registry has them, complete a
 * task with a tool call against a gateway with the simulated vendor, and against strict twins of vendors with another API
 * than the agent's. Each writes or edits a file, and prints the result of its tool; two do that by a tool of the gateway's. An argument names the agents to run, by a
 * part of their name.
 */
import { execFileSync, type SpawnOptions, spawn } from "node:child_process"
import { once } from "node:events"
import { appendFileSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { basename, join } from "node:path"
import { text } from "node:stream/consumers"
import { Effect, Exit, Scope } from "effect"
import { StartedGateway } from "../test/support/started-gateway.ts"
import { addTwins, patchingName, type TwinModel } from "./agent-twins.ts"

interface Agent {
  readonly name: string
  readonly package: string
  /** Its installation downloads a program. */
  readonly postinstall?: string
  /** A tool of the agent, with the arguments that write `content` to a file that has {@link before}. */
  readonly task: (file: string, content: string) => string
  /** The text of the file before the task; there is no file if absent. */
  readonly before?: string
  /** Its settings for the gateway: variables, and files in its home. */
  readonly settings: (baseUrl: string, apiKey: string, home: string) => Readonly<Record<string, string>>
  readonly command: ReadonlyArray<string>
  /** The task is an argument, or the standard input. */
  readonly reads: "argument" | "input"
  /** A text that the gateway's metrics have if it was called by the agent's settings. */
  readonly seen?: string
  /** The twin that must have answered; the simulated vendor if absent. */
  readonly twin?: TwinModel
}

const main = "main"

/** @param more of the provider */
const codex = (name: string, model: string = main, more = ""): Agent => ({
  name,
  package: "@openai/codex@0.169.0",
  task: (file, content) => `exec_command ${JSON.stringify({ cmd: `printf %s '${content}' > ${file}; cat ${file}` })}`,
  settings: (baseUrl, apiKey, home) => {
    mkdirSync(join(home, ".codex"))
    const provider = `{ name = "Weir", base_url = "${baseUrl}/openai/v1", env_key = "WEIR_KEY", wire_api = "responses"${more} }`
    const config = `model = "${model}"\nmodel_provider = "weir"\nmodel_providers.weir = ${provider}\n`
    writeFileSync(join(home, ".codex/config.toml"), config)
    return { WEIR_KEY: apiKey }
  },
  command: ["codex", "exec", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox"],
  reads: "argument",
})

const before = "Before"

/** Edits a file by a tool that takes a text, which vendors of other APIs get as a function. */
const patchingCodex = (twin: TwinModel): Agent => ({
  ...codex(`Codex with apply_patch, ${twin}`, patchingName(twin)),
  before,
  task: (file, content) => {
    const patch = `*** Begin Patch\n*** Update File: ${basename(file)}\n@@\n-${before}\n+${content}\n*** End Patch`
    return `apply_patch ${JSON.stringify({ input: patch })}`
  },
  twin,
})

const claudeCode = (name: string, model?: TwinModel): Agent => ({
  name,
  package: "@anthropic-ai/claude-code@2.1.197",
  postinstall: "install.cjs",
  task: (file_path, content) => `Write ${JSON.stringify({ file_path, content })}`,
  settings: (baseUrl, apiKey) => ({
    ANTHROPIC_BASE_URL: `${baseUrl}/anthropic`,
    ANTHROPIC_API_KEY: apiKey,
    IS_SANDBOX: "1",
    ...(model !== undefined && { ANTHROPIC_MODEL: model }),
  }),
  command: ["claude", "--print", "--dangerously-skip-permissions"],
  reads: "argument",
  ...(model !== undefined && { twin: model }),
})

/** Writes the file by a tool of the gateway's: the agent is its client as well. */
const claudeCodeWithTools: Agent = {
  ...claudeCode("Claude Code with a server of tools"),
  task: (path, content) => `mcp__weir__files__write_file ${JSON.stringify({ path, content })}`,
  settings: (baseUrl, apiKey, home) => {
    const headers = { Authorization: `Bearer ${apiKey}` }
    const mcpServers = { weir: { type: "http", url: `${baseUrl}/mcp`, headers } }
    writeFileSync(join(home, "tools.json"), JSON.stringify({ mcpServers }))
    return claudeCode("").settings(baseUrl, apiKey, home)
  },
  command: ["claude", "--mcp-config", "../tools.json", "--print", "--dangerously-skip-permissions"],
}

const codexWithTools: Agent = {
  ...codex("Codex with a server of tools"),
  task: (path, content) => `mcp__weir__files__write_file ${JSON.stringify({ path, content })}`,
  settings: (baseUrl, apiKey, home) => {
    const settings = codex("").settings(baseUrl, apiKey, home)
    appendFileSync(
      join(home, ".codex/config.toml"),
      `\n[mcp_servers.weir]\nurl = "${baseUrl}/mcp"\nbearer_token_env_var = "WEIR_KEY"\n`,
    )
    return settings
  },
}

/** @param provider the AI SDK's package, and the path of its API */
const opencode = (
  name: string,
  provider: { readonly npm: string; readonly path: string },
  model: TwinModel | typeof main = main,
): Agent => ({
  name,
  package: "opencode-ai@1.18.33",
  postinstall: "postinstall.mjs",
  task: (filePath, content) => `write ${JSON.stringify({ filePath, content })}`,
  settings: (baseUrl, apiKey, home) => {
    mkdirSync(join(home, ".config/opencode"), { recursive: true })
    const options = { baseURL: baseUrl + provider.path, apiKey: "{env:WEIR_KEY}" }
    const weir = { npm: provider.npm, options, models: { [model]: {} } }
    writeFileSync(join(home, ".config/opencode/opencode.json"), JSON.stringify({ provider: { weir } }))
    return { WEIR_KEY: apiKey }
  },
  command: ["opencode", "run", "--model", `weir/${model}`],
  reads: "input",
  ...(model !== main && { twin: model }),
})

const compatible = { npm: "@ai-sdk/openai-compatible", path: "/openai/v1" }

const agents: ReadonlyArray<Agent> = [
  claudeCode("Claude Code"),
  claudeCode("Claude Code, gemini", "gemini"),
  claudeCode("Claude Code, mistral", "mistral"),
  claudeCode("Claude Code, deepseek", "deepseek"),
  codex("Codex"),
  {
    ...codex("Codex over a WebSocket", main, ", supports_websockets = true"),
    seen: 'weir_sockets_open{kind="responses"}',
  },
  claudeCodeWithTools,
  codexWithTools,
  patchingCodex("deepseek"),
  patchingCodex("mistral"),
  patchingCodex("claude"),
  patchingCodex("gemini"),
  opencode("opencode", compatible),
  opencode("opencode, claude", compatible, "claude"),
  opencode("opencode, gemini", { npm: "@ai-sdk/anthropic", path: "/anthropic/v1" }, "gemini"),
]

/** Kept between runs: the agents' programs are large. */
const installed = join(tmpdir(), "weir-agents")

const install = (agent: Agent): void => {
  mkdirSync(installed, { recursive: true })
  const folder = join(installed, "node_modules", agent.package.replace(/@[^@]*$/, ""))
  const manifest = join(folder, "package.json")
  const version = agent.package.slice(agent.package.lastIndexOf("@") + 1)
  if (existsSync(manifest) && JSON.parse(readFileSync(manifest, "utf8")).version === version) return
  const npm = ["install", "--no-audit", "--no-fund", "--prefix", installed, agent.package]
  execFileSync("npm", npm, { stdio: ["ignore", "ignore", "inherit"] })
  const { postinstall } = agent
  if (postinstall !== undefined && existsSync(join(folder, postinstall))) {
    execFileSync(process.execPath, [postinstall], { cwd: folder, stdio: "ignore" })
  }
}

/** The program's end, and what it wrote. The twins answer meanwhile. */
const run = async (program: string, options: ReadonlyArray<string>, input: string, settings: SpawnOptions) => {
  const child = spawn(program, options, { ...settings, stdio: "pipe" })
  child.stdin.on("error", () => undefined).end(input)
  const [stdout, stderr, [status]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, "close")])
  return { status, stdout, stderr }
}

const perform = async (agent: Agent, baseUrl: string, apiKey: string): Promise<string | undefined> => {
  const home = mkdtempSync(join(tmpdir(), "weir-agent-"))
  try {
    const project = join(home, "project")
    mkdirSync(project)
    const file = join(project, "river.txt")
    const content = `Hello from ${agent.name}`
    if (agent.before !== undefined) writeFileSync(file, `${agent.before}\n`)
    const prompt = `Call ${agent.task(file, content)} and tell me what it said.`
    const settings = agent.settings(baseUrl, apiKey, home)
    const [program = "", ...options] = agent.command
    const { status, stdout, stderr } = await run(
      join(installed, "node_modules/.bin", program),
      agent.reads === "argument" ? [...options, prompt] : options,
      agent.reads === "input" ? prompt : "",
      { cwd: project, env: { PATH: process.env["PATH"], HOME: home, ...settings }, timeout: 120_000 },
    )
    const output = `${stdout}\n${stderr}`
    if (status !== 0) return `ended with ${status}:\n${output}`
    if (!existsSync(file) || readFileSync(file, "utf8").trim() !== content) return `did not write the file:\n${output}`
    return stdout.includes("You said:") ? undefined : `did not tell what its tool said:\n${output}`
  } finally {
    rmSync(home, { recursive: true, force: true })
  }
}

const [only = ""] = process.argv.slice(2)
const scope = Scope.makeUnsafe()
const gateway = new StartedGateway()
try {
  const { baseUrl = "", keyId = "", key = "", adminKey = "" } = await gateway.ready()
  const twins = await Effect.runPromise(Scope.provide(addTwins(baseUrl, adminKey), scope))
  for (const agent of agents.filter(({ name }) => name.includes(only))) {
    install(agent)
    const startedMs = Date.now()
    twins.calls.clear()
    const failure = await perform(agent, baseUrl, `${keyId}~${key}`)
    const metrics = await (await fetch(`${baseUrl}/metrics`)).text()
    const refused = twins.refusals.splice(0)
    const problem =
      failure ??
      (metrics.includes(agent.seen ?? "") ? undefined : `took another way: no ${agent.seen}`) ??
      (agent.twin === undefined || twins.calls.has(agent.twin) ? undefined : `did not call ${agent.twin}`)
    const tookS = ((Date.now() - startedMs) / 1000).toFixed(1)
    console.log(`${agent.name}, ${agent.package}: ${problem ?? `wrote a file by a tool call, in ${tookS} s`}`)
    for (const refusal of refused) console.log(`  refused by ${refusal}`)
    if (problem !== undefined || refused.length > 0) process.exitCode = 1
  }
} finally {
  await gateway.stop()
  await Effect.runPromise(Scope.close(scope, Exit.void))
}
