/**
 * Google's refusals: a status by its name, and details. Sources: https://ai.google.dev/gemini-api/docs/troubleshooting,
 * https://cloud.google.com/apis/design/errors#error_details (`ErrorInfo`, `RetryInfo`, `QuotaFailure`)
 */

import { type JsonObject, numberAt, objectAt, objectsAt, parseRefusal, stringAt } from "../parse/json.ts"
import { type FaultTable, faultBy, filteredReply, type VendorFault } from "../vendor/faults.ts"

const table: FaultTable = {
  // Reasons of `ErrorInfo`: https://github.com/googleapis/googleapis/blob/master/google/api/error_reason.proto
  codes: {
    api_key_invalid: "credential",
    access_token_expired: "credential",
    access_token_type_unsupported: "credential",
    consumer_suspended: "credential",
    consumer_invalid: "credential",
    credentials_missing: "credential",
    api_key_service_blocked: "permission",
    api_key_http_referrer_blocked: "permission",
    api_key_ip_address_blocked: "permission",
    access_token_scope_insufficient: "permission",
    service_disabled: "permission",
    billing_disabled: "credit",
    location_policy_violated: "region",
    // A quota of a day: waiting a minute does not help.
    quota_used_up: "credit",
  },
  texts: [
    [/thought[_ ]?signature/i, "seal"],
    // A file that a client names, here or in Cloud Storage: the permission to read it is not the permission to call the model.
    [/permission to access the file|file .*(does not|may not) exist|storage\.objects\.|gs:\/\//i, "request"],
    [/user location is not supported/i, "region"],
    [/free tier is not available|enable billing/i, "credit"],
    [/api key (not valid|expired|not found)/i, "credential"],
  ],
}

/** The failure in a reply with an error status. */
export const geminiRefusal = (status: number, body: string): VendorFault =>
  geminiFault(objectAt(parseRefusal(body), "error"), status)

/** Whether a refusal is in Google's form, which names a status: Google uses it in all its APIs. */
export const isGoogles = (body: string): boolean =>
  stringAt(objectAt(parseRefusal(body), "error"), "status") !== undefined

/** @param status the status of the reply; a failure inside a stream states its own */
export const geminiFault = (error: JsonObject | undefined, status = numberAt(error, "code") ?? 502): VendorFault => {
  const details = objectsAt(error, "details")
  return faultBy(table, {
    status,
    codes: [
      stringAt(error, "status")?.toLowerCase(),
      stringAt(detailOf(details, "ErrorInfo"), "reason")?.toLowerCase(),
      ...(isUsedUp(details) ? ["quota_used_up"] : []),
    ],
    text: stringAt(error, "message"),
    field: stringAt(objectsAt(detailOf(details, "BadRequest"), "fieldViolations")[0], "field"),
    fields: unknownIn(stringAt(error, "message") ?? ""),
    retryAfterMs: millisOf(stringAt(detailOf(details, "RetryInfo"), "retryDelay")),
  })
}

/** A name that Google does not know, at its position: `Unknown name "a" at 'generation_config': Cannot find field.` */
const unknownIn = (text: string): ReadonlyArray<string> => {
  const [, name, place] = /Unknown name "(\w{1,64})"(?: at '([\w.[\]]{1,128})')?/.exec(text) ?? []
  return name === undefined ? [] : [place === undefined ? name : `${place}.${name}`]
}

/**
 * The reason why a reply is empty: a filter blocked its prompt, or the generated content.
 * @see https://ai.google.dev/gemini-api/docs/safety-settings
 */
export const geminiFilter = (body: JsonObject): VendorFault | undefined => {
  const reasons = objectsAt(body, "candidates").map((candidate) => stringAt(candidate, "finishReason") ?? "")
  const isFiltered =
    stringAt(objectAt(body, "promptFeedback"), "blockReason") !== undefined ||
    reasons.some((reason) => filterReasons.has(reason)) ||
    // Imagen: https://ai.google.dev/gemini-api/docs/imagen
    objectsAt(body, "predictions").some((one) => stringAt(one, "raiFilteredReason") !== undefined)
  return isFiltered ? filteredReply : undefined
}

const filterReasons: ReadonlySet<string> = new Set([
  "SAFETY",
  "RECITATION",
  "BLOCKLIST",
  "PROHIBITED_CONTENT",
  "SPII",
  "IMAGE_SAFETY",
  "IMAGE_PROHIBITED_CONTENT",
  "IMAGE_RECITATION",
  "MODEL_ARMOR",
])

const detailOf = (details: ReadonlyArray<JsonObject>, name: string): JsonObject | undefined =>
  details.find((detail) => stringAt(detail, "@type") === `type.googleapis.com/google.rpc.${name}`)

/** A quota of a day reports the same short wait as one of a minute. */
const isUsedUp = (details: ReadonlyArray<JsonObject>): boolean =>
  objectsAt(detailOf(details, "QuotaFailure"), "violations").some((violation) =>
    /PerDay/.test(stringAt(violation, "quotaId") ?? ""),
  )

/** A duration of Protocol Buffers in JSON, such as `34.074824224s`. */
const millisOf = (duration: string | undefined): number | undefined => {
  const [, seconds] = /^(\d{1,9}(?:\.\d{1,9})?)s$/.exec(duration ?? "") ?? []
  return seconds === undefined ? undefined : Math.ceil(Number(seconds) * 1000)
}
