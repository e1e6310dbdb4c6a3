/** The gateways beside Weir: how each is installed, started, and asked. */
import { spawnSync } from "node:child_process"
import { randomBytes } from "node:crypto"
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { answers } from "./subjects.ts"

export const folder = process.env["BENCH_PEERS_DIR"] ?? join(tmpdir(), "weir-bench-peers")

export interface Peer {
  readonly name: string
  /** The work that Weir does and it does not; from its documentation, as it is started here. */
  readonly lacks: string
  /** Returns its version. */
  readonly install: () => string
  /** Command and environment of a gateway on a port, in front of a vendor. */
  readonly command: (port: number, vendor: string) => ReadonlyArray<string>
  readonly headers: (vendor: string) => Readonly<Record<string, string>>
}

const runIn = (cwd: string, command: string, ...args: ReadonlyArray<string>): string => {
  const { status, stdout, stderr } = spawnSync(command, args, { cwd, encoding: "utf8" })
  if (status !== 0) throw new Error(`${command} ${args.join(" ")} failed: ${stderr.slice(-2000)}`)
  return stdout
}
const run = (command: string, ...args: ReadonlyArray<string>): string => runIn(folder, command, ...args)

const portkey: Peer = {
  name: "Portkey",
  lacks: "holds, billing, idempotency, authentication of its own",
  install: () => {
    const installed = join(folder, "node_modules/@portkey-ai/gateway/package.json")
    if (!existsSync(installed))
      run("npm", "install", "--prefix", folder, "--no-audit", "--no-fund", "@portkey-ai/gateway")
    return JSON.parse(readFileSync(installed, "utf8")).version
  },
  command: (port) => [
    process.execPath,
    join(folder, "node_modules/@portkey-ai/gateway/build/start-server.js"),
    `--port=${port}`,
    "--headless",
  ],
  headers: (vendor) => ({
    "x-portkey-provider": "openai",
    "x-portkey-custom-host": `${vendor}/v1`,
    authorization: "Bearer key",
  }),
}

const litellmKey = `sk-${randomBytes(24).toString("hex")}`

const litellm: Peer = {
  name: "LiteLLM",
  lacks: "holds before a call (spend is counted afterwards, with floats), idempotency",
  install: () => {
    if (!existsSync(join(folder, "venv/bin/litellm"))) {
      run("python3", "-m", "venv", "venv")
      run("venv/bin/pip", "install", "--quiet", "litellm[proxy]")
    }
    return /^Version: (.*)$/m.exec(run("venv/bin/pip", "show", "litellm"))?.[1] ?? "unknown"
  },
  command: (port, vendor) => {
    const config = join(folder, "litellm.yaml")
    const models = answers.map(
      (model) =>
        `  - { model_name: ${model}, litellm_params: { model: openai/${model}, api_base: "${vendor}/v1", api_key: key } }`,
    )
    writeFileSync(config, `general_settings: { master_key: ${litellmKey} }\nmodel_list:\n${models.join("\n")}\n`)
    return [join(folder, "venv/bin/litellm"), "--config", config, "--port", String(port), "--telemetry", "False"]
  },
  headers: () => ({ authorization: `Bearer ${litellmKey}` }),
}

const aisixSource = process.env["BENCH_AISIX"] ?? ""
const aisixKey = `sk-${randomBytes(24).toString("hex")}`

/** Built with cargo, from its source. */
const aisix: Peer = {
  name: "aisix",
  lacks: "holds, billing, idempotency",
  install: () => {
    // Without the runtime of a model for guardrails, which the build would download.
    const build = ["build", "--release", "--locked", "-p", "aisix-server", "--no-default-features", "--bin", "aisix"]
    runIn(aisixSource, "cargo", ...build)
    return /^version = "(.*)"$/m.exec(readFileSync(join(aisixSource, "Cargo.toml"), "utf8"))?.[1] ?? "unknown"
  },
  command: (port, vendor) => {
    const resources = join(folder, "aisix-resources.yaml")
    const models = answers.map(
      (model) => `  - { display_name: ${model}, provider: openai, model_name: ${model}, provider_key: vendor }`,
    )
    writeFileSync(
      resources,
      `_format_version: "1"
provider_keys:
  - { display_name: vendor, provider: openai, api_key: key, api_base: "${vendor}/v1" }
models:
${models.join("\n")}
api_keys:
  - { display_name: bench, key_env: BENCH_AISIX_KEY, allowed_models: [${answers.map((model) => `"${model}"`).join(", ")}] }
`,
    )
    const config = join(folder, "aisix.yaml")
    writeFileSync(
      config,
      `resources_file: ${resources}\nproxy: { addr: "127.0.0.1:${port}" }\nadmin: { enabled: false }\nobservability: { metrics: { prometheus: { enabled: false } } }\n`,
    )
    return ["env", `BENCH_AISIX_KEY=${aisixKey}`, join(aisixSource, "target/release/aisix"), "--config", config]
  },
  headers: () => ({ authorization: `Bearer ${aisixKey}` }),
}

const gomodelSource = process.env["BENCH_GOMODEL"] ?? ""
const gomodelKey = `sk-${randomBytes(24).toString("hex")}`

/** Built with go, from its source. Its default counts usage; the database is in memory, because with a file it drops records. */
const gomodel: Peer = {
  name: "GoModel",
  lacks: "holds before a call (usage is counted afterwards, with floats), idempotency",
  install: () => {
    runIn(gomodelSource, "go", "build", "-o", "gomodel-server", "./cmd/gomodel")
    return runIn(gomodelSource, "git", "describe", "--tags", "--always").trim()
  },
  command: (port, vendor) => {
    const home = join(folder, "gomodel")
    mkdirSync(home, { recursive: true })
    writeFileSync(
      join(home, "config.yaml"),
      `server: { port: "${port}", master_key: "${gomodelKey}" }
cache: { model: { model_list: { url: "" } } }
models: { configured_provider_models_mode: allowlist }
providers:
  vendor: { type: openai, base_url: "${vendor}/v1", api_key: key, models: [${answers.join(", ")}] }
`,
    )
    // Keys of vendors in the environment would add to the configuration.
    const environment = [`PATH=${process.env["PATH"]}`, `HOME=${home}`, "SQLITE_PATH=:memory:"]
    return ["env", "-i", "-C", home, ...environment, join(gomodelSource, "gomodel-server")]
  },
  headers: () => ({ authorization: `Bearer ${gomodelKey}` }),
}

/** The gateways that can be had from npm and PyPI, and those whose source is there. */
export const peers: ReadonlyArray<Peer> = [
  ...(aisixSource === "" ? [] : [aisix]),
  ...(gomodelSource === "" ? [] : [gomodel]),
  portkey,
  litellm,
]
