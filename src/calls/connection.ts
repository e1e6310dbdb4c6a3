/** The client's side of a call: what its reply is written to, and what that tells. */
import type { EventEncoder } from "../dialects/client/client-api.ts"
import type { Marked, WrittenPart } from "../media/marked.ts"
import type { CacheState } from "../protocol/control/reply-cache.ts"
import type { ServiceError } from "../protocol/error.ts"
import type { StoreUnavailable } from "../store/unavailable.ts"

/** A whole reply. @typeParam Body what this call has made; text is a kept reply's */
export interface WholeReply<Body extends object> {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: Body | string
  /** Its long parts, for which marks stand in its JSON. */
  readonly marked?: Marked | undefined
}

export type ReplyError = ServiceError | StoreUnavailable

/** Events of a stream, or bytes, which belong to the connection once they are written. */
export type StreamPart = string | Uint8Array

/** The client's connection: a socket, or memory in a test. */
export interface Connection<Body extends object> {
  /** Writes the events of a stream. */
  readonly events: EventEncoder
  /** Sends a reply; of one with marks only its head, and tells `parts`. */
  readonly send: (reply: WholeReply<Body>) => void
  /** The error reply, before anything was sent. */
  readonly refuse: (error: ReplyError) => void
  /** Writes events; the first ones with the head of a stream. False if there is no room: then `room` is told. */
  readonly write: (events: StreamPart) => boolean
  /** Ends a stream; tells when its last byte has left the process. */
  readonly end: (flushed: () => void) => void
  /** Closes the connection at once. */
  readonly cut: () => void
  /** Bytes of a stream that the client has not taken. */
  readonly unsentBytes: () => number
  /** Bytes that it has taken; only differences matter. */
  readonly takenBytes: () => number
  /** Adds to `x-svc-warning`; before the first event. */
  readonly notice?: (text: string) => void
  /** Whether the reply comes from the cache; before the first event. */
  readonly cached?: (state: CacheState) => void
  /** Types of tools that vendors run, which the vendor that is asked does not get; before the first event. */
  readonly omittingTools?: (types: ReadonlyArray<string>) => void
  /** Types of blocks of vendors' tools that the vendor that is asked cannot read; before the first event. */
  readonly omitting?: (types: ReadonlyArray<string>) => void
  /** Parameters that the model that is asked takes with other values, or not at all; before the first event. */
  readonly clamping?: (names: ReadonlyArray<string>) => void
  /** The losses of the client's own request on its way to the vendor that is asked; undefined if it is translated. */
  readonly carrying?: (notes: CarryingNotes | undefined) => void
  readonly listen: (listener: ConnectionListener) => void
}

/** The losses of a request that goes to a vendor of its own API. */
export interface CarryingNotes {
  /** Fields that the gateway does not know. */
  readonly newFields: ReadonlyArray<string>
}

/** What a connection tells. */
export interface ConnectionListener {
  /** There is room again. */
  readonly room: () => void
  /** It is closed. */
  readonly gone: () => void
  /** What is to be written after the head of a whole reply. */
  readonly parts: (parts: ReadonlyArray<WrittenPart>) => void
}
