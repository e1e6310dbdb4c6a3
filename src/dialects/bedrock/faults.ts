/**
 * How Bedrock fails, in a reply's status and in an exception that comes in a stream.
 * Source: https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ConverseStream.html#API_runtime_ConverseStream_Errors
 */
import { entryOf } from "../../protocol/words.ts"
import type { VendorEvent } from "../dialect.ts"
import { parseObject, stringAt } from "../json.ts"
import type { VendorAccess } from "../wire.ts"

/** Failures of the model itself come as client errors: 408 ModelTimeoutException, 424 ModelErrorException. */
const modelFailures: Readonly<Record<number, number>> = { 408: 504, 424: 502 }

/** With a Bedrock API key. */
export const bedrockAccess: VendorAccess = {
  authorize: (credential) => ({ authorization: `Bearer ${credential}` }),
  decodeError: (status, body) => {
    const type = stringAt(parseObject(body), "__type")
    return { status: modelFailures[status] ?? status, code: type?.split("#").at(-1) ?? `status_${status}` }
  },
}

/** The status of an exception that comes in a stream. */
const exceptions: Readonly<Record<string, number>> = {
  validationException: 400,
  throttlingException: 429,
  internalServerException: 500,
  modelStreamErrorException: 502,
  serviceUnavailableException: 503,
  modelTimeoutException: 504,
}

export const bedrockFault = (type: string): VendorEvent => ({
  kind: "fault",
  fault: { status: entryOf(exceptions, type) ?? 502, code: type === "" ? "unknown" : type },
})
