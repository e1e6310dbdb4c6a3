/** The client's connection of an exchange on a compatible route, with what its API says of tools. */
import type { ServerResponse } from "node:http"
import { Option, Schema } from "effect"
import type { ClientApi, ClientRequest, ReplyContext } from "../../dialects/client-api.ts"
import { ExchangeResponse } from "../../protocol/exchange.ts"
import { ApiConnection } from "./api-connection.ts"

const readResponse = Schema.decodeUnknownOption(Schema.fromJsonString(ExchangeResponse))

export class CompatibleConnection extends ApiConnection<ExchangeResponse> {
  readonly #sent: ClientRequest | undefined
  #isSearching = false

  /** @param sent undefined if the request could not be read */
  constructor(response: ServerResponse, api: ClientApi, context: ReplyContext, sent?: ClientRequest) {
    const words = {
      errors: api,
      readKept: (text: string) => Option.getOrUndefined(readResponse(text)),
      reply: (reply: ExchangeResponse) => api.whole(context, reply),
    }
    super(response, context.requestId, words, api.events(context))
    this.#sent = sent
  }

  searching(isSearching: boolean): void {
    this.#isSearching = isSearching
  }

  protected override notices(): ReadonlyArray<string> {
    const { search, omittedTools = [] } = this.#sent ?? {}
    const omitted = search === undefined || this.#isSearching ? omittedTools : [...omittedTools, search.type]
    if (omitted.length === 0) return super.notices()
    return [`tools_omitted=${omitted.map(encodeURIComponent).join(",")}`, ...super.notices()]
  }
}
