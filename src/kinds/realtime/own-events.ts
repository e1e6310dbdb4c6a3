/** Events that the gateway itself sends to the client of a session, in the vendor's format. */
import { chatError } from "../../dialects/openai-chat/client-reply.ts"
import { errorBody, errorStatus, type ServiceError, shuttingDown } from "../../protocol/error.ts"
import { fieldOf } from "../../protocol/json/issues.ts"
import type { ClientConnection } from "./sockets.ts"

export class OwnEvents {
  readonly #client: ClientConnection
  readonly #requestId: string
  #sent = 0

  constructor(client: ClientConnection, requestId: string) {
    this.#client = client
    this.#requestId = requestId
  }

  /** @param eventId the client's event that is at fault */
  error(error: ServiceError, eventId?: string, more: Readonly<Record<string, unknown>> = {}): void {
    const body = errorBody(error, this.#requestId)
    const { error: told } = chatError(body, errorStatus[error.code], fieldOf(error))
    this.#send("error", { error: { ...told, event_id: eventId ?? null, ...more } })
  }

  /** Reports that the session takes no new responses. */
  draining(): void {
    this.#send("session.ending", { retry: true })
    this.error(shuttingDown(), undefined, { retry: true })
  }

  #send(type: string, fields: Readonly<Record<string, unknown>>): void {
    const id = `event_${this.#requestId.slice("req_".length)}_${(++this.#sent).toString(36)}`
    this.#client.send(JSON.stringify({ type, event_id: id, ...fields }))
  }
}
