/** The two sockets of a session, and the events of its client's socket. */
import type { ClosingCode } from "../../protocol/closing-code.ts"
import type { VendorSocket } from "../../upstream/vendor-sockets.ts"

/** The client's socket. */
export interface ClientConnection extends Omit<VendorSocket, "listen" | "close"> {
  readonly listen: (listener: {
    /** A whole text message, in UTF-8. */
    readonly message: (text: Buffer) => void
    /** The client has taken what was waiting. */
    readonly room: () => void
    readonly closed: () => void
  }) => void
  readonly close: (code: ClosingCode, reason?: string) => void
  readonly unsentBytes: () => number
  /** Bytes that the client has taken; only differences matter. */
  readonly takenBytes: () => number
}

/** The sockets of one session. If one side sends more than the other takes, its socket is not read until there is room. */
export class SocketPair {
  readonly client: ClientConnection
  readonly vendor: VendorSocket

  constructor(client: ClientConnection, vendor: VendorSocket) {
    this.client = client
    this.vendor = vendor
  }

  toVendor(message: string | Buffer): void {
    if (!this.vendor.send(message)) this.client.pause()
  }

  toClient(message: string | Buffer): void {
    if (!this.client.send(message)) this.vendor.pause()
  }
}
