/** The client's side of a call: the connection that its reply is written to, and the connection's events. */
import type { EventEncoder } from "../dialects/client/client-api.ts"
import type { RateRoom } from "../dialects/client/limit-headers.ts"
import type { Marked, WrittenPart } from "../media/marked.ts"
import type { CacheState } from "../protocol/control/reply-cache.ts"
import type { ServiceError } from "../protocol/error.ts"
import type { StoreUnavailable } from "../store/unavailable.ts"

/** A whole reply. @typeParam Body the body that this call has made; a stored reply is text */
export interface WholeReply<Body extends object> {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: Body | string
  /** The long parts of the body, for which its JSON has placeholders. */
  readonly marked?: Marked | undefined
}

export type ReplyError = ServiceError | StoreUnavailable

/** Events of a stream, or bytes, which belong to the connection once they are written. */
export type StreamPart = string | Uint8Array

/** The client's connection: a socket, or memory in a test. */
export interface Connection<Body extends object> {
  /** Writes the events of a stream. */
  readonly events: EventEncoder
  /** Sends a reply. If it has placeholders, sends only its head, and calls `parts`. */
  readonly send: (reply: WholeReply<Body>) => void
  /** The error reply, before anything was sent. */
  readonly refuse: (error: ReplyError) => void
  /** Writes events; the first ones with the head of a stream. False if there is no room: then `room` is called later. */
  readonly write: (events: StreamPart) => boolean
  /** Ends a stream; reports when its last byte has left the process. */
  readonly end: (flushed: () => void) => void
  /** Closes the connection at once. */
  readonly cut: () => void
  /** Bytes of a stream that the client has not taken. */
  readonly unsentBytes: () => number
  /** The number of bytes that it has taken; only differences matter. */
  readonly takenBytes: () => number
  /** Adds to `x-svc-warning`; before the first event. */
  readonly notice?: (text: string) => void
  /** The room of the caller's rates, the tightest of each unit; before the first event. */
  readonly rates?: (rooms: ReadonlyArray<RateRoom>) => void
  /** Whether the reply comes from the cache; before the first event. */
  readonly cached?: (state: CacheState) => void
  /** Types of tools that vendors run, which the vendor that is asked does not get; before the first event. */
  readonly omittingTools?: (types: ReadonlyArray<string>) => void
  /** Types of blocks of vendors' tools that the vendor that is asked cannot read; before the first event. */
  readonly omitting?: (types: ReadonlyArray<string>) => void
  /** Parameters that the model that is asked takes with other values, or not at all; before the first event. */
  readonly clamping?: (names: ReadonlyArray<string>) => void
  /**
   * The parts of the client's own request that are lost on its way to the vendor that is asked; undefined if it is
   * translated.
   */
  readonly carrying?: (notes: CarryingNotes | undefined) => void
  readonly listen: (listener: ConnectionListener) => void
}

/** The parts that a request loses if it goes to a vendor of its own API. */
export interface CarryingNotes {
  /** Fields that the gateway does not know. */
  readonly newFields: ReadonlyArray<string>
}

/** The events of a connection. */
export interface ConnectionListener {
  /** Called when there is room again. */
  readonly room: () => void
  /** Called when it is closed. */
  readonly gone: () => void
  /** Called when the body should be written after the head of a whole reply. */
  readonly parts: (parts: ReadonlyArray<WrittenPart>) => void
}
