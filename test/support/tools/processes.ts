/** Processes of tool servers in tests, and calls to them. */
import { fileURLToPath } from "node:url"
import { Effect, Exit, References, Scope } from "effect"
import { afterEach } from "vitest"
import type { CommandServer, ProcessOptions } from "../../../src/tool-servers/processes/options.ts"
import { makeProcesses, type Processes, processUrlOf } from "../../../src/tool-servers/processes/processes.ts"
import type { ReplyListener, UpstreamCall } from "../../../src/upstream/client.ts"

const script = fileURLToPath(new URL("./stdio-server.ts", import.meta.url))

/** The server of `stdio-server.ts` in a mode. */
export const fixture = (
  mode = "stateless",
  more: Partial<CommandServer> = {},
  ...args: ReadonlyArray<string>
): CommandServer => ({
  id: "fixture",
  program: process.execPath,
  arguments: [script, mode, ...args],
  ...more,
})

const open: Array<Effect.Effect<void>> = []

afterEach(async () => {
  for (const close of open.splice(0)) await Effect.runPromise(close)
})

export interface Opened {
  readonly processes: Processes
  readonly close: () => Promise<void>
}

/** Processes that end with the test. */
export const openProcesses = async (
  servers: ReadonlyArray<CommandServer>,
  options: Partial<ProcessOptions> = {},
): Promise<Opened> => {
  const scope = Scope.makeUnsafe()
  const made = Effect.provideService(
    makeProcesses({ servers, maxMessageBytes: 1024 * 1024, ...options }),
    References.MinimumLogLevel,
    "None",
  )
  const processes = await Effect.runPromise(Scope.provide(made, scope))
  const close = Scope.close(scope, Exit.void)
  open.push(close)
  return { processes, close: () => Effect.runPromise(close) }
}

/** The events of a call, as they are received. */
export class Received implements ReplyListener {
  readonly events: Array<string> = []
  status = 0
  text = ""
  error: unknown
  readonly done: Promise<Received>
  #finish: (received: Received) => void = () => {}

  constructor() {
    this.done = new Promise((resolve) => {
      this.#finish = resolve
    })
  }

  /** The messages of the stream. */
  get messages(): ReadonlyArray<{ readonly [key: string]: unknown }> {
    return this.text.split("\n\n").flatMap((event) => (event === "" ? [] : [JSON.parse(event.slice("data: ".length))]))
  }

  /** The value in the text of the tool's result. */
  get value(): unknown {
    const last: { result?: { content?: ReadonlyArray<{ text: string }> } } = { ...this.messages.at(-1) }
    return JSON.parse(last.result?.content?.[0]?.text ?? "null")
  }

  connected(): void {
    this.events.push("connected")
  }

  head({ status }: { readonly status: number }): void {
    this.events.push("head")
    this.status = status
  }

  bytes(bytes: Uint8Array): void {
    this.events.push("bytes")
    this.text += Buffer.from(bytes).toString("utf8")
  }

  ended(): void {
    this.events.push("ended")
    this.#finish(this)
  }

  broken(error: { readonly cause: unknown }): void {
    this.events.push("broken")
    this.error = error.cause
    this.#finish(this)
  }
}

export interface Started {
  readonly call: UpstreamCall
  readonly received: Received
}

/** Sends a message. */
export const send = (processes: Processes, message: string | object, id = "fixture"): Started => {
  const received = new Received()
  const body = typeof message === "string" ? message : JSON.stringify(message)
  const call = processes.start({ baseUrl: processUrlOf(id), path: "", headers: {}, body }, received)
  return { call, received }
}

/** Calls a tool. */
export const callTool = (
  processes: Processes,
  name: string,
  args: object = {},
  { id = "c-1", meta = {}, server = "fixture" }: { id?: string | number; meta?: object; server?: string } = {},
): Started =>
  send(processes, { jsonrpc: "2.0", id, method: "tools/call", params: { name, arguments: args, _meta: meta } }, server)

/** Whether a process exists and is no zombie. */
export const isRunning = (pid: number): boolean => {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}
