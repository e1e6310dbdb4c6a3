/**
 * `npm run agents`: Claude Code, Codex (over SSE and over a WebSocket) and opencode, as they come from the npm registry, complete a task with a tool call
 * against a gateway with the simulated vendor. Each writes a file, and tells what its tool said.
 */
import { execFileSync, spawnSync } from "node:child_process"
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { StartedGateway } from "./started-gateway.ts"

interface Agent {
  readonly name: string
  readonly package: string
  /** Its installation downloads a program. */
  readonly postinstall?: string
  /** A tool of the agent, with the arguments that write a file. */
  readonly task: (file: string, content: string) => string
  /** What it is told about the gateway: variables, and files in its home. */
  readonly settings: (baseUrl: string, apiKey: string, home: string) => Readonly<Record<string, string>>
  readonly command: ReadonlyArray<string>
  /** The task is an argument, or the standard input. */
  readonly reads: "argument" | "input"
  /** What the gateway's metrics have if it was called as the agent was told. */
  readonly seen?: string
}

/** @param more of the provider */
const codex = (name: string, more: string): Omit<Agent, "seen"> => ({
  name,
  package: "@openai/codex@0.169.0",
  task: (file, content) => `exec_command ${JSON.stringify({ cmd: `printf %s '${content}' > ${file}; cat ${file}` })}`,
  settings: (baseUrl, apiKey, home) => {
    mkdirSync(join(home, ".codex"))
    const provider = `{ name = "Weir", base_url = "${baseUrl}/openai/v1", env_key = "WEIR_KEY", wire_api = "responses"${more} }`
    const config = `model = "main"\nmodel_provider = "weir"\nmodel_providers.weir = ${provider}\n`
    writeFileSync(join(home, ".codex/config.toml"), config)
    return { WEIR_KEY: apiKey }
  },
  command: ["codex", "exec", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox"],
  reads: "argument",
})

const agents: ReadonlyArray<Agent> = [
  {
    name: "Claude Code",
    package: "@anthropic-ai/claude-code@2.1.197",
    postinstall: "install.cjs",
    task: (file_path, content) => `Write ${JSON.stringify({ file_path, content })}`,
    settings: (baseUrl, apiKey) => ({
      ANTHROPIC_BASE_URL: `${baseUrl}/anthropic`,
      ANTHROPIC_API_KEY: apiKey,
      IS_SANDBOX: "1",
    }),
    command: ["claude", "--print", "--dangerously-skip-permissions"],
    reads: "argument",
  },
  codex("Codex", ""),
  { ...codex("Codex over a WebSocket", ", supports_websockets = true"), seen: 'weir_sockets_open{kind="responses"}' },
  {
    name: "opencode",
    package: "opencode-ai@1.18.33",
    postinstall: "postinstall.mjs",
    task: (filePath, content) => `write ${JSON.stringify({ filePath, content })}`,
    settings: (baseUrl, apiKey, home) => {
      mkdirSync(join(home, ".config/opencode"), { recursive: true })
      const options = { baseURL: `${baseUrl}/openai/v1`, apiKey: "{env:WEIR_KEY}" }
      const weir = { npm: "@ai-sdk/openai-compatible", options, models: { main: {} } }
      writeFileSync(join(home, ".config/opencode/opencode.json"), JSON.stringify({ provider: { weir } }))
      return { WEIR_KEY: apiKey }
    },
    command: ["opencode", "run", "--model", "weir/main"],
    reads: "input",
  },
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

const perform = (agent: Agent, baseUrl: string, apiKey: string): string | undefined => {
  const home = mkdtempSync(join(tmpdir(), "weir-agent-"))
  try {
    const project = join(home, "project")
    mkdirSync(project)
    const file = join(project, "river.txt")
    const content = `Hello from ${agent.name}`
    const prompt = `Call ${agent.task(file, content)} and tell me what it said.`
    const settings = agent.settings(baseUrl, apiKey, home)
    const [program = "", ...options] = agent.command
    const { status, stdout, stderr } = spawnSync(
      join(installed, "node_modules/.bin", program),
      agent.reads === "argument" ? [...options, prompt] : options,
      {
        cwd: project,
        input: agent.reads === "input" ? prompt : "",
        env: { PATH: process.env["PATH"], HOME: home, ...settings },
        encoding: "utf8",
        timeout: 120_000,
      },
    )
    const output = `${stdout}\n${stderr}`
    if (status !== 0) return `ended with ${status}:\n${output}`
    if (!existsSync(file) || readFileSync(file, "utf8").trim() !== content) return `did not write the file:\n${output}`
    return stdout.includes("You said:") ? undefined : `did not tell what its tool said:\n${output}`
  } finally {
    rmSync(home, { recursive: true, force: true })
  }
}

const gateway = new StartedGateway()
try {
  const { baseUrl = "", keyId = "", key = "" } = await gateway.ready()
  for (const agent of agents) {
    install(agent)
    const startedMs = Date.now()
    const failure = perform(agent, baseUrl, `${keyId}~${key}`)
    const metrics = await (await fetch(`${baseUrl}/metrics`)).text()
    const problem = failure ?? (metrics.includes(agent.seen ?? "") ? undefined : `took another way: no ${agent.seen}`)
    const tookS = ((Date.now() - startedMs) / 1000).toFixed(1)
    console.log(`${agent.name}, ${agent.package}: ${problem ?? `wrote a file by a tool call, in ${tookS} s`}`)
    if (problem !== undefined) process.exitCode = 1
  }
} finally {
  await gateway.stop()
}
