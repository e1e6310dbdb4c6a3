/** The interface of a WebSocket that this client uses, so that any implementation can replace it. */

/** The part of a WebSocket that is used. */
export interface SocketLike {
  readonly send: (text: string) => void
  readonly close: (code?: number) => void
  readonly addEventListener: (
    type: "open" | "message" | "close" | "error",
    listen: (event: SocketEvent) => void,
  ) => void
}

export interface SocketEvent {
  readonly data?: unknown
  readonly code?: number
  readonly reason?: string
}

/** @param headers empty in browsers, which cannot send any */
export type MakeSocket = (
  url: string,
  protocols: ReadonlyArray<string>,
  headers: Readonly<Record<string, string>>,
) => SocketLike
