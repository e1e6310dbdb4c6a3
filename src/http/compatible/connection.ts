/** The client's connection of an exchange on a compatible route, with what its API says of tools. */
import type { ServerResponse } from "node:http"
import { Option, Schema } from "effect"
import type { ClientApi, ClientContext, ReplyContext } from "../../dialects/client-api.ts"
import type { ServiceError } from "../../protocol/error.ts"
import { ExchangeResponse } from "../../protocol/exchange.ts"
import { noticeOf } from "../notice.ts"
import { ApiConnection } from "./api-connection.ts"
import { namingField } from "./request.ts"

const readResponse = Schema.decodeUnknownOption(Schema.fromJsonString(ExchangeResponse))

export class CompatibleConnection extends ApiConnection<ExchangeResponse> {
  readonly #api: ClientApi
  readonly #sent: ClientContext | undefined
  readonly #omittedFeatures: ReadonlyArray<string>
  #isSearching = false

  /**
   * @param sent undefined if the request could not be read
   * @param features that were asked for and are left out
   */
  constructor(
    response: ServerResponse,
    api: ClientApi,
    context: ReplyContext,
    sent?: ClientContext,
    features: ReadonlyArray<string> = [],
  ) {
    const words = {
      errors: api,
      readKept: (text: string) => Option.getOrUndefined(readResponse(text)),
      reply: (reply: ExchangeResponse) => api.whole(context, reply),
    }
    super(response, context.requestId, words, api.events(context))
    this.#api = api
    this.#sent = sent
    this.#omittedFeatures = features
  }

  searching(isSearching: boolean): void {
    this.#isSearching = isSearching
  }

  protected override sendError(error: ServiceError): void {
    super.sendError(namingField(this.#api, error))
  }

  protected override notices(): ReadonlyArray<string> {
    const { search, omittedTools = [] } = this.#sent ?? {}
    const omitted = search === undefined || this.#isSearching ? omittedTools : [...omittedTools, search.type]
    return [
      ...noticeOf("tools_omitted", omitted),
      ...noticeOf("betas_omitted", this.#omittedFeatures),
      ...super.notices(),
    ]
  }
}
