/** The client's connection of a compatible route: every reply in the words of its API. */
import type { ServerResponse } from "node:http"
import { Option, Schema } from "effect"
import type { WholeReply } from "../../calls/reply.ts"
import { retryAfterMs } from "../../calls/reply-body.ts"
import type { ClientApi, ClientRequest, ReplyContext } from "../../dialects/client-api.ts"
import { isObject } from "../../dialects/json.ts"
import {
  type ErrorBody,
  ErrorEnvelope,
  errorBody,
  errorStatus,
  type ServiceError,
  serviceError,
} from "../../protocol/error.ts"
import { ExchangeResponse } from "../../protocol/exchange.ts"
import { NodeConnection } from "../node-connection.ts"

const readResponse = Schema.decodeUnknownOption(Schema.fromJsonString(ExchangeResponse))
const readEnvelope = Schema.decodeUnknownOption(Schema.fromJsonString(ErrorEnvelope))

export class CompatibleConnection extends NodeConnection<ExchangeResponse> {
  readonly #api: ClientApi
  readonly #context: ReplyContext
  readonly #sent: ClientRequest | undefined
  #isSearching = false

  /** @param sent undefined if the request could not be read */
  constructor(response: ServerResponse, api: ClientApi, context: ReplyContext, sent?: ClientRequest) {
    super(response, context.requestId, api.events(context))
    this.#api = api
    this.#context = context
    this.#sent = sent
  }

  searching(isSearching: boolean): void {
    this.#isSearching = isSearching
  }

  protected override headers(): Readonly<Record<string, string>> {
    return { ...super.headers(), [this.#api.requestIdHeader]: this.#context.requestId }
  }

  protected override notices(): ReadonlyArray<string> {
    const { search, omittedTools = [] } = this.#sent ?? {}
    const omitted = search === undefined || this.#isSearching ? omittedTools : [...omittedTools, search.type]
    if (omitted.length === 0) return super.notices()
    return [`tools_omitted=${omitted.map(encodeURIComponent).join(",")}`, ...super.notices()]
  }

  /** A whole reply of twp/1; one that is replayed is read from its text. Streams are not kept. */
  override send(reply: WholeReply<ExchangeResponse>): void {
    const { status, headers, body } = reply
    const response = typeof body === "string" ? keptResponse(status, body) : body
    if (status === 202) this.refuse(inProgress)
    else if (response === undefined) this.#sendWithheld(reply)
    else super.send({ status, headers, body: JSON.stringify(this.#api.whole(this.#context, response)) })
  }

  protected override sendError(error: ServiceError): void {
    super.send(errorReply(this.#api, error, this.#context.requestId))
  }

  /** A reply that was withheld: it has its price in its headers. */
  #sendWithheld({ status, headers, body }: WholeReply<ExchangeResponse>): void {
    const envelope = Option.getOrUndefined(readEnvelope(body))
    const error: ErrorBody = envelope?.error ?? errorBody(unreadable, this.#context.requestId)
    super.send({
      status,
      headers: { ...headers, "x-should-retry": "false" },
      body: JSON.stringify(this.#api.error(error, status)),
    })
  }
}

const keptResponse = (status: number, text: string) =>
  status === 200 ? Option.getOrUndefined(readResponse(text)) : undefined

const inProgress = serviceError("idempotency_conflict", "The first call with this Idempotency-Key is still running", {
  retryAfterMs,
})

const unreadable = serviceError("internal_error", "The service could not complete the request")

/** An error reply, with what SDKs read to decide on a retry. */
export const errorReply = (
  api: ClientApi,
  error: ServiceError,
  requestId: string,
): WholeReply<never> & { readonly body: string } => {
  const status = errorStatus[error.code]
  return {
    status,
    headers: { "content-type": "application/json", ...retryHeaders(error, status) },
    body: JSON.stringify(api.error(errorBody(error, requestId), status, fieldOf(error))),
  }
}

/** SDKs wait no longer than this, and try sooner if they are asked to: in vain. */
const longestWaitMs = 60_000

/** SDKs retry 408, 409, 429 and 5xx by themselves. */
const retryHeaders = ({ code, retryAfterMs }: ServiceError, status: number): Readonly<Record<string, string>> => {
  if (retryAfterMs !== undefined) {
    const ms = Math.ceil(retryAfterMs)
    const later = { "retry-after": String(Math.ceil(ms / 1000)), "retry-after-ms": String(ms) }
    return ms > longestWaitMs ? { ...later, "x-should-retry": "false" } : later
  }
  const mayHelp = status >= 500 ? code !== "pricing_guard_tripped" : status === 429 && code === "rate_limited"
  return mayHelp ? {} : { "x-should-retry": "false" }
}

/** The field that an error is about. */
const fieldOf = ({ detail }: ServiceError): string | undefined => {
  const issues = detail?.["issues"]
  const [first] = Array.isArray(issues) ? issues : []
  return isObject(first) && typeof first["path"] === "string" && first["path"] !== "" ? first["path"] : undefined
}
