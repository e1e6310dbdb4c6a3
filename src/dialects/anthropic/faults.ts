/** Anthropic's refusals. Source: https://docs.anthropic.com/en/api/errors */

import { type JsonObject, objectAt, parseRefusal, stringAt } from "../parse/json.ts"
import { type FaultTable, faultBy, type VendorFault } from "../vendor/faults.ts"

const table: FaultTable = {
  codes: {
    authentication_error: "credential",
    billing_error: "credit",
    permission_error: "permission",
    not_found_error: "model",
    rate_limit_error: "moment",
    timeout_error: "moment",
    api_error: "moment",
    overloaded_error: "moment",
  },
  // Some refusals come as invalid requests.
  texts: [
    [/invalid `?signature`? in `?thinking`? block|invalid `?data`? in `?redacted_thinking`? block/i, "seal"],
    [/credit balance is too low|specified api usage limits/i, "credit"],
    [/organization has been disabled/i, "credential"],
    [/blocked by content filtering policy/i, "filter"],
  ],
}

/** The failure in a reply with an error status. */
export const anthropicRefusal = (status: number, body: string): VendorFault => faultOf(status, parseRefusal(body))

/** Failures inside a stream have a type, which stands for a status. */
export const anthropicFault = (json: JsonObject | undefined): VendorFault =>
  faultOf(statusOfType(stringAt(objectAt(json, "error"), "type") ?? ""), json)

/** The status that a type of error has. */
export const statusOfType = (type: string): number => statuses.get(type) ?? 502

const faultOf = (status: number, json: JsonObject | undefined): VendorFault => {
  const error = objectAt(json, "error")
  const text = stringAt(error, "message")
  return faultBy(table, { status, codes: [stringAt(error, "type")], text, field: fieldIn(text) })
}

/** A refusal of a field begins with its name: `messages.0.content: Field required`. */
export const fieldIn = (text = ""): string | undefined => /^([a-z_][\w.]{0,127}): /.exec(text)?.[1]

const statuses: ReadonlyMap<string, number> = new Map([
  ["invalid_request_error", 400],
  ["authentication_error", 401],
  ["billing_error", 402],
  ["permission_error", 403],
  ["not_found_error", 404],
  ["request_too_large", 413],
  ["rate_limit_error", 429],
  ["api_error", 500],
  ["timeout_error", 504],
  ["overloaded_error", 529],
])
