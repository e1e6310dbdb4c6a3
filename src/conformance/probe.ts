/** Tools of the checks: raw calls, because invalid input must be sent unchanged, and assertions on the replies. */
import { Option, Schema } from "effect"
import { credentialHeaders } from "../client/credentials.ts"
import { type ErrorCode, ErrorEnvelope, errorStatus } from "../protocol/error.ts"
import { parseEvents, type StreamedEvent } from "../protocol/parse-events.ts"

export interface Deployment {
  readonly baseUrl: string
  readonly keyId: string
  readonly key: string
  readonly model: string
}

export interface Check {
  readonly name: string
  /** Throws if the check fails; a returned text is shown with the result. */
  readonly run: (probe: Probe) => Promise<unknown>
}

export interface Group {
  /** The section of the contract. */
  readonly section: string
  readonly checks: ReadonlyArray<Check>
}

/** The deployment does not follow the contract, or lacks what the check needs. */
export class CheckFailed extends Error {
  readonly _tag = "CheckFailed"
}
export class CheckSkipped extends Error {
  readonly _tag = "CheckSkipped"
}

export interface Reply {
  readonly status: number
  readonly headers: Headers
  readonly text: string
}

export interface Sending {
  readonly method?: string
  /** JSON unless it is a string. */
  readonly body?: unknown
  /** `undefined` removes a header. */
  readonly headers?: Readonly<Record<string, string | undefined>>
}

export class Probe {
  readonly deployment: Deployment

  constructor(deployment: Deployment) {
    this.deployment = deployment
  }

  /** A call with the key pair. */
  async send(path: string, { method = "POST", body, headers = {} }: Sending = {}): Promise<Reply> {
    const { baseUrl, keyId, key } = this.deployment
    const all = { "content-type": "application/json", "x-svc-key-id": keyId, "x-svc-key": key, ...headers }
    const text = body === undefined ? undefined : typeof body === "string" ? body : JSON.stringify(body)
    const response = await fetch(`${baseUrl.replace(/\/$/, "")}${path}`, {
      method,
      headers: Object.entries(all).filter((header): header is [string, string] => header[1] !== undefined),
      ...(text !== undefined && { body: text }),
      redirect: "manual",
      signal: AbortSignal.timeout(120_000),
    }).catch((cause: unknown) => {
      throw new CheckFailed(`no answer: ${cause instanceof Error ? cause.message : String(cause)}`)
    })
    return { status: response.status, headers: response.headers, text: await response.text() }
  }

  /** The headers of a signed call. */
  signature(path: string, body: string): Promise<Readonly<Record<string, string>>> {
    const { keyId, key } = this.deployment
    const outgoing = { method: "POST", target: path, body: new TextEncoder().encode(body) }
    return credentialHeaders({ keyId, key, sign: true }, outgoing)
  }

  /** A small question, as a request body. */
  ask(more: Readonly<Record<string, unknown>> = {}): Readonly<Record<string, unknown>> {
    const thread = [{ role: "user", blocks: [{ t: "text", v: "Answer with one word: river" }] }]
    return { model: this.deployment.model, thread, params: { maxTokens: 64 }, ...more }
  }
}

export const expectThat = (holds: boolean, message: string): void => {
  if (!holds) throw new CheckFailed(message)
}

/** Decodes a body by its schema; unknown members are ignored. */
export const decode = <S extends Schema.ConstraintDecoder<unknown>>(
  reply: Reply,
  schema: S,
  status = 200,
): S["Type"] => {
  expectThat(reply.status === status, `status ${reply.status} where ${status} was due: ${reply.text.slice(0, 200)}`)
  const decoded = Schema.decodeUnknownOption(Schema.fromJsonString(schema))(reply.text)
  if (Option.isSome(decoded)) return decoded.value
  throw new CheckFailed(`the body does not match its schema: ${reply.text.slice(0, 200)}`)
}

/** Asserts the error envelope with one of these codes, its status, and the request id of the header. */
export const expectError = (reply: Reply, ...codes: ReadonlyArray<ErrorCode>): ErrorEnvelope["error"] => {
  const decoded = Schema.decodeUnknownOption(Schema.fromJsonString(ErrorEnvelope))(reply.text)
  if (Option.isNone(decoded)) {
    throw new CheckFailed(`status ${reply.status} without the error envelope: ${reply.text.slice(0, 200)}`)
  }
  const { error } = decoded.value
  expectThat(codes.includes(error.code), `${error.code} where ${codes.join(" or ")} was due`)
  expectThat(reply.status === errorStatus[error.code], `${error.code} came with status ${reply.status}`)
  const header = reply.headers.get("x-svc-request-id")
  expectThat(header === error.requestId, `x-svc-request-id is ${header}, the envelope says ${error.requestId}`)
  return error
}

/** Decodes the events of a stream, each by its schema. */
export const eventsOf = (reply: Reply): ReadonlyArray<StreamedEvent> => {
  expectThat(reply.status === 200, `status ${reply.status}: ${reply.text.slice(0, 200)}`)
  expectThat((reply.headers.get("content-type") ?? "").startsWith("text/event-stream"), "it is no event stream")
  try {
    return parseEvents(reply.text)
  } catch {
    throw new CheckFailed("an event does not match its schema")
  }
}
