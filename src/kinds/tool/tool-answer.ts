/** Answers and failures of servers of tools, as a call understands them. Pure. */
import { Predicate } from "effect"
import { VendorRejected } from "../../calls/vendor/errors.ts"
import { type CallFailure, failureName } from "../../calls/vendor/operation.ts"
import type { PreparationError } from "../../calls/vendor/work.ts"
import { serviceError } from "../../protocol/error.ts"
import { editJsonText, set } from "../../protocol/json/json-edit.ts"
import type { JsonObject, ResponseMessage } from "../../protocol/mcp/message.ts"
import type { ServerFailed } from "../../tool-servers/ask-server.ts"
import { UpstreamBroken } from "../../upstream/client.ts"
import { usageName } from "./tool-message.ts"

/** Whether an error says that the server does not know the session. */
export const isAboutSession = (status: number, message: ResponseMessage): boolean =>
  status === 404 || (status === 400 && "error" in message && /session/i.test(message.error.message))

/** Statuses of 500 and above with which a server says that it has not begun. RFC 9110 section 15.6. */
const notBegun: ReadonlySet<number> = new Set([501, 503, 505])

/** Whether a call that was refused with a status may have run: a server that fails, or a proxy that loses it, may have run it before. */
export const mayHaveRun = (status: number): boolean => status >= 500 && !notBegun.has(status)

/** An answer in metrics: `result`, `failed` if the tool says that it has failed, or `error` of its server. */
export const answerOutcome = (answer: ResponseMessage | undefined): string => {
  if (answer === undefined || !("result" in answer)) return "error"
  return answer.result["isError"] === true ? "failed" : "result"
}

/** The failure of a call in metrics, as the code of its error. */
export const failedOutcome = (failure: CallFailure): string => {
  if (failure._tag === "VendorRejected") return "upstream_error"
  return failure._tag === "UpstreamBroken" ? "upstream_disconnected" : failureName(failure)
}

/** The cost of a call, in the metadata of its result. */
export const withUsage = (text: string, answer: ResponseMessage | undefined, usage: JsonObject): string => {
  if (answer === undefined || !("result" in answer)) return text
  const { _meta: meta } = answer.result
  const path = ["result", "_meta"]
  const given = typeof meta === "object" && meta !== null && !Array.isArray(meta) ? meta : undefined
  return editJsonText(text, [
    given === undefined ? set({ [usageName]: usage }, ...path) : set(usage, ...path, usageName),
  ])
}

/** A server that gives no session. It does not refuse for good, if an equal one may give it. */
export const preparationError = ({ reason, status, cause, needed }: ServerFailed): PreparationError => {
  if (needed !== undefined) {
    const { message, server, path } = needed
    return serviceError("forbidden", message, {
      detail: { reason: "account_needed", server, ...(path !== undefined && { path }) },
    })
  }
  switch (reason) {
    case "slow":
      return serviceError("upstream_ttfb_timeout", "The server of the tool did not answer in time", { cause })
    case "unreachable":
      return isAboutAccount(cause)
        ? serviceError("upstream_disconnected", "The account at the server of the tool cannot be read", { cause })
        : new UpstreamBroken({ cause })
    default:
      return status === 429 || status >= 500
        ? new VendorRejected({ status, code: "refused", blame: "moment" })
        : serviceError("upstream_error", "The server of the tool refused", {
            detail: { upstreamStatus: status },
            cause,
          })
  }
}

/** Whether the account is missing for the moment, which is the same at each equal server. */
const isAboutAccount = (cause: unknown): boolean =>
  Predicate.isTagged(cause, "StoreUnavailable") || Predicate.isTagged(cause, "OAuthFailed")
