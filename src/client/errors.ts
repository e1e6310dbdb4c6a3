/** The typed failures of a call: promises reject with them, effects fail with them. */
import { Data } from "effect"
import type { ErrorCode, ErrorDetail } from "../protocol/error.ts"
import { type Advice, adviceFor } from "./advice.ts"

/** The gateway refused or failed: the error envelope, or the stream's `t.err`. */
export class WeirRefused extends Data.TaggedError("WeirRefused")<{
  readonly code: ErrorCode
  readonly message: string
  /** The HTTP status; the code's status if the error came inside a stream. */
  readonly status: number
  /** Identifies the call in the gateway's log. */
  readonly requestId: string
  readonly detail?: ErrorDetail | undefined
  /** Milliseconds to wait before a retry, as the gateway asks. */
  readonly retryAfterMs?: number | undefined
  /** Whether the gateway says that the same call can never succeed. */
  readonly isFinal?: boolean | undefined
}> {
  /** The advice for the caller on this error. */
  get advice(): Advice {
    return adviceFor(this.code)
  }
}

/** There was no reply, or it was cut off. */
export class WeirUnreachable extends Data.TaggedError("WeirUnreachable")<{
  readonly message: string
  /** Whether a part of the reply had arrived. */
  readonly brokeOff: boolean
  readonly cause?: unknown
}> {}

/** The reply is not twp/1, e.g. a proxy's error page. */
export class WeirUnreadable extends Data.TaggedError("WeirUnreadable")<{
  readonly message: string
  readonly status: number
  readonly cause?: unknown
}> {}

/** The first call with the same `meta.requestId` runs for longer than this client waits. */
export class WeirStillRunning extends Data.TaggedError("WeirStillRunning")<{
  readonly message: string
  readonly requestId: string
}> {}

export type WeirError = WeirRefused | WeirUnreachable | WeirUnreadable | WeirStillRunning
