/**
 * A tool server over stdio with the behaviour that its first argument names: `stateless`, `sessions` (with the version of the
 * second argument), `silent` (no answer to `server/discover`), or a fault. Its tools are named like the behaviour they show.
 */
import { spawn } from "node:child_process"
import { writeSync } from "node:fs"
import { createInterface } from "node:readline"
import { Worker } from "node:worker_threads"

interface Message {
  readonly id?: string | number
  readonly method?: string
  readonly params?: {
    readonly name?: string
    readonly arguments?: Readonly<Record<string, unknown>>
    readonly _meta?: Readonly<Record<string, unknown>>
    readonly requestId?: unknown
    readonly notifications?: object
  }
  readonly result?: unknown
  readonly error?: unknown
}

const [mode = "stateless", version = "2025-06-18"] = process.argv.slice(2)
const write = (message: object): void => {
  process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`)
}
const cancelled: Array<unknown> = []
const seen: Array<string> = []
const answers: Array<Message> = []
const held: Array<Buffer> = []

const text = (value: unknown) => ({ content: [{ type: "text", text: JSON.stringify(value) }] })

const tools: Record<string, (id: string | number, message: Message, line: string) => void> = {
  echo: (id, _message, line) => write({ id, result: text({ line, pid: process.pid }) }),
  slow: (id, { params }) => setTimeout(() => write({ id, result: text("slow") }), Number(params?.arguments?.["ms"])),
  never: () => {},
  hang: () => {
    for (;;);
  },
  state: (id) => write({ id, result: text({ cancelled, seen, answers, pid: process.pid }) }),
  environment: (id) => write({ id, result: text({ variables: process.env, cwd: process.cwd() }) }),
  progress: (id, { params }) => {
    for (const progress of [1, 2])
      write({ method: "notifications/progress", params: { progressToken: params?._meta?.["progressToken"], progress } })
    write({ method: "notifications/progress", params: { progressToken: 12345, progress: 1 } })
    write({ id, result: text("done") })
  },
  flood: (id, { params }) => {
    const data = "x".repeat(1000)
    for (let progress = 1; progress <= 5000; progress++)
      write({
        method: "notifications/progress",
        params: { progressToken: params?._meta?.["progressToken"], progress, data },
      })
    write({ id, result: text("done") })
  },
  pour: (_id, { params }) => {
    const lines = `${JSON.stringify({ jsonrpc: "2.0", ...Object(params?.arguments?.["message"]) })}\n`.repeat(100)
    const pour = (): void => {
      while (process.stdout.write(lines));
      process.stdout.once("drain", pour)
    }
    pour()
  },
  exact: (id) => process.stdout.write(`{"jsonrpc":"2.0","id":${id},"result":{"n":12345678901234567890,"m":1.10}}\r\n`),
  twice: (id) => {
    write({ id, result: text("first") })
    write({ id, result: text("second") })
  },
  unknown: (id) => {
    write({ id: 99999, result: {} })
    write({ id: null, error: { code: -32700, message: "no" } })
    write({ id, result: text("own") })
  },
  garbage: (id, { params }) => {
    for (let line = 0; line < Number(params?.arguments?.["lines"]); line++)
      process.stdout.write(`Listening on ${line}\n`)
    write({ id, result: text("after") })
  },
  big: (id, { params }) => write({ result: text("x".repeat(Number(params?.arguments?.["bytes"]))), id }),
  complex: (id) => process.stdout.write(`{"result":{"list":[${"1,".repeat(500_000)}1]},"jsonrpc":"2.0","id":${id}}\n`),
  endless: () => {
    const pour = (): void => {
      while (process.stdout.write("x".repeat(65_536)));
      process.stdout.once("drain", pour)
    }
    pour()
  },
  crash: () => process.exit(3),
  last: (id) => {
    writeSync(1, `${JSON.stringify({ jsonrpc: "2.0", id, result: text("last") })}\n`)
    process.exit(0)
  },
  batch: (id) =>
    process.stdout.write(
      `${JSON.stringify([
        { jsonrpc: "2.0", method: "notifications/message", params: { level: "info", data: "one" } },
        { jsonrpc: "2.0", id, result: text("two") },
      ])}\n`,
    ),
  ask: () => {
    write({ id: "s-1", method: "sampling/createMessage", params: { maxTokens: 1 } })
    write({ id: 7, method: "ping" })
  },
  recall: (id) => {
    write({ method: "notifications/cancelled", params: { requestId: id } })
    write({ id, result: text("recalled") })
  },
  changed: (id) => {
    write({ method: "notifications/tools/list_changed" })
    write({ id, result: text("changed") })
  },
  memory: () => {
    for (let piece = 0; piece < 40; piece++) held.push(Buffer.alloc(10 * 2 ** 20, 1))
  },
  noise: (id, { params }) => {
    for (let line = 0; line < Number(params?.arguments?.["lines"]); line++) process.stderr.write(`noise ${line}\n`)
    process.stderr.write(`${"y".repeat(5_000_000)}\n`)
    write({ id, result: text("quiet") })
  },
  forks: () => {
    for (let count = 0; count < 120; count++) spawn("sleep", ["1000"], { stdio: "ignore" })
  },
  threads: () => {
    const work = `const held = []; for (let n = 0; n < 40; n++) held.push(Buffer.alloc(10 * 2 ** 20, 1)); setInterval(() => held, 1000)`
    const code = `require("node:child_process").spawn(process.execPath, ["-e", ${JSON.stringify(work)}], { stdio: "ignore" })`
    new Worker(code, { eval: true })
  },
  grandchild: (id) => {
    const child = spawn("sleep", ["1000"], { stdio: "inherit" })
    write({ id, result: text({ child: child.pid, pid: process.pid }) })
  },
}

const discovered = {
  resultType: "complete",
  supportedVersions: ["2026-07-28"],
  capabilities: { tools: {} },
  instructions: "Use it.",
  _meta: { "io.modelcontextprotocol/serverInfo": { name: "fixture", version: "1" } },
}

const read = (line: string): void => {
  const message: Message = JSON.parse(line)
  const { id, method, params } = message
  if (method !== undefined) seen.push(method)
  if (method === undefined) {
    answers.push(message)
    if (answers.length === 2) for (const asked of waiting.splice(0)) write({ id: asked, result: text(answers) })
  } else if (method === "notifications/cancelled") {
    cancelled.push(params?.requestId)
  } else if (id === undefined) {
    return
  } else if (method === "server/discover") {
    if (mode === "stateless") write({ id, result: discovered })
    else if (mode === "late") setTimeout(() => write({ id, result: discovered }), 400)
    else if (mode === "newer")
      write({ id, error: { code: -32022, message: "Unsupported", data: { supported: ["2027-01-01"], requested: "" } } })
    else if (mode === "sessions") write({ id, error: { code: -32601, message: "Method not found" } })
  } else if (method === "initialize") {
    if (mode === "late") return
    const result = {
      protocolVersion: version,
      capabilities: { tools: {} },
      serverInfo: { name: "older", version: "1" },
    }
    write({ id, result })
  } else if (method === "subscriptions/listen") {
    const subscribed = { "io.modelcontextprotocol/subscriptionId": id }
    write({ method: "notifications/subscriptions/acknowledged", params: { _meta: subscribed, notifications: {} } })
    write({ id, result: { resultType: "complete", _meta: subscribed } })
  } else {
    const name = params?.name ?? ""
    if (name === "ask") waiting.push(id)
    const tool = tools[name]
    if (tool === undefined) write({ id, error: { code: -32601, message: "Method not found" } })
    else tool(id, message, line)
  }
}

const waiting: Array<string | number> = []

if (mode === "exits") process.exit(1)
if (mode === "stubborn" || process.argv.includes("--stubborn")) process.on("SIGTERM", () => {})
if (mode !== "hangs") {
  createInterface({ input: process.stdin }).on("line", read)
  if (!process.argv.includes("--stubborn")) process.stdin.on("end", () => process.exit(0))
}
if (mode === "hangs" || process.argv.includes("--stubborn")) setInterval(() => {}, 1000)
