/** Errors of Amazon Bedrock towards clients. Source: AWS, "InvokeModel" and "Converse", errors. */
import type { ErrorBody } from "../../protocol/error.ts"
import type { ErrorWords } from "../client/whole-client.ts"

/** The names of errors by their status. */
const typesOfErrors: Readonly<Record<number, string>> = {
  400: "ValidationException",
  401: "AccessDeniedException",
  402: "ServiceQuotaExceededException",
  403: "AccessDeniedException",
  404: "ResourceNotFoundException",
  408: "ModelTimeoutException",
  409: "ConflictException",
  413: "ValidationException",
  429: "ThrottlingException",
  502: "ModelErrorException",
  503: "ServiceUnavailableException",
  504: "ModelTimeoutException",
}

/** Errors that AWS's clients know by their own names: they set their clock, or ask for credentials again. */
const typesOfCodes: Readonly<Record<string, string>> = {
  signature_invalid: "InvalidSignatureException",
  app_key_invalid: "UnrecognizedClientException",
}

const typeOfError = (status: number, code: string): string =>
  typesOfCodes[code] ?? typesOfErrors[status] ?? "InternalServerException"

export const bedrockErrors: ErrorWords = {
  error: ({ code, message, requestId, detail }: ErrorBody) => ({
    message,
    code,
    request_id: requestId,
    ...(detail !== undefined && { detail }),
  }),
  headers: (status, code) => ({ "x-amzn-errortype": typeOfError(status, code) }),
  requestIdHeader: "x-amzn-requestid",
}
