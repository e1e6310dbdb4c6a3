/**
 * The API of a session, from end to end: how messages of both sides are read (`dialects`), what the gateway itself says, and
 * how the vendor's texts are reviewed. The session's actor, its money and its limits are the same for all.
 */
import type { RealtimeMessages } from "../../dialects/realtime-dialect.ts"
import type { ReplyReview } from "../../policies/reply/reply-review.ts"
import type { Denial } from "../../policies/review.ts"
import type { ClosingCode } from "../../protocol/closing-code.ts"
import type { PolicyHit } from "../../protocol/control/usage-record.ts"
import type { ServiceError } from "../../protocol/error.ts"
import type { Ending } from "./mailbox.ts"
import type { ClientConnection } from "./sockets.ts"

export interface RealtimeProtocol extends RealtimeMessages {
  readonly makeOwnMessages: (session: OwnMessagesOf) => OwnMessages
  readonly makeReview: (review: ReviewOf) => ReviewedMessages
}

/** The part of a session that the gateway's own messages need. */
export interface OwnMessagesOf {
  readonly client: ClientConnection
  readonly requestId: string
  readonly end: (ending: Ending) => void
}

/** The gateway's own messages to the client of a session. Where an API has no such message, the session ends. */
export interface OwnMessages {
  /** A client's message is refused. @param eventId the client's id of it */
  readonly refused: (error: ServiceError, eventId?: string) => void
  /** A text of the client is denied; the session goes on. */
  readonly denied: (error: ServiceError, eventId?: string) => void
  /** A response cannot begin now; it may later. */
  readonly later: (error: ServiceError, eventId?: string) => void
  /** A text of the vendor is denied; the session goes on. */
  readonly replyDenied: (error: ServiceError) => void
  /** The session takes no new responses. */
  readonly draining: () => void
  /** The session ends in a while, because its time is over. */
  readonly leaving: (leftMs: number) => void
  /** The last message of a session. @returns how its socket closes */
  readonly ending: (code: ClosingCode, error: ServiceError | undefined) => Closing
}

export interface Closing {
  readonly code: ClosingCode
  readonly reason?: string | undefined
}

export interface ReviewOf {
  /** Makes the review of one response. */
  readonly review: () => ReplyReview
  readonly send: (message: Buffer | string) => void
  /** Called with the id of a response that is denied. */
  readonly denied: (responseId: string) => void
  /** Called with the matches of a response when it has ended. */
  readonly found: (hits: ReadonlyArray<PolicyHit>) => void
}

/** The vendor's messages of a session under policies. */
export interface ReviewedMessages {
  /** A message of the vendor; those that are clear are sent. */
  readonly take: (bytes: Buffer) => void
  /** The number of turns that have ended. */
  readonly turns: number
  /** Denies the responses to a speech. @param turn the value of `turns` when it was heard */
  readonly denySpeech: (denial: Denial, turn: number) => void
}
