/**
 * Ends groups of processes when the gateway is killed.
 *
 * **Details**: a small shell, which is in no group of a server, reads lists of groups from a pipe whose other end only the gateway
 * has. When the pipe ends, it waits, so that processes can end by themselves, and kills the groups of the last list.
 */
import { type ChildProcess, spawn } from "node:child_process"

const script = `trap '' TERM INT HUP
while read -r groups; do last="$groups"; done
[ -n "$last" ] || exit 0
sleep "$0"
for group in $last; do kill -KILL "-$group"; done`

export class Guard {
  readonly #waitSeconds: number
  readonly #groups = new Set<number>()
  #shell: ChildProcess | undefined
  #isClosed = false

  /** @param waitMs the time that groups have after the gateway's end */
  constructor(waitMs: number) {
    this.#waitSeconds = Math.ceil(waitMs / 1000)
  }

  add(group: number): void {
    this.#groups.add(group)
    this.#write()
  }

  remove(group: number): void {
    if (this.#groups.delete(group)) this.#write()
  }

  /** All groups have ended. */
  close(): void {
    this.#isClosed = true
    this.#shell?.kill("SIGKILL")
  }

  #write(): void {
    if (this.#isClosed) return
    this.#shell ??= this.#start()
    this.#shell.stdin?.write(`${[...this.#groups].join(" ")}\n`)
  }

  #start(): ChildProcess {
    const shell = spawn("/bin/sh", ["-c", script, String(this.#waitSeconds)], {
      cwd: "/",
      env: { PATH: process.env["PATH"] },
      detached: true,
      stdio: ["pipe", "ignore", "ignore"],
    })
    shell.unref()
    // The next change starts another one.
    const lose = () => {
      if (this.#shell === shell) this.#shell = undefined
    }
    shell.once("error", lose)
    shell.once("exit", lose)
    shell.stdin.on("error", lose)
    return shell
  }
}
