/**
 * Realtime sessions of an API: the messages of both sides by their meaning, and the request for a session to a vendor. The
 * client and the vendor of a session have the same API: messages are forwarded unchanged.
 */
import type { ReviewedPart } from "../protocol/catalogue/policy.ts"
import type { Stop } from "../protocol/exchange.ts"
import type { RealtimeApi } from "../protocol/kinds/call-kind.ts"
import type { VendorUsage } from "./chat-dialect.ts"
import type { VendorFault } from "./vendor/faults.ts"

/** The request for a session to a vendor. */
export interface RealtimeDialect {
  readonly api: RealtimeApi
  /** The path of the socket below the vendor's base URL. */
  readonly path: (model: string) => string
  /** The vendor's name of a model in the first message of a session. */
  readonly modelName: (model: string) => string
  /** The fault of a vendor that closes its socket before the session has begun. */
  readonly closedEarly: (code: number, reason: string) => VendorFault
}

/** The limits with which a session was admitted. */
export interface SessionLimits {
  /** Names of its model: the handle, an alias, and the vendor's own. */
  readonly models: ReadonlyArray<string>
  /** The most tokens of one response. */
  readonly maxOutTokens: number
  readonly hasTools: boolean
  /** The units in which transcripts of the input have a price. */
  readonly transcriptUnits: ReadonlyArray<TranscriptUnit>
}

export type TranscriptUnit = "seconds" | "tokens"

/** The amounts that an event adds to the conversation. */
export interface Added {
  readonly audioBytes: number
  readonly textBytes: number
  readonly images: number
  /** The texts that policies read, with the parts of a call that they are. */
  readonly texts: ReadonlyArray<readonly [part: ReviewedPart, text: string]>
}

export const nothingAdded: Added = { audioBytes: 0, textBytes: 0, images: 0, texts: [] }

export interface EventRefusal {
  readonly message: string
  readonly param?: string
  /** The client's id of the event. */
  readonly eventId?: string
}

/** A client's event of a session. */
export type ClientEvent =
  /** Sound, which the vendor may answer without a request. */
  | { readonly is: "audio"; readonly audioBytes: number; readonly sent: Buffer | string }
  /**
   * @property mayAnswer whether the vendor may answer it without a request
   * @property begins whether it begins a response, also while another one runs
   */
  | {
      readonly is: "added"
      readonly added: Added
      readonly sent: string
      readonly mayAnswer: boolean
      readonly begins?: boolean
    }
  | {
      readonly is: "respond"
      readonly added: Added
      readonly sent: string
      /** The limit of this response only. */
      readonly maxOutTokens: number | undefined
      readonly eventId: string | undefined
    }
  | {
      readonly is: "update"
      readonly added: Added
      readonly sent: string
      readonly maxOutTokens: number | undefined
      readonly inBytesPerSecond: number | undefined
      readonly eventId: string | undefined
    }
  | { readonly is: "refused"; readonly refusal: EventRefusal }

/** The usage that a vendor has reported for one response. */
export interface ResponseUsage {
  readonly counts: VendorUsage
  /** Seconds that a vendor bills beside tokens. */
  readonly billedSeconds: number
}

/** The counts by which a vendor bills transcripts of the input. A model of its own makes them, billed by seconds or by tokens. */
export interface TranscriptUsage {
  readonly seconds: number
  readonly inTokens: number
  readonly outTokens: number
}

export const noTranscript: TranscriptUsage = { seconds: 0, inTokens: 0, outTokens: 0 }

/** The meaning of a vendor's message for money and policies. */
export type VendorEvent =
  /** A part of a response: bytes of sound, or of text. */
  | { readonly is: "delta"; readonly responseId: string; readonly audioBytes: number; readonly textBytes: number }
  | { readonly is: "created"; readonly responseId: string }
  | {
      readonly is: "done"
      readonly responseId: string
      readonly usage: ResponseUsage | undefined
      readonly stop: Stop
      /** Whether the vendor could not answer. */
      readonly hasFailed: boolean
    }
  /** The session, as the vendor reports it. */
  | { readonly is: "session"; readonly inBytesPerSecond?: number; readonly outBytesPerSecond?: number }
  | { readonly is: "transcribed"; readonly usage: TranscriptUsage; readonly speech?: Speech | undefined }
  /** The vendor does not answer a request of the client. */
  | { readonly is: "unanswered" }
  | { readonly is: "malformed" }

/** The words of a client's speech. */
export interface Speech {
  readonly words: string
  /** The message that takes it out of the conversation; undefined if the API has none. */
  readonly takeOut: string | undefined
}

/** A vendor's message. */
export interface VendorMessage {
  readonly events: ReadonlyArray<VendorEvent>
  /** The message that the client gets in its place. */
  readonly sent?: string
}

/** Reads the messages of one vendor in their order. */
export interface VendorReader {
  readonly read: (bytes: Buffer) => VendorMessage
  /**
   * The ends of responses of which nothing more comes, called when no message came for some seconds.
   * @param isEnd whether the session has ended
   */
  readonly settled: (isEnd: boolean) => ReadonlyArray<VendorEvent>
}

/** Tokens of sound and pictures, where a vendor reports none. */
export interface TokenRates {
  readonly inTokensPerSecond: number
  readonly outTokensPerSecond: number
  readonly imageTokens: number
}

/** Seals a vendor's name of a conversation for the caller whose conversation it is. */
export type SealHandle = (handle: string) => string

/** The messages of an API. Pure. */
export interface RealtimeMessages {
  readonly api: RealtimeApi
  readonly rates: TokenRates
  /** Whether a client's message is sound and nothing else. */
  readonly isSound: (bytes: Buffer) => boolean
  readonly readClient: (bytes: Buffer, limits: SessionLimits) => ClientEvent
  readonly makeReader: (seal: SealHandle) => VendorReader
  /** The message that ends a response. */
  readonly cancel: (responseId: string) => string
  /** The text of a vendor's message, and the item that it is a part of. */
  readonly wordsOf: (bytes: Buffer) => readonly [item: string, words: string] | undefined
  /** Whether requests that come before a response begins may be answered by that one response. */
  readonly joinsRequests: boolean
  /** The code with which a vendor closes after a message that it refuses; undefined if it says so in a message. */
  readonly refusedCode: number | undefined
}
