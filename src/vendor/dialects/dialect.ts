/**
 * What a vendor dialect is: pure translation between twp/1 and one vendor's wire, with no effects and no services.
 *
 * `encode` makes the request; a `Decoder` turns the bytes of a streamed reply into {@link VendorEvent}s, one call a
 * socket read; `decodeBody` turns a whole JSON reply into the same events, so that both modes share one meaning.
 */
import type { Result } from "effect"
import type { Message } from "../../protocol/block.ts"
import type { Delta } from "../../protocol/event.ts"
import type { ReasoningLevel, Stop, Tool, ToolChoice } from "../../protocol/exchange.ts"

/** An exchange after admission: authorised, clamped, addressed to one target. */
export interface VendorRequest {
  /** The vendor's own name of the model. */
  readonly model: string
  readonly thread: ReadonlyArray<Message>
  readonly tools: ReadonlyArray<Tool>
  readonly toolChoice?: ToolChoice | undefined
  readonly maxTokens: number
  readonly temperature?: number | undefined
  readonly topP?: number | undefined
  readonly stop: ReadonlyArray<string>
  readonly canReason: boolean
  /** Absent where the model cannot reason or the caller did not say. */
  readonly reasoning?: ReasoningLevel | undefined
  /** Whether the model keeps a prefix cache; `skipWrite` leaves out the breakpoint at the message tail. */
  readonly cache: { readonly enabled: boolean; readonly skipWrite: boolean; readonly key?: string | undefined }
  readonly stream: boolean
}

export interface WireRequest {
  /** Appended to the vendor's base URL. */
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

/** Something this dialect has no words for, e.g. a file by URL. */
export interface EncodeRefusal {
  readonly capability: string
  readonly message: string
}

/** Counts as a vendor reported them; `inTokens` excludes cache reads and writes. */
export interface VendorUsage {
  readonly inTokens: number
  readonly outTokens: number
  readonly cacheReadTokens: number
  readonly cacheWriteTokens: number
  /** Non-zero buckets. Those of the vocabulary refine a total; `obs_*` are observed only. */
  readonly dims: Readonly<Record<string, number>>
}

/** A vendor's failure, told in its own reply. Its text stays inside the gateway. */
export interface VendorFault {
  /** The HTTP status that it is, or amounts to. */
  readonly status: number
  /** The vendor's machine code, for the log. */
  readonly code: string
}

export type VendorEvent =
  /** Content for the client; `json` is a text as its vendor spelled it in JSON, where that is known. */
  | { readonly kind: "delta"; readonly delta: Delta; readonly json?: string }
  /** All that is known of usage so far; the last one wins. */
  | { readonly kind: "usage"; readonly usage: VendorUsage; readonly final: boolean }
  | { readonly kind: "stop"; readonly stop: Stop }
  /** The vendor's terminal event: the reply is whole. */
  | { readonly kind: "done" }
  | { readonly kind: "fault"; readonly fault: VendorFault }

export interface Decoder {
  /** Decodes one socket read; frames may be split at any byte. Never throws. */
  readonly push: (bytes: Uint8Array) => ReadonlyArray<VendorEvent>
  /** The connection ended; gives what a missing last line break held back. A stop seen makes a reply whole without `done`. */
  readonly end: () => ReadonlyArray<VendorEvent>
  /** Data frames seen so far; keep-alives are not frames. */
  readonly frames: () => number
}

export interface Dialect {
  /** Headers that carry the credential. */
  readonly authorize: (credential: string) => Readonly<Record<string, string>>
  readonly encode: (request: VendorRequest) => Result.Result<WireRequest, EncodeRefusal>
  readonly decoder: () => Decoder
  readonly decodeBody: (body: string) => ReadonlyArray<VendorEvent>
  /** The fault in a reply with an error status. */
  readonly decodeError: (status: number, body: string) => VendorFault
}

/** A reply that is not the vendor's dialect: no JSON, the wrong shape, a frame over the limit. */
export const malformed: VendorEvent = { kind: "fault", fault: { status: 502, code: "malformed_reply" } }

/** Drops empty buckets, so that only non-zero ones are reported. */
export const nonZero = (dims: Readonly<Record<string, number>>): Readonly<Record<string, number>> =>
  Object.fromEntries(Object.entries(dims).filter(([, count]) => count > 0))

/** Splits an input total that includes what the cache read and wrote. The total rules: its parts never exceed it. */
export const splitInput = (
  total: number,
  read: number,
  write: number,
): Pick<VendorUsage, "inTokens" | "cacheReadTokens" | "cacheWriteTokens"> => {
  const cacheReadTokens = Math.min(read, total)
  const cacheWriteTokens = Math.min(write, total - cacheReadTokens)
  return { inTokens: total - cacheReadTokens - cacheWriteTokens, cacheReadTokens, cacheWriteTokens }
}
