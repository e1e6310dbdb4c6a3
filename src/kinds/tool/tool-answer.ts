/** Answers and failures of servers of tools, as a call understands them. Pure. */

import { type CallFailure, failureName } from "../../calls/vendor/operation.ts"
import { type ServiceError, serviceError } from "../../protocol/error.ts"
import { editJsonText, set } from "../../protocol/json/json-edit.ts"
import type { JsonObject, ResponseMessage } from "../../protocol/mcp/message.ts"
import type { ServerFailed } from "../../tool-servers/ask-server.ts"

/** Whether an error says that the server does not know the session. */
export const isAboutSession = (status: number, message: ResponseMessage): boolean =>
  status === 404 || (status === 400 && "error" in message && /session/i.test(message.error.message))

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
    given === undefined ? set({ "x-svc-usage": usage }, ...path) : set(usage, ...path, "x-svc-usage"),
  ])
}

export const serverError = ({ reason, status, cause, needed }: ServerFailed): ServiceError => {
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
      return serviceError("upstream_disconnected", "The server of the tool cannot be reached", { cause })
    default:
      return serviceError("upstream_error", "The server of the tool refused", {
        detail: { upstreamStatus: status },
        cause,
      })
  }
}
