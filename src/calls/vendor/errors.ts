/**
 * The failures of a call to a vendor, and their consequences: whether another target is asked, what the target's health
 * learns, and which error the client gets. The fault decides, for every kind of call: the request, the target or the moment
 * (`dialects/vendor/faults.ts`).
 */
import { Data } from "effect"
import { overloaded } from "../../admission/overload.ts"
import { isTargets, type VendorFault } from "../../dialects/vendor/faults.ts"
import { type ServiceError, serviceError } from "../../protocol/error.ts"
import { type Tier, tierOfCode, timeoutCodeOf } from "../../protocol/timeout-tiers.ts"
import { isShortage, type UpstreamBroken } from "../../upstream/client.ts"
import { EgressBlocked, egressBlocked } from "../../upstream/egress.ts"
import type { CoolingReason, TargetCoolingDown, Verdict } from "../../upstream/health.ts"

/** The vendor refused. */
export class VendorRejected extends Data.TaggedError("VendorRejected")<
  VendorFault & {
    /** The problem of the gateway's own identity, for operators. */
    readonly reason?: string
  }
> {}

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

/** The error that the client gets. */
export type ConversationError =
  | TierTimeout
  | ServiceError<
      | "upstream_error"
      | "upstream_disconnected"
      | "content_blocked"
      | "egress_blocked"
      | "bad_request"
      | "rate_limited"
      | "internal_error"
    >

/** The meaning of a failed beginning for the breaker of its target. */
export const verdictOf = (error: CallError): Verdict => {
  switch (error._tag) {
    case "UpstreamBroken":
      return error.cause instanceof EgressBlocked || isShortage(error) ? "ignored" : "failing"
    case "VendorRejected":
      // A vendor that is busy works; a target that was refused has a cooldown of its own.
      return error.blame === "moment" && error.status !== 429 ? "failing" : "ignored"
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
 * Whether another target may succeed. A fault of the request is final, unless the model's `tryNext` says otherwise or its
 * kind has no requests that could be at fault. No target is asked to get around another's content filter.
 */
export const isWorthFailover = (error: AttemptError, triesAfterRefusal = false): boolean => {
  switch (error._tag) {
    case "UpstreamBroken":
      return !(error.cause instanceof EgressBlocked || isShortage(error))
    case "TargetCoolingDown":
      return true
    case "VendorRejected":
      return error.blame === "request" ? triesAfterRefusal : error.blame !== "filter"
    case "ServiceError":
      return !finalCodes.has(error.code)
  }
}

/** The reason why a target cools down after a failed call; undefined if it does not. */
export const coolingReasonOf = (error: AttemptError): CoolingReason | undefined => {
  if (error._tag !== "VendorRejected") return undefined
  const { blame, status, code, retryAfterMs } = error
  // Nothing was sent: asking again costs nothing.
  if (code === missingCode) return undefined
  if (isTargets(blame)) return { cause: "refused", reason: blame }
  if (blame !== "moment") return undefined
  if (retryAfterMs !== undefined && retryAfterMs > 0) return { cause: "vendor", forMs: retryAfterMs }
  return status === 429 ? { cause: "busy" } : undefined
}

/** The code of a call for which there is no credential here. */
export const missingCode = "credential_missing"

/**
 * The error with the most information: the last of the calls, or the cooldown that ends first; a busy vendor before a problem
 * that never passes. That a target does not support the request is reported only if no other could have answered.
 */
export const mostTelling = (errors: ReadonlyArray<AttemptError>): AttemptError | undefined => {
  const among = outlookOf(errors) === "later" ? errors.filter(isBusy) : errors
  const [first] = among.filter(isCooldown).sort((a, b) => a.untilMs - b.untilMs)
  return among.findLast((error) => !isCooldown(error) && !isUnfit(error)) ?? first ?? among.at(-1)
}

const isUnfit = (error: AttemptError): boolean => error._tag === "ServiceError" && error.code === "bad_request"

/** Whether the same call can succeed: never, or later because vendors are busy; undefined if it may at any time. */
export const outlookOf = (errors: ReadonlyArray<AttemptError>): "never" | "later" | undefined => {
  const hopes = errors.filter(mayPass)
  if (hopes.length === 0) return "never"
  return hopes.every(isBusy) ? "later" : undefined
}

const isCooldown = (error: AttemptError): error is TargetCoolingDown => error._tag === "TargetCoolingDown"

const mayPass = (error: AttemptError): boolean => {
  switch (error._tag) {
    case "TargetCoolingDown":
      return error.cause !== "refused"
    case "VendorRejected":
      return error.blame === "moment"
    case "UpstreamBroken":
      return true
    case "ServiceError":
      return isTierTimeout(error)
  }
}

/** Whether a vendor has asked to wait, or refused for now. */
export const isBusy = (error: AttemptError): boolean =>
  isCooldown(error)
    ? error.cause === "vendor" || error.cause === "busy"
    : error._tag === "VendorRejected" && error.blame === "moment" && error.status === 429

export interface ErrorContext {
  /** {@link outlookOf} all targets; of this error alone if absent. */
  readonly outlook?: "never" | "later" | undefined
  /** The time until a busy target may be asked again; the vendor's own statement if absent. */
  readonly waitMs?: number | undefined
  /** Whether the client gets the vendor's machine code. */
  readonly tellsCode?: boolean | undefined
}

/** The error for the client: that the upstream refused, with its status, or that it disconnected. */
export const errorForClient = (error: AttemptError, nowMs: number, context: ErrorContext = {}): ConversationError => {
  const { waitMs, tellsCode = false } = context
  const retry = "outlook" in context ? context.outlook : outlookOf([error])
  switch (error._tag) {
    case "VendorRejected": {
      const { status, code, blame, retryAfterMs, field } = error
      if (blame === "filter") return filteredByVendor
      const named = blame === "request" ? field : undefined
      const message = `The upstream rejected the request${named === undefined ? "" : `: ${named}`}`
      return serviceError("upstream_error", message, {
        detail: {
          upstreamStatus: status,
          ...(tellsCode && { upstreamCode: code }),
          ...(named !== undefined && { issues: [{ path: named, message: "is refused by the vendor" }] }),
        },
        retryAfterMs: blame === "moment" ? (waitMs ?? retryAfterMs) : undefined,
        retry,
      })
    }
    case "TargetCoolingDown":
      return serviceError("upstream_error", "All targets are cooling down", {
        detail: { upstreamStatus: 429, ...(tellsCode && { upstreamCode: "cooling_down" }) },
        retryAfterMs: waitMs ?? Math.max(1, error.untilMs - nowMs),
        retry,
      })
    case "UpstreamBroken":
      if (error.cause instanceof EgressBlocked) return egressBlocked(error.cause.reason)
      if (isShortage(error)) return overloaded()
      return serviceError("upstream_disconnected", "The upstream closed the connection")
    case "ServiceError":
      return error
  }
}

const filteredByVendor = serviceError("content_blocked", "The vendor's content filter refused the content", {
  detail: { reason: "vendor_filter" },
})

/** For the log; a vendor's text is never in it. */
export const describe = (error: AttemptError): Record<string, unknown> => {
  switch (error._tag) {
    case "VendorRejected":
      return {
        status: error.status,
        code: error.code,
        fault: error.blame,
        ...(error.reason !== undefined && { reason: error.reason }),
      }
    case "UpstreamBroken":
      return { cause: error.cause instanceof Error ? error.cause.message : String(error.cause) }
    case "TargetCoolingDown":
      return { cooldown: error.cause }
    case "ServiceError":
      return { code: error.code }
  }
}
