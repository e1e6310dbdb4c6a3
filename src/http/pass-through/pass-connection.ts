/** The client's connection of a route that is passed through: replies as the vendor sent them, errors in its API's form. */
import type { ServerResponse } from "node:http"
import { Option, Schema } from "effect"
import type { ErrorWords } from "../../dialects/client/whole-client.ts"
import { PlainText } from "../../dialects/openai-chat/media-client.ts"
import { PassedReply } from "../../kinds/passed/passed-request.ts"
import { lineTypes, typeOf } from "../../kinds/passed/reply-form.ts"
import { type ServiceError, serviceError } from "../../protocol/error.ts"
import { ApiConnection } from "../compatible/api-connection.ts"
import { foreignHeaders } from "../foreign-bytes.ts"
import { SoundStream } from "../sound-stream.ts"

const readKept = Schema.decodeUnknownOption(Schema.fromJsonString(PassedReply))

/** Types of text that browsers show as text. */
const texts: ReadonlySet<string> = new Set([
  "application/json",
  "text/event-stream",
  "text/plain",
  "text/csv",
  ...lineTypes,
])

/** The headers of a reply with a vendor's bytes, which are on the gateway's own origin. */
const headersOf = (contentType: string): Readonly<Record<string, string>> =>
  texts.has(typeOf(contentType)) ? { "content-type": contentType } : foreignHeaders(contentType, "reply")

/** The vendor's bytes, of the type that its reply names. */
class PassedBytes extends SoundStream {
  sent: Readonly<Record<string, string>> = {}

  override sound(bytes: Uint8Array, mime: string): Uint8Array {
    this.sent = headersOf(mime)
    return super.sound(bytes, this.sent["content-type"] ?? "")
  }
}

export class PassConnection extends ApiConnection<PassedReply> {
  readonly #bytes: PassedBytes

  constructor(response: ServerResponse, requestId: string, errors: ErrorWords) {
    const bytes = new PassedBytes()
    const words = {
      errors,
      readKept: (text: string) => Option.getOrUndefined(readKept(text)),
      reply: ({ status, contentType, body }: PassedReply) =>
        new PlainText(body, headersOf(contentType || "application/json")["content-type"] ?? "", status),
      named: asRefused,
    }
    super(response, requestId, words, bytes)
    this.#bytes = bytes
  }

  /** The vendor's bytes are on the gateway's own origin. */
  protected override headers(): Readonly<Record<string, string>> {
    return { ...super.headers(), ...this.#bytes.sent }
  }
}

/** The vendor's refusal with the status that its own clients know; its text stays here. */
const asRefused = (error: ServiceError): ServiceError => {
  const { code, detail } = error
  const status = detail?.["upstreamStatus"]
  if (code !== "upstream_error" || typeof status !== "number" || status < 400 || status > 499) return error
  if (status === 404 || status === 410) return serviceError("not_found", "The vendor knows no such object", { detail })
  if (status === 401 || status === 402 || status === 429 || status === 408) return error
  return serviceError("bad_request", error.message, { detail })
}
