/** A client's socket before and in a session with Google's Live API: its first message says which model it wants. */
import type { ClientConnection } from "../../kinds/realtime/sockets.ts"
import type { ClosingCode } from "../../protocol/closing-code.ts"
import type { ClientSocket } from "./client-socket.ts"

type Listener = Parameters<ClientConnection["listen"]>[0]

export class LiveClient implements ClientConnection {
  readonly #socket: ClientSocket
  #onFirst: ((message: Buffer | undefined) => void) | undefined
  #hasFirst = false
  /** Messages that came with the first one: no more is read until the session runs. */
  readonly #early: Array<Buffer> = []
  #listener: Listener | undefined

  constructor(socket: ClientSocket) {
    this.#socket = socket
    socket.listen({
      message: (message) => this.#take(message),
      room: () => this.#listener?.room(),
      closed: () => {
        this.#onFirst?.(undefined)
        this.#listener?.closed()
      },
    })
  }

  /** Waits for the first message. @param take gets undefined if the client leaves before it */
  whenFirst(take: (message: Buffer | undefined) => void): void {
    const [first] = this.#early.splice(0, 1)
    if (first !== undefined || this.#socket.isClosed) take(first)
    else this.#onFirst = take
  }

  get isClosed(): boolean {
    return this.#socket.isClosed
  }

  #take(message: Buffer): void {
    if (this.#listener !== undefined) {
      this.#listener.message(message)
      return
    }
    if (this.#hasFirst || this.#onFirst === undefined) this.#early.push(message)
    else this.#onFirst(message)
    this.#hasFirst = true
    this.#socket.pause()
  }

  listen(listener: Listener): void {
    this.#listener = listener
    for (const message of this.#early.splice(0)) listener.message(message)
    if (this.#socket.isClosed) listener.closed()
    else this.#socket.resume()
  }

  send(message: string | Buffer): boolean {
    return this.#socket.send(message)
  }

  pause(): void {
    this.#socket.pause()
  }

  resume(): void {
    this.#socket.resume()
  }

  close(code: ClosingCode, reason?: string): void {
    this.#socket.close(code, reason)
  }

  unsentBytes(): number {
    return this.#socket.unsentBytes()
  }

  takenBytes(): number {
    return this.#socket.takenBytes()
  }
}
