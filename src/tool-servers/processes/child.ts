/**
 * One process of a tool server, with its streams.
 *
 * **Details**: the process leads a group of its own, so that its children end with it, and a {@link Guard} can end all of them.
 *
 * **Gotchas**: a child that makes a session of its own leaves the group.
 */
import { type ChildProcess, spawn } from "node:child_process"
import type { Guard } from "./guard.ts"
import { LineReader, type LongLine } from "./lines.ts"
import { memoryOf } from "./memory.ts"
import { type CommandServer, ProcessFailed, type ProcessLimits } from "./options.ts"

export interface ChildListener {
  /** A line of the output. */
  readonly line: (text: string) => void
  readonly longLine: (line: LongLine) => void
  /** A line of the error output, perhaps shortened. */
  readonly errorLine: (text: string) => void
  /** The process has ended. Nothing follows. */
  readonly ended: (cause: ProcessFailed) => void
}

export interface ChildOptions {
  readonly server: CommandServer
  /** The process's working directory and home. */
  readonly folder: string
  readonly maxMessageBytes: number
  readonly limits: ProcessLimits
  readonly guard: Guard
}

/** The error output's longest line. */
const maxErrorLine = 2000
/** The time for the rest of the output after the end of the process. */
const restMs = 1000

export class Child {
  readonly #options: ChildOptions
  readonly #listener: ChildListener
  #process: ChildProcess | undefined
  #hasEnded = false
  /** The reason for which the gateway ends the process; undefined if the process does. */
  #cause: ProcessFailed | undefined
  #ending: NodeJS.Timeout | undefined
  #memory: NodeJS.Timeout | undefined

  constructor(options: ChildOptions, listener: ChildListener) {
    this.#options = options
    this.#listener = listener
    try {
      this.#start()
    } catch (cause) {
      this.#fail(cause)
    }
  }

  get pid(): number | undefined {
    return this.#process?.pid
  }

  /** The bytes that the process has not read from its input. */
  get unreadBytes(): number {
    return this.#process?.stdin?.writableLength ?? 0
  }

  write(line: string): void {
    if (this.#cause === undefined && !this.#hasEnded) this.#process?.stdin?.write(`${line}\n`)
  }

  /** Closes the input; then come SIGTERM, and SIGKILL for the whole group. */
  end(cause: ProcessFailed): void {
    if (this.#cause !== undefined || this.#hasEnded) return
    const { closeMs, killMs } = this.#options.limits
    this.#cause = cause
    this.#process?.stdin?.end()
    this.#ending = setTimeout(() => {
      this.#signal("SIGTERM")
      this.#ending = setTimeout(() => this.#signal("SIGKILL"), killMs)
    }, closeMs)
  }

  /** Ends the whole group at once. */
  kill(cause: ProcessFailed): void {
    this.#cause ??= cause
    this.#signal("SIGKILL")
  }

  #start(): void {
    const { server, folder, maxMessageBytes, guard } = this.#options
    const child = spawn(server.program, server.arguments ?? [], {
      cwd: folder,
      env: { PATH: process.env["PATH"], LANG: process.env["LANG"] ?? "C.UTF-8", HOME: folder, ...server.environment },
      detached: true,
      stdio: ["pipe", "pipe", "pipe"],
    })
    this.#process = child
    if (child.pid !== undefined) guard.add(child.pid)
    const output = new LineReader(maxMessageBytes, {
      line: this.#listener.line,
      longLine: this.#listener.longLine,
      endless: () => this.kill(new ProcessFailed({ reason: "message", message: "a line of its output has no end" })),
    })
    const errors = new LineReader(maxErrorLine, {
      line: this.#listener.errorLine,
      longLine: ({ head }) => this.#listener.errorLine(`${head}…`),
      endless: () => this.#listener.errorLine("a line of the error output has no end"),
    })
    child.stdout.on("data", (chunk: Buffer) => output.read(chunk))
    child.stderr.on("data", (chunk: Buffer) => errors.read(chunk))
    // The end of the process says all: its streams break with it.
    for (const stream of child.stdio) stream?.on("error", () => {})
    child.once("error", (cause) => this.#fail(cause))
    child.once("exit", (code, signal) => {
      const message = signal === null ? `it has ended with code ${code}` : `it was ended by ${signal}`
      this.#cause ??= new ProcessFailed({ reason: "ended", message })
      clearTimeout(this.#ending)
      clearInterval(this.#memory)
      // Its children may hold its streams open.
      this.#signal("SIGKILL")
      if (child.pid !== undefined) guard.remove(child.pid)
      this.#ending = setTimeout(() => this.#close(), restMs)
    })
    child.once("close", () => {
      output.end()
      errors.end()
      this.#close()
    })
    if (server.memoryBytes !== undefined) this.#watchMemory(server.memoryBytes)
  }

  #watchMemory(maxBytes: number): void {
    let isReading = false
    const check = async (): Promise<void> => {
      const { pid } = this
      if (pid === undefined || isReading || this.#hasEnded) return
      isReading = true
      const bytes = await memoryOf(pid)
      isReading = false
      if (bytes <= maxBytes) return
      const used = bytes === Number.POSITIVE_INFINITY ? "too many processes" : `more than ${maxBytes} bytes of memory`
      this.kill(new ProcessFailed({ reason: "ended", message: `it has used ${used}` }))
    }
    this.#memory = setInterval(() => void check(), this.#options.limits.memoryCheckMs).unref()
  }

  #signal(signal: NodeJS.Signals): void {
    const pid = this.#process?.pid
    if (pid === undefined || this.#hasEnded) return
    try {
      process.kill(-pid, signal)
    } catch {
      // The group has no process any more.
    }
  }

  #fail(cause: unknown): void {
    this.#cause ??= new ProcessFailed({ reason: "start", message: "it could not be started", cause })
    if (this.#process?.pid === undefined) this.#close()
  }

  #close(): void {
    if (this.#hasEnded) return
    this.#hasEnded = true
    clearTimeout(this.#ending)
    clearInterval(this.#memory)
    for (const stream of this.#process?.stdio ?? []) stream?.destroy()
    this.#listener.ended(this.#cause ?? new ProcessFailed({ reason: "ended", message: "it has ended" }))
  }
}
