/**
 * Anthropic's messages towards clients of Amazon Bedrock: the same bodies, in Bedrock's frames and with its errors.
 * Sources: AWS, "InvokeModel", "InvokeModelWithResponseStream"; Anthropic, "Claude on Amazon Bedrock".
 */
import type { ErrorBody } from "../../protocol/error.ts"
import { betasCarried, messagesApi } from "../anthropic/client.ts"
import type { ClientApi } from "../client/client-api.ts"
import type { ErrorWords } from "../client/whole-client.ts"
import { isObject, type JsonObject, parseObject } from "../parse/json.ts"
import { writeFrame } from "./event-stream.ts"

/** The names of errors by their status. Source: AWS, "InvokeModel", errors. */
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

/** The data of events of a text stream. Comments, which bridge silence, have none. */
const dataOf = (text: string): ReadonlyArray<string> =>
  text.split(/\r?\n\r?\n/).flatMap((event) => {
    const lines = event.split(/\r?\n/).flatMap((line) => (line.startsWith("data:") ? [line.slice(5).trimStart()] : []))
    return lines.length === 0 ? [] : [lines.join("\n")]
  })

const frameOf = (data: string): Uint8Array => {
  const error = data.includes('"error"') ? parseObject(data) : undefined
  if (error?.["type"] !== "error") {
    return writeFrame("event", "chunk", JSON.stringify({ bytes: Buffer.from(data).toString("base64") }))
  }
  const { message } = isObject(error["error"]) ? error["error"] : {}
  return writeFrame("exception", "modelStreamErrorException", JSON.stringify({ message: message ?? "" }))
}

const betasIn = ({ anthropic_beta: names }: JsonObject): ReadonlyArray<string> =>
  Array.isArray(names) ? names.filter((name) => typeof name === "string") : []

export const invokeApi: ClientApi = {
  ...messagesApi,
  ...bedrockErrors,
  name: "Anthropic messages at Bedrock",
  ...(messagesApi.carried !== undefined && {
    carried: {
      ...messagesApi.carried,
      betas: (headers, body) =>
        betasCarried([...betasIn(body), ...(messagesApi.carried?.betas?.(headers, body) ?? [])]),
    },
  }),
  fields: messagesApi.fields,
  decode: ({ anthropic_beta: _, ...body }, place) => messagesApi.decode(body, place),
  framing: {
    contentType: "application/vnd.amazon.eventstream",
    frames: (text) => Buffer.concat(dataOf(text).map(frameOf)),
  },
}
