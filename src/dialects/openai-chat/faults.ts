/**
 * The refusals of vendors with OpenAI's API. They share its form, not its codes: each adds its own, and none contradicts
 * another. Sources, by vendor, are beside their codes.
 */

import { geminiRefusal, isGoogles } from "../gemini/faults.ts"
import { type JsonObject, numberAt, objectAt, objectsAt, parseRefusal, stringAt } from "../parse/json.ts"
import { type FaultTable, faultBy, type VendorFault } from "../vendor/faults.ts"

const table: FaultTable = {
  codes: {
    // OpenAI: https://platform.openai.com/docs/guides/error-codes
    invalid_api_key: "credential",
    account_deactivated: "credential",
    unsupported_country_region_territory: "region",
    // Reasoning that another account has sealed.
    invalid_encrypted_content: "seal",
    // A prompt that was flagged before a model read it.
    invalid_prompt: "filter",
    moderation_blocked: "filter",
    image_content_policy_violation: "filter",
    // Azure: https://learn.microsoft.com/azure/ai-foundry/openai/concepts/content-filter
    ResponsibleAIPolicyViolation: "filter",
    DeploymentNotFound: "model",
    OperationNotSupported: "model",
    // Groq: https://console.groq.com/docs/errors and https://console.groq.com/docs/deprecations
    model_decommissioned: "model",
    model_terms_required: "permission",
    // Mistral: https://docs.mistral.ai/api
    invalid_model: "model",
    // Moonshot: https://platform.moonshot.ai/docs/api/chat#error-codes
    exceeded_current_quota_error: "credit",
    // Alibaba: https://www.alibabacloud.com/help/en/model-studio/error-code
    Arrearage: "credit",
    "AllocationQuota.FreeTierOnly": "credit",
    data_inspection_failed: "filter",
    DataInspectionFailed: "filter",
    // Zhipu: https://docs.bigmodel.cn/cn/api/api-code
    "1113": "credit",
    "1301": "filter",
    "1304": "credit",
    "1308": "credit",
    "1309": "credit",
    "1310": "credit",
    // Volcengine: https://www.volcengine.com/docs/82379/1299023
    AccountOverdueError: "credit",
    SetLimitExceeded: "credit",
    InputTextSensitiveContentDetected: "filter",
    InputImageSensitiveContentDetected: "filter",
    InputVideoSensitiveContentDetected: "filter",
    OutputTextSensitiveContentDetected: "filter",
    OutputImageSensitiveContentDetected: "filter",
    OutputVideoSensitiveContentDetected: "filter",
    SensitiveContentDetected: "filter",
  },
  texts: [
    // xAI, whose code for a filter is its code for a lack of permission: https://docs.x.ai/docs/guides/errors
    [/violates usage guidelines|SAFETY_CHECK_TYPE/i, "filter"],
    [/incorrect api key provided/i, "credential"],
    [/used all available credits|spending limit/i, "credit"],
    // DeepSeek: https://api-docs.deepseek.com/quick_start/error_codes
    [/content exists risk/i, "filter"],
    // Codes of OpenRouter for requests whose parameters no provider takes:
    // https://openrouter.ai/docs/api/reference/errors-and-debugging
    [/no endpoints found that support/i, "request"],
    // Anthropic's models by OpenAI's API.
    [/credit balance is too low/i, "credit"],
  ],
  // Groq's flex tier has no capacity: https://console.groq.com/docs/errors
  statuses: { 498: "moment" },
}

/** The failure in a reply with an error status. */
export const openaiRefusal = (status: number, body: string): VendorFault =>
  isGoogles(body) ? geminiRefusal(status, body) : faultOf(status, parseRefusal(body))

/** @param json a body, or a frame of a stream: some vendors leave out the object `error` */
export const faultOf = (status: number, json: JsonObject | undefined): VendorFault => {
  const error = objectAt(json, "error") ?? json
  // OpenRouter names what a moderation has flagged.
  const isFlagged = Array.isArray(objectAt(error, "metadata")?.["reasons"])
  return faultBy(table, {
    status,
    codes: [
      ...(isFlagged ? ["content_filter"] : []),
      stringAt(error, "code"),
      stringAt(objectAt(error, "innererror"), "code"),
      stringAt(error, "type"),
    ],
    text: stringAt(error, "message") ?? stringAt(json, "error"),
    field: stringAt(error, "param"),
    fields: [...locationsIn(objectAt(error, "message")), ...locationsIn(json)],
  })
}

/** Paths as FastAPI writes them, and so Mistral and vLLM: https://docs.pydantic.dev/latest/errors/errors/ */
const locationsIn = (json: JsonObject | undefined): ReadonlyArray<string> =>
  objectsAt(json, "detail").flatMap(({ loc }) =>
    Array.isArray(loc) ? [loc.filter((name) => name !== "body").join(".")] : [],
  )

/** A failure inside a stream has no status of HTTP; some vendors put one into `code`, as a number or as its digits. */
export const openaiFault = (error: JsonObject): VendorFault => {
  const code = numberAt(error, "code") ?? numberAt(error, "status_code") ?? numberAt(error, "status")
  const status = code ?? Number(stringAt(error, "code"))
  return faultOf(status >= 400 && status <= 599 ? status : statusOf(error), { error })
}

/** The failure of an event of pictures, sound or a transcript. */
export const eventFault = (event: JsonObject): VendorFault => {
  return openaiFault(objectAt(event, "error") ?? { code: "stream_error", ...event, type: undefined })
}

/**
 * Codes of faults in a request's content, in replies of Responses. Source:
 * https://platform.openai.com/docs/api-reference/responses/object, `error`
 */
const requestCodes = [
  "invalid_request_error",
  "invalid_prompt",
  "context_length_exceeded",
  "invalid_image",
  "invalid_image_format",
  "invalid_base64_image",
  "invalid_image_url",
  "invalid_image_mode",
  "image_too_large",
  "image_too_small",
  "image_parse_error",
  "image_content_policy_violation",
  "image_file_too_large",
  "image_file_not_found",
  "unsupported_image_media_type",
  "empty_image_file",
  "failed_to_download_image",
]

/** Failures that have a code alone. */
const statuses: ReadonlyMap<string, number> = new Map([
  ["rate_limit_exceeded", 429],
  ["insufficient_quota", 429],
  ["server_error", 500],
  ...requestCodes.map((code) => [code, 400] as const),
])

const statusOf = (error: JsonObject): number => {
  const known = [stringAt(error, "code"), stringAt(error, "type")].map((code) => statuses.get(code ?? ""))
  return known.find((status) => status !== undefined) ?? 502
}
