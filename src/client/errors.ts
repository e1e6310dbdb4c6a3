/** The typed failures of a call: promises reject with them, effects fail with them. */
import type { ErrorDetail } from "../protocol/error.ts"
import type { ErrorCode } from "../protocol/error-codes.ts"
import { type Advice, adviceOn } from "./advice.ts"

/** Members of {@link WeirRefused}. */
export interface Refusal {
  readonly code: ErrorCode
  /** The gateway's sentence. */
  readonly message: string
  /** The HTTP status; the code's status if the error came inside a stream. */
  readonly status: number
  /** Identifies the call in the gateway's log. */
  readonly requestId: string
  /** The model, or the route where there is none; the message names it. */
  readonly subject: string
  readonly detail?: ErrorDetail | undefined
  /** Milliseconds to wait before a retry, as the gateway asks. */
  readonly retryAfterMs?: number | undefined
  /** Whether the gateway says that the same call can never succeed. */
  readonly isFinal?: boolean | undefined
}

/** The gateway refused or failed: the error envelope, or the stream's `t.err`. */
export class WeirRefused extends Error {
  readonly _tag = "WeirRefused"
  override readonly name = "WeirRefused"
  readonly code: ErrorCode
  readonly status: number
  readonly requestId: string
  readonly subject: string
  /** The advice for the caller on this error. */
  readonly advice: Advice
  readonly detail?: ErrorDetail
  readonly retryAfterMs?: number
  readonly isFinal?: boolean
  constructor({ code, message, status, requestId, subject, detail, retryAfterMs, isFinal }: Refusal) {
    super(about(message, subject))
    this.code = code
    this.status = status
    this.requestId = requestId
    this.subject = subject
    this.advice = adviceOn(code, status)
    if (detail !== undefined) this.detail = detail
    if (retryAfterMs !== undefined) this.retryAfterMs = retryAfterMs
    if (isFinal !== undefined) this.isFinal = isFinal
  }
}

/** There was no reply, or it was cut off. */
export class WeirUnreachable extends Error {
  readonly _tag = "WeirUnreachable"
  override readonly name = "WeirUnreachable"
  readonly code = "unreachable"
  readonly advice: Advice = "retry"
  readonly subject: string
  /** Whether a part of the reply had arrived. */
  readonly brokeOff: boolean
  constructor({
    message,
    subject,
    brokeOff,
    cause,
  }: {
    readonly message: string
    readonly subject: string
    readonly brokeOff: boolean
    readonly cause?: unknown
  }) {
    super(about(message, subject), { cause })
    this.subject = subject
    this.brokeOff = brokeOff
  }
}

/** The reply is not twp/1, e.g. a proxy's error page. */
export class WeirUnreadable extends Error {
  readonly _tag = "WeirUnreadable"
  override readonly name = "WeirUnreadable"
  readonly code = "unreadable"
  readonly advice: Advice = "contact_operator"
  readonly subject: string
  readonly status: number
  constructor({
    message,
    subject,
    status,
    cause,
  }: {
    readonly message: string
    readonly subject: string
    readonly status: number
    readonly cause?: unknown
  }) {
    super(about(message, subject), { cause })
    this.subject = subject
    this.status = status
  }
}

/** The first call with the same `meta.requestId` runs for longer than this client waits. */
export class WeirStillRunning extends Error {
  readonly _tag = "WeirStillRunning"
  override readonly name = "WeirStillRunning"
  readonly code = "still_running"
  readonly advice: Advice = "retry"
  readonly subject: string
  readonly requestId: string
  constructor({ subject, requestId }: { readonly subject: string; readonly requestId: string }) {
    super(about("The first call with this requestId is still running", subject))
    this.subject = subject
    this.requestId = requestId
  }
}

/** The client was used in a way that cannot work: its code says which. */
export class WeirMisused extends TypeError {
  readonly _tag = "WeirMisused"
  override readonly name = "WeirMisused"
  readonly code: "base_url_invalid" | "credentials_invalid" | "session_closed" | "stream_consumed"
  readonly advice: Advice = "fix_request"
  constructor(code: WeirMisused["code"], message: string) {
    super(message)
    this.code = code
  }
}

/** The failure of a reply that is not the gateway's. */
export const foreign = (status: number, subject: string): WeirUnreadable =>
  new WeirUnreadable({
    message: `What answered with status ${status} does not speak twp/1: is baseUrl the gateway's?`,
    subject,
    status,
  })

export type WeirError = WeirRefused | WeirUnreachable | WeirUnreadable | WeirStillRunning | WeirMisused

/** Whether a promise of this client rejected with a failure of its own, and not with the reason of a signal. */
export const isWeirError = (error: unknown): error is WeirError =>
  error instanceof WeirRefused ||
  error instanceof WeirUnreachable ||
  error instanceof WeirUnreadable ||
  error instanceof WeirStillRunning ||
  error instanceof WeirMisused

const about = (message: string, subject: string): string => `${message} (${subject})`

/** The reason of a failed `fetch` for a message: Node hides it in the cause. */
export const reasonOf = (error: unknown): string => {
  if (!(error instanceof Error)) return ""
  const { cause } = error
  const { message } = cause instanceof Error && cause.message !== "" ? cause : error
  return message === "" ? "" : `: ${message}`
}
