/**
 * Bedrock's refusals, in a reply's status and in an exception within a stream. Source:
 * https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ConverseStream.html#API_runtime_ConverseStream_Errors
 * and https://docs.aws.amazon.com/bedrock/latest/userguide/troubleshooting-api-error-codes.html
 */
import { fieldIn } from "../anthropic/faults.ts"
import type { VendorEvent } from "../chat-dialect.ts"
import { numberAt, parseObject, stringAt } from "../parse/json.ts"
import { type FaultTable, faultBy, type VendorFault } from "../vendor/faults.ts"
import type { VendorAccess } from "../wire.ts"

const table: FaultTable = {
  codes: {
    // https://docs.aws.amazon.com/bedrock/latest/APIReference/CommonErrors.html
    UnrecognizedClientException: "credential",
    InvalidClientTokenId: "credential",
    InvalidSignatureException: "credential",
    SignatureDoesNotMatch: "credential",
    MissingAuthenticationToken: "credential",
    IncompleteSignature: "credential",
    ExpiredTokenException: "credential",
    ExpiredToken: "credential",
    OptInRequired: "permission",
    AccessDeniedException: "permission",
    ResourceNotFoundException: "model",
    ServiceQuotaExceededException: "credit",
    ThrottlingException: "moment",
    ModelNotReadyException: "moment",
  },
  // One exception has many meanings.
  texts: [
    [/invalid `?signature`? in `?thinking`? block/i, "seal"],
    [/tokens per day/i, "credit"],
    [/model identifier is invalid|on-demand throughput isn.t supported|reached the end of its life/i, "model"],
    [/operation not allowed/i, "permission"],
    [/blocked by our content filters?|content filtering policy/i, "filter"],
  ],
}

/** Failures of the model itself come as client errors: 408 ModelTimeoutException, 424 ModelErrorException. */
const modelFailures: Readonly<Record<number, number>> = { 408: 504, 424: 502 }

/** The access with a Bedrock API key. */
export const bedrockAccess: VendorAccess = {
  authorize: (credential) => ({ authorization: `Bearer ${credential}` }),
  decodeError: (status, body) =>
    faultOf(modelFailures[status] ?? status, stringAt(parseObject(body), "__type") ?? `status_${status}`, body),
}

/** The status of an exception within a stream. */
const exceptions: ReadonlyMap<string, number> = new Map([
  ["validationException", 400],
  ["throttlingException", 429],
  ["internalServerException", 500],
  ["modelStreamErrorException", 502],
  ["serviceUnavailableException", 503],
  ["modelTimeoutException", 504],
])

export const bedrockFault = (type: string, body = ""): VendorEvent => ({
  kind: "fault",
  fault: faultOf(exceptions.get(type) ?? 502, type, body),
})

/** Exceptions of AWS that throttle may state a wait, as `retryAfterSeconds`. */
const faultOf = (status: number, type: string, body: string): VendorFault => {
  const json = parseObject(body)
  const text = stringAt(json, "message") ?? stringAt(json, "Message")
  const seconds = numberAt(json, "retryAfterSeconds")
  return faultBy(table, {
    status,
    codes: [type.split("#").at(-1)],
    text,
    // Claude's own refusals.
    field: fieldIn(text),
    retryAfterMs: seconds !== undefined && seconds > 0 ? Math.ceil(seconds * 1000) : undefined,
  })
}
