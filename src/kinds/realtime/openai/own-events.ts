/** Events that the gateway itself sends to the client of a session with OpenAI's API. */
import { chatError } from "../../../dialects/openai-chat/client-reply.ts"
import type { ClosingCode } from "../../../protocol/closing-code.ts"
import { errorBody, errorStatus, type ServiceError, shuttingDown } from "../../../protocol/error.ts"
import { fieldOf } from "../../../protocol/json/issues.ts"
import type { Closing, OwnMessages, OwnMessagesOf } from "../protocol.ts"
import type { ClientConnection } from "../sockets.ts"

export class OwnEvents implements OwnMessages {
  readonly #client: ClientConnection
  readonly #requestId: string
  #sent = 0

  constructor({ client, requestId }: OwnMessagesOf) {
    this.#client = client
    this.#requestId = requestId
  }

  refused(error: ServiceError, eventId?: string): void {
    this.#error(error, eventId)
  }

  denied(error: ServiceError, eventId?: string): void {
    this.#error(error, eventId)
  }

  later(error: ServiceError, eventId?: string): void {
    this.#error(error, eventId)
  }

  replyDenied(error: ServiceError): void {
    this.#error(error)
  }

  draining(): void {
    this.#send("session.ending", { retry: true })
    this.#error(shuttingDown(), undefined, { retry: true })
  }

  /** The API has no such event. */
  leaving(): void {}

  ending(code: ClosingCode, error: ServiceError | undefined): Closing {
    if (error !== undefined) this.#error(error)
    return { code, reason: error?.code }
  }

  /** @param eventId the client's event that is at fault */
  #error(error: ServiceError, eventId?: string, more: Readonly<Record<string, unknown>> = {}): void {
    const body = errorBody(error, this.#requestId)
    const { error: told } = chatError(body, errorStatus[error.code], fieldOf(error))
    this.#send("error", { error: { ...told, event_id: eventId ?? null, ...more } })
  }

  #send(type: string, fields: Readonly<Record<string, unknown>>): void {
    const id = `event_${this.#requestId.slice("req_".length)}_${(++this.#sent).toString(36)}`
    this.#client.send(JSON.stringify({ type, event_id: id, ...fields }))
  }
}
