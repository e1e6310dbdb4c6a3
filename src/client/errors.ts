/** What may become of a call: typed failures, which promises reject with and effects fail with. */
import { Data } from "effect"
import type { ErrorCode, ErrorDetail } from "../protocol/error.ts"
import { type Advice, adviceFor } from "./advice.ts"

/** The gateway answered that it will not, or could not: the envelope, or the stream's `t.err`. */
export class WeirRefused extends Data.TaggedError("WeirRefused")<{
  readonly code: ErrorCode
  readonly message: string
  /** The HTTP status; that of the code where the refusal came inside a stream. */
  readonly status: number
  /** Names the call in the gateway's log. */
  readonly requestId: string
  readonly detail?: ErrorDetail | undefined
  /** Milliseconds that the gateway asks to wait before another try. */
  readonly retryAfterMs?: number | undefined
}> {
  /** What a caller can do about it. */
  get advice(): Advice {
    return adviceFor(this.code)
  }
}

/** No answer came, or it broke off before its end. */
export class WeirUnreachable extends Data.TaggedError("WeirUnreachable")<{
  readonly message: string
  /** Whether part of an answer had come. */
  readonly brokeOff: boolean
  readonly cause?: unknown
}> {}

/** Something answered that does not speak twp/1: a proxy's page, say. */
export class WeirUnreadable extends Data.TaggedError("WeirUnreadable")<{
  readonly message: string
  readonly status: number
  readonly cause?: unknown
}> {}

/** The first call with the same `meta.requestId` goes on for longer than this client waits. */
export class WeirStillRunning extends Data.TaggedError("WeirStillRunning")<{
  readonly message: string
  readonly requestId: string
}> {}

export type WeirError = WeirRefused | WeirUnreachable | WeirUnreadable | WeirStillRunning
