/** The client's connection of an exchange on a compatible route, with the API's rules for tools. */
import type { ServerResponse } from "node:http"
import { Option, Schema } from "effect"
import type { CarryingNotes, StreamPart } from "../../calls/connection.ts"
import type { ClientApi, ReplyContext } from "../../dialects/client/client-api.ts"
import { PlainText } from "../../dialects/openai-chat/media-client.ts"
import { ChatReply } from "../../kinds/chat/chat-reply.ts"
import type { ServiceError } from "../../protocol/error.ts"
import { warningHeader } from "../warning-header.ts"
import { ApiConnection } from "./api-connection.ts"
import { namingField } from "./request.ts"

const readResponse = Schema.decodeUnknownOption(Schema.fromJsonString(ChatReply))

export class CompatibleConnection extends ApiConnection<ChatReply> {
  readonly #api: ClientApi
  readonly #headers: Readonly<Record<string, string | undefined>>
  readonly #features: ReadonlyArray<string> | undefined
  #omittedTools: ReadonlyArray<string> = []
  /** Undefined if the request is translated. */
  #carried: CarryingNotes | undefined

  /** @param headers of the request */
  constructor(
    response: ServerResponse,
    api: ClientApi,
    context: ReplyContext,
    headers: Readonly<Record<string, string | undefined>> = {},
  ) {
    const words = {
      errors: api,
      readKept: (text: string) => Option.getOrUndefined(readResponse(text)),
      reply: (reply: ChatReply) => {
        // A reply that is given again has the names of the first one.
        const { keptAs, requestId } = reply
        const kept = context.kept && keptAs !== undefined ? { ...context.kept, id: keptAs } : context.kept
        const named = { ...context, requestId, kept }
        return reply.carried === undefined || api.carried === undefined
          ? api.whole(named, reply)
          : new PlainText(api.carried.whole(named, reply.carried), "application/json")
      },
    }
    super(response, context.requestId, words, api.events(context))
    this.#api = api
    this.#headers = headers
    this.#features = context.features
  }

  protected override contentType(): string {
    return this.#api.framing?.contentType ?? super.contentType()
  }

  override write(events: StreamPart): boolean {
    const { framing } = this.#api
    return super.write(framing === undefined || typeof events !== "string" ? events : framing.frames(events))
  }

  omittingTools(types: ReadonlyArray<string>): void {
    this.#omittedTools = types
  }

  carrying(notes: CarryingNotes | undefined): void {
    this.#carried = notes
  }

  protected override sendError(error: ServiceError): void {
    super.sendError(namingField(this.#api, error))
  }

  protected override notices(): ReadonlyArray<string> {
    return [
      ...warningHeader("tools_omitted", this.#omittedTools),
      ...warningHeader("fields_carried", this.#carried?.newFields ?? []),
      ...warningHeader(
        "betas_omitted",
        this.#api.omittedFeatures?.(this.#headers, this.#carried !== undefined, this.#features) ?? [],
      ),
      ...super.notices(),
    ]
  }
}
