/** The end of a call, for the bill and for the client. */
import { Exit, Option } from "effect"
import { type ServiceError, serviceError, shuttingDown } from "../../protocol/error.ts"
import type { EstimatedReason } from "../../protocol/usage.ts"
import type { EndedEarly } from "../vendor/conversation.ts"
import type { ConversationError } from "../vendor/errors.ts"

export type CallOutcome = Exit.Exit<void, ServiceError | ConversationError | EndedEarly>

/** The reason why a call ended early, as usage reports it. */
export type BrokenReason = Exclude<EstimatedReason, "upstream_usage_missing" | "upstream_usage_implausible">

const brokenReasons: Readonly<Record<string, BrokenReason>> = {
  upstream_connect_timeout: "upstream_timeout",
  upstream_ttfb_timeout: "upstream_timeout",
  upstream_idle_timeout: "upstream_timeout",
  upstream_total_timeout: "upstream_timeout",
  stream_backpressure: "stream_backpressure",
  content_blocked: "content_blocked",
}

/** The reason why a call ended early; undefined if it ended normally. */
export const brokenBy = (outcome: CallOutcome): BrokenReason | undefined => {
  if (Exit.isSuccess(outcome)) return undefined
  const failure = Exit.findErrorOption(outcome)
  if (Option.isNone(failure)) return "gateway_lost"
  if (failure.value._tag === "ClientGone") return "client_disconnected"
  return brokenReasons[failure.value.code] ?? "upstream_disconnected"
}

/** The error for the client; after `ClientGone` nobody receives it. */
export const errorOf = (outcome: CallOutcome): ServiceError | undefined => {
  if (Exit.isSuccess(outcome)) return undefined
  const failure = Exit.findErrorOption(outcome)
  if (Option.isSome(failure)) {
    return failure.value._tag === "ServiceError"
      ? failure.value
      : serviceError("upstream_disconnected", "The client left")
  }
  return shuttingDown(outcome.cause)
}

export const emptyReply = (): ServiceError =>
  serviceError("upstream_error", "The upstream sent an empty reply", { detail: { upstreamStatus: 200 } })
