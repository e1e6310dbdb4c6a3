/** The fault of a refusal, by the words of each dialect. Bodies are as vendors document them. */
import { describe, expect, it } from "vitest"
import { vertexClaude } from "../../../src/dialects/anthropic/clouds.ts"
import { dialects } from "../../../src/dialects/index.ts"
import { openaiFault } from "../../../src/dialects/openai-chat/faults.ts"
import { searchRefusal } from "../../../src/dialects/search/dialect.ts"
import { machineCode, type VendorFault } from "../../../src/dialects/vendor/faults.ts"

type Case = [what: string, status: number, body: string | object, blame: VendorFault["blame"], code?: string]

const textOf = (body: string | object): string => (typeof body === "string" ? body : JSON.stringify(body))

const judges = (decodeError: (status: number, body: string) => VendorFault, cases: ReadonlyArray<Case>) =>
  it.each<Case>([...cases])("%s (%i)", (_what, status, body, blame, code) => {
    const fault = decodeError(status, textOf(body))
    expect(fault).toMatchObject({ status, blame, ...(code !== undefined && { code }) })
  })

const openai = (code: string | null, message = "", type = "invalid_request_error") => ({
  error: { code, message, type },
})

/** A refusal in the form of each of Google's APIs. */
const googles = (message: string) => ({ error: { code: 400, message, status: "INVALID_ARGUMENT" } })

describe("every dialect, by the status alone", () => {
  it.each(Object.entries(dialects))("%s", (_name, { decodeError }) => {
    const blames = [400, 401, 402, 403, 404, 410, 413, 415, 422, 425, 429, 500, 503, 529, 302].map(
      (status) => decodeError(status, "<html>").blame,
    )
    const request = "request"
    expect(blames).toEqual([
      ...[request, "credential", "credit", "permission", "model", "model", request, request, request],
      ...["moment", "moment", "moment", "moment", "moment", "address"],
    ])
  })
})

describe("OpenAI's API", () => {
  judges(dialects["openai-chat"].decodeError, [
    ["a wrong key", 401, openai("invalid_api_key"), "credential", "invalid_api_key"],
    ["no credit", 429, openai("insufficient_quota", "", "insufficient_quota"), "credit", "insufficient_quota"],
    ["no credit, by the type alone", 429, openai(null, "", "insufficient_quota"), "credit", "insufficient_quota"],
    ["a limit of money", 400, openai("billing_hard_limit_reached"), "credit"],
    ["an account that is not active", 429, openai("billing_not_active"), "credit"],
    ["no such model", 404, openai("model_not_found"), "model"],
    ["a region", 403, openai("unsupported_country_region_territory"), "region"],
    ["too many requests", 429, openai("rate_limit_exceeded", "", "tokens"), "moment"],
    ["a field", 400, openai("unknown_parameter"), "request"],
    ["a picture's filter", 400, openai("moderation_blocked", "", "image_generation_user_error"), "filter"],
    ["an older picture's filter", 400, openai("content_policy_violation"), "filter"],
    ["a prompt that was flagged", 400, openai("invalid_prompt"), "filter"],
    [
      "Azure's filter",
      400,
      { error: { code: "content_filter", innererror: { code: "ResponsibleAIPolicyViolation" } } },
      "filter",
    ],
    ["Azure's deployment", 404, openai("DeploymentNotFound"), "model"],
    ["Groq's retired model", 400, openai("model_decommissioned"), "model"],
    ["Groq's tokens of one request", 413, openai("rate_limit_exceeded", "", "tokens"), "request"],
    ["Mistral's model", 400, { object: "error", type: "invalid_model", code: "1500", message: "x" }, "model", "1500"],
    ["DeepSeek's credit", 402, openai("invalid_request_error", "Insufficient Balance"), "credit"],
    ["DeepSeek's filter", 400, openai("invalid_request_error", "Content Exists Risk"), "filter"],
    ["Moonshot's credit", 429, openai(null, "", "exceeded_current_quota_error"), "credit"],
    ["Moonshot's load", 429, openai(null, "", "engine_overloaded_error"), "moment"],
    ["Alibaba's debt", 400, openai("Arrearage"), "credit"],
    ["Alibaba's filter", 400, openai("data_inspection_failed"), "filter"],
    ["Zhipu's credit", 429, { error: { code: "1113", message: "x" } }, "credit"],
    ["Zhipu's filter", 400, { error: { code: "1301", message: "x" } }, "filter"],
    [
      "xAI's filter",
      403,
      {
        code: "The caller does not have permission",
        error: "Content violates usage guidelines. Failed check: SAFETY_CHECK_TYPE_BIO",
      },
      "filter",
      "unknown",
    ],
    ["Google's key, in a list", 400, [googles("API key not valid. Please pass a valid API key.")], "credential"],
    ["Google's key", 400, googles("API key not valid. Please pass a valid API key."), "credential"],
    ["Google's field, in a list", 400, [googles('Unknown name "thinking": Cannot find field.')], "request"],
    ["xAI's access", 403, { code: "permission-denied", error: "Access to the chat endpoint is denied" }, "permission"],
    [
      "xAI's key",
      400,
      { code: "Client specified an invalid argument", error: "Incorrect API key provided: xa***" },
      "credential",
    ],
    [
      "OpenRouter's moderation",
      403,
      { error: { code: 403, message: "flagged", metadata: { reasons: ["violence"] } } },
      "filter",
    ],
    [
      "OpenRouter's parameters",
      404,
      { error: { code: 404, message: "No endpoints found that support tool use" } },
      "request",
    ],
    [
      "vLLM's model",
      404,
      { object: "error", message: "The model `x` does not exist.", type: "NotFoundError", code: 404 },
      "model",
    ],
  ])
})

describe("a failure inside a stream of OpenAI's APIs", () => {
  it.each<[object, number, VendorFault["blame"]]>([
    [{ code: "rate_limit_exceeded", message: "x" }, 429, "moment"],
    [{ code: "server_error", message: "x" }, 500, "moment"],
    [{ code: "failed_to_download_image", message: "x" }, 400, "request"],
    [{ code: "invalid_image_url", message: "x" }, 400, "request"],
    [{ code: "context_length_exceeded", message: "x" }, 400, "request"],
    [{ code: "image_content_policy_violation", message: "x" }, 400, "filter"],
    [{ code: 429, message: "x" }, 429, "moment"],
    [{ code: "400", type: "None", message: "x" }, 400, "request"],
    [{ code: "401", type: "auth_error", message: "x" }, 401, "credential"],
    [{ code: "1113", message: "x" }, 502, "credit"],
    [{ code: "something_new", message: "x" }, 502, "moment"],
  ])("%j", (error, status, blame) => {
    expect(openaiFault({ ...error })).toMatchObject({ status, blame })
  })
})

describe("Anthropic's API", () => {
  const anthropic = (type: string, message = "") => ({ type: "error", error: { type, message } })
  judges(dialects.anthropic.decodeError, [
    ["a wrong key", 401, anthropic("authentication_error"), "credential", "authentication_error"],
    ["no credit", 402, anthropic("billing_error"), "credit"],
    [
      "no credit, as an invalid request",
      400,
      anthropic("invalid_request_error", "Your credit balance is too low to access the Anthropic API."),
      "credit",
    ],
    [
      "a limit of money",
      400,
      anthropic("invalid_request_error", "You have reached your specified API usage limits."),
      "credit",
    ],
    [
      "an organisation that was closed",
      400,
      anthropic("invalid_request_error", "This organization has been disabled."),
      "credential",
    ],
    ["a filter", 400, anthropic("invalid_request_error", "Output blocked by content filtering policy"), "filter"],
    ["no such model", 404, anthropic("not_found_error"), "model"],
    ["overload", 529, anthropic("overloaded_error"), "moment"],
    ["a field", 400, anthropic("invalid_request_error", "max_tokens: Field required"), "request"],
  ])
})

describe("Gemini's API", () => {
  const google = (status: string, message = "", ...details: ReadonlyArray<object>) => ({
    error: { status, message, details },
  })
  const info = (reason: string) => ({ "@type": "type.googleapis.com/google.rpc.ErrorInfo", reason })
  judges(dialects.gemini.decodeError, [
    [
      "a wrong key, as an invalid argument",
      400,
      google("INVALID_ARGUMENT", "API key not valid.", info("API_KEY_INVALID")),
      "credential",
      "invalid_argument",
    ],
    ["an API that is not on", 403, google("PERMISSION_DENIED", "", info("SERVICE_DISABLED")), "permission"],
    ["a region", 400, google("FAILED_PRECONDITION", "User location is not supported for the API use."), "region"],
    ["billing", 400, google("FAILED_PRECONDITION", "Please enable billing on your project"), "credit"],
    [
      "the file of a client",
      403,
      google("PERMISSION_DENIED", "You do not have permission to access the File x or it may not exist."),
      "request",
    ],
    [
      "a client's file in a bucket",
      403,
      google("PERMISSION_DENIED", "x@y does not have storage.objects.get access"),
      "request",
    ],
    ["no such model", 404, google("NOT_FOUND"), "model"],
    ["a field", 400, google("INVALID_ARGUMENT", "Unknown name"), "request"],
  ])

  const retry = { "@type": "type.googleapis.com/google.rpc.RetryInfo", retryDelay: "34.074824224s" }
  const quota = (quotaId: string) => ({
    "@type": "type.googleapis.com/google.rpc.QuotaFailure",
    violations: [{ quotaId }],
  })
  it("tells its wait in a body, which is not believed of a quota of a day", () => {
    const judge = (...details: ReadonlyArray<object>) =>
      dialects.gemini.decodeError(429, textOf(google("RESOURCE_EXHAUSTED", "", ...details)))
    expect(judge(retry)).toEqual({ status: 429, code: "resource_exhausted", blame: "moment", retryAfterMs: 34_075 })
    expect(judge(quota("GenerateRequestsPerMinutePerProject"), retry).blame).toBe("moment")
    expect(judge(quota("GenerateRequestsPerDayPerProjectPerModel-FreeTier"), retry).blame).toBe("credit")
    expect(judge({ ...retry, retryDelay: "soon" }).retryAfterMs).toBeUndefined()
  })
})

describe("Claude on Vertex AI", () => {
  const place = { project: "p", location: "global" }
  const google = {
    error: {
      status: "PERMISSION_DENIED",
      details: [{ "@type": "type.googleapis.com/google.rpc.ErrorInfo", reason: "BILLING_DISABLED" }],
    },
  }
  judges(vertexClaude(place).decodeError, [
    ["Google's refusal", 403, google, "credit", "permission_denied"],
    [
      "Anthropic's refusal",
      400,
      { error: { type: "invalid_request_error", message: "Output blocked by content filtering policy" } },
      "filter",
    ],
  ])
})

describe("Bedrock's API", () => {
  const aws = (type: string, message = "") => ({ __type: `com.amazon.coral.service#${type}`, message })
  judges(dialects.bedrock.decodeError, [
    ["no access", 403, aws("AccessDeniedException"), "permission", "AccessDeniedException"],
    ["keys that have expired", 403, aws("ExpiredTokenException"), "credential"],
    ["no such model", 404, aws("ResourceNotFoundException"), "model"],
    ["a model's name", 400, aws("ValidationException", "The provided model identifier is invalid."), "model"],
    [
      "a model without a profile",
      400,
      aws("ValidationException", "Invocation of model ID x with on-demand throughput isn\u2019t supported."),
      "model",
    ],
    [
      "a day's tokens",
      429,
      aws("ThrottlingException", "Too many tokens per day, please wait before trying again."),
      "credit",
    ],
    [
      "a minute's tokens",
      429,
      aws("ThrottlingException", "Too many tokens, please wait before trying again."),
      "moment",
    ],
    ["a filter", 400, aws("ValidationException", "This request has been blocked by our content filters."), "filter"],
    ["a field", 400, aws("ValidationException", "x is required"), "request"],
  ])

  it("tells its wait in a body", () => {
    const body = textOf({ ...aws("ThrottlingException"), retryAfterSeconds: 3 })
    expect(dialects.bedrock.decodeError(429, body)).toMatchObject({ blame: "moment", retryAfterMs: 3000 })
  })
})

describe("other APIs", () => {
  judges(dialects.cohere.decodeError, [
    ["a filter", 498, { message: "blocked" }, "filter"],
    [
      "a trial key",
      429,
      { message: "You are using a Trial key, which is limited to 1000 API calls / month." },
      "credit",
    ],
  ])
  judges(dialects.elevenlabs.decodeError, [
    ["no credit", 401, { detail: { status: "quota_exceeded" } }, "credit"],
    ["a voice", 404, { detail: { status: "voice_not_found" } }, "request"],
  ])
  judges(searchRefusal, [
    ["Tavily's plan", 432, { detail: { error: "x" } }, "credit"],
    ["Brave's key", 422, { error: { code: "SUBSCRIPTION_TOKEN_INVALID" } }, "credential"],
    ["Serper's credits", 400, { message: "Not enough credits" }, "credit"],
  ])
})

describe("a reply of status 200 that a filter has emptied", () => {
  const { image, video, speech } = dialects.gemini
  it.each<[string, object, VendorFault["blame"] | undefined]>([
    ["a picture", { candidates: [{ finishReason: "IMAGE_SAFETY" }] }, "filter"],
    ["a prompt", { promptFeedback: { blockReason: "SAFETY" } }, "filter"],
    ["Imagen's picture", { predictions: [{ raiFilteredReason: "x" }] }, "filter"],
    ["no picture for another reason", { candidates: [{ finishReason: "STOP" }] }, undefined],
  ])("is a filter's refusal of %s", (_what, body, blame) => {
    expect(image?.faultIn?.({ ...body })?.blame).toBe(blame)
  })

  it("is one of a video, and of speech", () => {
    const filtered = { done: true, response: { generateVideoResponse: { raiMediaFilteredCount: 1 } } }
    expect(video?.status(filtered)).toMatchObject({ state: "failed", fault: { blame: "filter" } })
    expect(video?.status({ done: true, response: {} })).toMatchObject({ state: "failed", fault: { code: "no_video" } })
    const created = dialects["openai-chat"].video?.faultIn?.({
      status: "failed",
      error: { code: "moderation_blocked" },
    })
    expect(created?.blame).toBe("filter")
    const sound = speech?.reader({ input: "x", voice: "v", format: "wav", needsTokens: false }, "text/event-stream")
    sound?.push(Buffer.from(`data: ${JSON.stringify({ candidates: [{ finishReason: "SAFETY" }] })}\n\n`))
    expect(sound?.fault?.blame).toBe("filter")
  })
})

it("the text of a refusal is read at its beginning only: a vendor may send much", () => {
  const judge = (message: string) => dialects.gemini.decodeError(400, JSON.stringify({ error: { message } })).blame
  expect(judge("API key not valid.")).toBe("credential")
  expect(judge(`${"x".repeat(3000)}API key not valid.`)).toBe("request")
})

describe("a machine code", () => {
  it.each([
    ["invalid_api_key", "invalid_api_key"],
    ["ThrottlingException", "ThrottlingException"],
    ["sk-proj-abc def", "unknown"],
    ["x".repeat(65), "unknown"],
    ["a\nb", "unknown"],
    ["", "unknown"],
    [undefined, "unknown"],
  ])("%s is logged as %s", (code, logged) => {
    expect(machineCode(code)).toBe(logged)
  })
})
