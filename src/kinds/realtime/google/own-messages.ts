/**
 * Messages of the gateway itself to the client of a session with Google's Live API. The API has no message for an error: a
 * socket closes with a code and a reason, and a turn that may not go on is complete.
 */
import type { ClosingCode } from "../../../protocol/closing-code.ts"
import { type ErrorCode, errorStatus, type ServiceError, shuttingDown } from "../../../protocol/error.ts"
import { fieldOf } from "../../../protocol/json/issues.ts"
import type { Closing, OwnMessages, OwnMessagesOf } from "../protocol.ts"

/** Texts of a denied request, and of a denied reply. Source: `TurnCompleteReason` of Google's SDKs. */
export const deniedInput = "PROHIBITED_INPUT_CONTENT"
export const deniedReply = "RESPONSE_REJECTED"

export class LiveOwnMessages implements OwnMessages {
  readonly #session: OwnMessagesOf
  readonly #drainMs: number

  /** @param drainMs the time in which running responses may end when the gateway stops */
  constructor(session: OwnMessagesOf, drainMs: number) {
    this.#session = session
    this.#drainMs = drainMs
  }

  refused(error: ServiceError): void {
    this.#end(error)
  }

  denied(): void {
    this.#send({ serverContent: { turnComplete: true, turnCompleteReason: deniedInput } })
  }

  /** A client that got `goAway` knows that it must reconnect: the turn that runs ends first. */
  later(error: ServiceError): void {
    if (!isDraining(error)) this.#end(error)
  }

  /** The turn that is denied is ended by the review of the vendor's messages. */
  replyDenied(): void {}

  draining(): void {
    this.leaving(this.#drainMs)
  }

  leaving(leftMs: number): void {
    this.#send({ goAway: { timeLeft: `${Math.ceil(leftMs / 1000)}s` } })
  }

  ending(code: ClosingCode, error: ServiceError | undefined): Closing {
    return error === undefined ? { code } : liveClosing(error)
  }

  #end(error: ServiceError): void {
    this.#session.end({ reason: "client_disconnected", code: liveClosing(error).code, error })
  }

  #send(message: object): void {
    this.#session.client.send(JSON.stringify(message))
  }
}

/** The close of a socket after an error, with the codes that Google's own sockets have. */
export const liveClosing = (error: ServiceError): Closing & { readonly reason: string } => {
  const field = fieldOf(error)
  const text = field === undefined || error.message.includes(field) ? error.message : `${field}: ${error.message}`
  return { code: isDraining(error) ? 1012 : codeOf(error.code), reason: shortened(text) }
}

const isDraining = ({ message }: ServiceError): boolean => message === shuttingDown().message

/** 1007: the message is invalid. 1008: the caller may not. 1011: it may later. */
const codeOf = (code: ErrorCode): ClosingCode => {
  const status = errorStatus[code]
  if (status === 400 || status === 413) return 1007
  return status < 500 && status !== 429 ? 1008 : 1011
}

/** The longest reason of RFC 6455, section 5.5. */
const mostReasonBytes = 123

const shortened = (text: string): string => {
  let reason = text
  while (Buffer.byteLength(reason) > mostReasonBytes) reason = reason.slice(0, -1)
  return reason
}
