/** The gateway's own answers to requests of a server with sessions, which waits for one. */
import { Effect } from "effect"
import type { RequestMessage } from "../protocol/mcp/message.ts"

/** Answers that are sent at a time. Requests that come meanwhile have none. */
const mostAtOnce = 8

/** JSON-RPC: the method is not available. */
const noSuchMethod = { code: -32601, message: "The client takes no requests" }

export class OwnAnswers {
  readonly #send: (text: string) => Effect.Effect<unknown, unknown>
  #sending = 0

  constructor(send: (text: string) => Effect.Effect<unknown, unknown>) {
    this.#send = send
  }

  answer({ id, method }: RequestMessage): void {
    if (this.#sending === mostAtOnce) return
    this.#sending++
    const outcome = method === "ping" ? { result: {} } : { error: noSuchMethod }
    const sent = this.#send(JSON.stringify({ jsonrpc: "2.0", id, ...outcome }))
    const left = Effect.sync(() => {
      this.#sending--
    })
    Effect.runFork(Effect.ensuring(Effect.ignore(sent), left))
  }
}
