/** The form of an engine: questions about the pieces of a text, and the reading of their answers. Pure. */
import { Data, type Redacted, Result } from "effect"
import type { Identity } from "../../cloud-identities/identity.ts"
import type { HoldError } from "../../money/ledger.ts"
import type { PolicyEngine } from "../../protocol/catalogue/policy-engine.ts"
import type { UpstreamRequest, WholeReply } from "../../upstream/client.ts"
import type { Piece } from "./pieces.ts"
import type { Span } from "./spans.ts"

export type Direction = "inbound" | "outbound"

export type EngineKind = PolicyEngine["kind"] | "moderation"

/** The verdict about a text. */
export interface EngineVerdict {
  readonly isFlagged: boolean
  /** Places in the text, in UTF-16 code units; empty if the engine knows none. */
  readonly spans: ReadonlyArray<Span>
}

/**
 * The reason why there is no verdict. `refused`: it did not accept the request; `partial`: it did not review all of the text;
 * `malformed`: its answer cannot be read; `cooling`: its last calls failed, so it is not called; `credential`: there is none here;
 * `unpaid`: its price could not be held, so it is not asked.
 */
export type FailureReason =
  | "timeout"
  | "unreachable"
  | "unauthorized"
  | "refused"
  | "busy"
  | "error"
  | "malformed"
  | "partial"
  | "cooling"
  | "credential"
  | "unpaid"

/** An engine has no verdict. Nothing here is of the text, or of the engine's answer. */
export class EngineFailed extends Data.TaggedError("EngineFailed")<{
  readonly kind: EngineKind
  readonly reason: FailureReason
  readonly status?: number | undefined
  /** The problem of the gateway's own identity. */
  readonly sentence?: string | undefined
  /** The refusal of the hold of its price. */
  readonly refusal?: HoldError | undefined
}> {}

/** The circumstances of a question. */
export interface About {
  readonly policy: string
  readonly direction: Direction
  /** Identifies the review; its questions share it. */
  readonly requestId: string
  /** The text before it in the conversation, e.g. the prompt of a reply. */
  readonly earlier: string | undefined
  readonly nowMs: number
}

/** Places are those of the piece; a failure is its reason. */
export type Answer = Result.Result<EngineVerdict, FailureReason>

/** One way to ask a question. */
export interface Way extends Pick<UpstreamRequest, "baseUrl" | "path" | "headers" | "network"> {
  readonly body: string
  /** The address whose health it shares. */
  readonly address: string
  readonly identity: Identity | undefined
  /** Reads an answer with status 200. */
  readonly read: (reply: WholeReply) => Answer
}

export interface Question {
  /** The offset of its piece in the text. */
  readonly at: number
  /** The texts that it is about. */
  readonly texts: ReadonlyArray<string>
  /** The next way is taken if one gives no verdict. */
  readonly ways: ReadonlyArray<Way>
}

export interface Engine {
  readonly kind: EngineKind
  /** The most characters that it gets at once. */
  readonly longestPiece: number
  /** Whether the text before a reply changes its verdict. */
  readonly readsEarlier?: boolean
  /** All of them are asked. */
  readonly questions: (pieces: ReadonlyArray<Piece>, about: About) => ReadonlyArray<Question>
}

/** The means of calling an engine, as the catalogue has them. */
export interface Access extends Pick<UpstreamRequest, "network"> {
  readonly secret: Redacted.Redacted | undefined
  /** The secret before it, which signs too while it is rotated. */
  readonly formerSecret?: Redacted.Redacted | undefined
  readonly identity: Identity | undefined
}

export const clean: EngineVerdict = { isFlagged: false, spans: [] }
export const flagged: EngineVerdict = { isFlagged: true, spans: [] }
export const malformed: Answer = Result.fail("malformed")
export const partial: Answer = Result.fail("partial")

export const verdict = (isFlagged: boolean): Answer => Result.succeed(isFlagged ? flagged : clean)
