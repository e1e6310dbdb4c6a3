/** What a session needs of its two sockets. */
import type { ClosingCode } from "../../protocol/closing-code.ts"

interface SessionSocket {
  /** @returns whether there is room for more; if not, the listener is told when there is */
  readonly send: (message: string | Buffer) => boolean
  /** Reads no further; messages of what was read already may still come. */
  readonly pause: () => void
  readonly resume: () => void
}

/** The client's socket. */
export interface ClientConnection extends SessionSocket {
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

/** The vendor's socket. */
export interface VendorConnection extends SessionSocket {
  readonly listen: (listener: {
    readonly message: (bytes: Buffer) => void
    readonly room: () => void
    readonly closed: (code: number) => void
  }) => void
  readonly close: () => void
}

/** The sockets of one session. Whoever sends more than the other takes is read no further. */
export class SocketPair {
  readonly client: ClientConnection
  readonly vendor: VendorConnection

  constructor(client: ClientConnection, vendor: VendorConnection) {
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
