/** The client's connection of a compatible route: replies and errors in the format of its API. */
import type { ServerResponse } from "node:http"
import { Option, Schema } from "effect"
import type { WholeReply } from "../../calls/connection.ts"
import type { EventEncoder } from "../../dialects/client/client-api.ts"
import { openaiLimits, type RateRoom } from "../../dialects/client/limit-headers.ts"
import type { ErrorWords } from "../../dialects/client/whole-client.ts"
import { PlainText } from "../../dialects/openai-chat/media-client.ts"
import { ErrorEnvelope, type ServiceError } from "../../protocol/error.ts"
import { writeJson } from "../../protocol/json/json-text.ts"
import { NodeConnection } from "../node-connection.ts"
import { warningHeader } from "../warning-header.ts"
import { errorReply, inProgress, withheldReply } from "./error-reply.ts"

const readEnvelope = Schema.decodeUnknownOption(Schema.fromJsonString(ErrorEnvelope))

/** The rate that a call was refused for. */
const roomOfRefusal = ({ code, detail, retryAfterMs }: ServiceError): ReadonlyArray<RateRoom> => {
  const { unit, limit } = detail ?? {}
  const isRate = code === "rate_limited" && retryAfterMs !== undefined && typeof limit === "number"
  return isRate && (unit === "requests" || unit === "tokens")
    ? [{ unit, limit, remaining: 0, resetMs: retryAfterMs }]
    : []
}

export interface ApiWords<Body extends object> {
  readonly errors: ErrorWords
  /** Reads a stored reply. */
  readonly readKept: (text: string) => Body | undefined
  /** Undefined if the request could not be read. */
  readonly reply: ((response: Body) => object) | undefined
  /** Names a field that no target of the model supports, as the client named it. */
  readonly named?: (error: ServiceError) => ServiceError
  /** Fields that are left out, because they change no answer. */
  readonly omitted?: ReadonlyArray<string> | undefined
}

export class ApiConnection<Body extends object> extends NodeConnection<Body> {
  readonly #requestId: string
  readonly #words: ApiWords<Body>

  #rooms: ReadonlyArray<RateRoom> = []

  constructor(response: ServerResponse, requestId: string, words: ApiWords<Body>, events?: EventEncoder) {
    super(response, requestId, events)
    this.#requestId = requestId
    this.#words = words
  }

  protected override headers(): Readonly<Record<string, string>> {
    const { requestIdHeader, limitHeaders = openaiLimits } = this.#words.errors
    const common = { ...super.headers(), [requestIdHeader]: this.#requestId }
    return this.#rooms.length === 0 ? common : { ...common, ...limitHeaders(this.#rooms, Date.now()) }
  }

  rates(rooms: ReadonlyArray<RateRoom>): void {
    this.#rooms = rooms
  }

  override send(reply: WholeReply<Body>): void {
    const { status, headers, body, marked } = reply
    const { reply: write, readKept, errors } = this.#words
    const isGood = status === 200 || status === 202
    const response = typeof body === "string" ? (isGood ? readKept(body) : undefined) : body
    // Only twp/1 has a status for a job that goes on; in other APIs a call without a reply counts as running.
    if (status === 202 && response === undefined) this.refuse(inProgress)
    else if (response !== undefined && write !== undefined) {
      const written = write(response)
      if (written instanceof PlainText) {
        const { status, contentType, text } = written
        super.send({ status, headers: { ...headers, "content-type": contentType }, body: text })
      } else super.send({ status: 200, headers, body: writeJson(written), marked })
    } else {
      const kept = typeof body === "string" ? Option.getOrUndefined(readEnvelope(body)) : undefined
      super.send(withheldReply(errors, { status, headers }, kept, this.#requestId))
    }
  }

  protected override sendError(error: ServiceError): void {
    this.#rooms = [...this.#rooms, ...roomOfRefusal(error)]
    const { errors, named } = this.#words
    super.send(errorReply(errors, named?.(error) ?? error, this.#requestId))
  }

  protected override notices(): ReadonlyArray<string> {
    return [...warningHeader("fields_omitted", this.#words.omitted ?? []), ...super.notices()]
  }
}
