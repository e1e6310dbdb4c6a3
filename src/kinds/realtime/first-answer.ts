/** The beginning of a session at a vendor that gets a first message: it has begun when the vendor answers. */
import { Effect } from "effect"
import { VendorRejected } from "../../calls/vendor/errors.ts"
import type { RealtimeDialect } from "../../dialects/realtime-dialect.ts"
import type { VendorSocket, VendorSocketListener } from "../../upstream/vendor-sockets.ts"

/** Sends the first message, and waits for the answer. Interrupted, or if the vendor closes, there is no session. */
export const begun = (
  socket: VendorSocket,
  message: string,
  { closedEarly }: RealtimeDialect,
): Effect.Effect<VendorSocket, VendorRejected> =>
  Effect.callback((resume) => {
    const early = new EarlyMessages(socket, () => resume(Effect.succeed(early)))
    socket.listen({
      message: (bytes) => early.message(bytes),
      room: () => {},
      closed: (code, reason) => {
        early.closed(code, reason)
        resume(Effect.fail(new VendorRejected(closedEarly(code, reason))))
      },
    })
    socket.send(message)
    return Effect.sync(() => socket.close())
  })

/** A socket whose first messages have come before its listener is set, which gets them then. */
class EarlyMessages implements VendorSocket {
  readonly #socket: VendorSocket
  readonly #answered: () => void
  readonly #early: Array<Buffer> = []
  #end: readonly [code: number, reason: string] | undefined

  constructor(socket: VendorSocket, answered: () => void) {
    this.#socket = socket
    this.#answered = answered
  }

  message(bytes: Buffer): void {
    this.#early.push(bytes)
    // No more is read until the session has begun.
    this.#socket.pause()
    this.#answered()
  }

  closed(code: number, reason: string): void {
    this.#end = [code, reason]
  }

  listen(listener: VendorSocketListener): void {
    this.#socket.listen(listener)
    for (const bytes of this.#early.splice(0)) listener.message(bytes)
    if (this.#end !== undefined) listener.closed(...this.#end)
    this.#socket.resume()
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

  close(): void {
    this.#socket.close()
  }
}
