/** How a call to a vendor can fail, what that says about its target, and what the client is told. */
import { Data } from "effect"
import { overloaded } from "../admission/overload.ts"
import type { VendorFault } from "../dialects/wire.ts"
import { type ServiceError, serviceError } from "../protocol/error.ts"
import { type Tier, tierOfCode, timeoutCodeOf } from "../protocol/timeout-tiers.ts"
import { isShortage, type UpstreamBroken } from "../upstream/client.ts"
import { EgressBlocked, egressBlocked } from "../upstream/egress.ts"
import type { TargetCoolingDown, Verdict } from "../upstream/health.ts"

/** The vendor refused. */
export class VendorRejected extends Data.TaggedError("VendorRejected")<{
  readonly status: number
  readonly code: string
  /** How long the vendor asks to wait. */
  readonly retryAfterMs?: number | undefined
  /** What is wrong with the gateway's own identity, for operators. */
  readonly reason?: string
}> {}

export const rejection = (fault: VendorFault): VendorRejected => new VendorRejected(fault)

export type TierTimeout = ServiceError<`upstream_${Tier}_timeout`>

export const tierTimeout = (tier: Tier, timeoutMs: number): TierTimeout =>
  serviceError(timeoutCodeOf(tier), `The upstream exceeded the ${tier} timeout`, {
    detail: { tier, timeoutMs },
  })

/** The tier of a timeout error; undefined for other errors. */
export const tierOf = (error: object): Tier | undefined =>
  "code" in error && typeof error.code === "string" ? tierOfCode(error.code) : undefined

export const isTierTimeout = (error: object): error is TierTimeout => tierOf(error) !== undefined

/** A call that failed. Without room, or with a broken disk, its reply cannot be stored. */
export type CallError =
  | TierTimeout
  | VendorRejected
  | UpstreamBroken
  | ServiceError<"bad_request" | "rate_limited" | "internal_error">

/** A call that failed, or was not made because its target is cooling down. */
export type AttemptError = CallError | TargetCoolingDown

/** What the client is told. */
export type ConversationError =
  | TierTimeout
  | ServiceError<
      "upstream_error" | "upstream_disconnected" | "egress_blocked" | "bad_request" | "rate_limited" | "internal_error"
    >

/** What a call that failed at its beginning says about its target: any answer is healthy, even a refusal. */
export const verdictOf = (error: CallError): Verdict => {
  switch (error._tag) {
    case "UpstreamBroken":
      return error.cause instanceof EgressBlocked || isShortage(error) ? "ignored" : "failing"
    case "VendorRejected":
      return error.status >= 500 ? "failing" : "ignored"
    case "ServiceError":
      return isTierTimeout(error) ? "failing" : "ignored"
  }
}

/** After the first frame no other target is asked; without room on the disk none would help. */
const finalCodes: ReadonlySet<string> = new Set([
  "upstream_idle_timeout",
  "upstream_total_timeout",
  "rate_limited",
  "internal_error",
])

/**
 * Whether another target may succeed: if the vendor is unreachable, slow, busy or broken. A refused request is final,
 * unless its kind has no requests that could be at fault.
 */
export const isWorthFailover = (error: AttemptError, triesAfterRefusal = false): boolean => {
  switch (error._tag) {
    case "UpstreamBroken":
      return !(error.cause instanceof EgressBlocked || isShortage(error))
    case "TargetCoolingDown":
      return true
    case "VendorRejected":
      return triesAfterRefusal || error.status >= 500 || error.status === 429 || error.code === "credential_missing"
    case "ServiceError":
      return !finalCodes.has(error.code)
  }
}

/** The error for the client: that the upstream refused, with its status, or that it disconnected. @param tellsCode whether it is told the vendor's machine code */
export const errorForClient = (error: AttemptError, nowMs: number, tellsCode = false): ConversationError => {
  switch (error._tag) {
    case "VendorRejected":
      return serviceError("upstream_error", "The upstream rejected the request", {
        detail: { upstreamStatus: error.status, ...(tellsCode && { upstreamCode: error.code }) },
        retryAfterMs: error.retryAfterMs,
      })
    case "TargetCoolingDown":
      return serviceError("upstream_error", "All targets are cooling down", {
        detail: { upstreamStatus: 429, ...(tellsCode && { upstreamCode: "cooling_down" }) },
        retryAfterMs: Math.max(1, error.untilMs - nowMs),
      })
    case "UpstreamBroken":
      if (error.cause instanceof EgressBlocked) return egressBlocked(error.cause.reason)
      if (isShortage(error)) return overloaded()
      return serviceError("upstream_disconnected", "The upstream closed the connection")
    case "ServiceError":
      return error
  }
}

/** For the log; a vendor's text is never in it. */
export const describe = (error: AttemptError): Record<string, unknown> => {
  switch (error._tag) {
    case "VendorRejected":
      return { status: error.status, code: error.code, ...(error.reason !== undefined && { reason: error.reason }) }
    case "UpstreamBroken":
      return { cause: error.cause instanceof Error ? error.cause.message : String(error.cause) }
    case "TargetCoolingDown":
      return { cooldown: error.cause }
    case "ServiceError":
      return { code: error.code }
  }
}
