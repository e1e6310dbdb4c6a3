/** Whole calls for clients of other APIs: embeddings, reranking, moderation. */
import { Option, Result, Schema } from "effect"
import { newRequestId } from "../../calls/calls.ts"
import type { CallRequest, Kind } from "../../calls/kind.ts"
import type { SaidByPath } from "../../dialects/client/said-by-path.ts"
import type { WholeAsked, WholeClient } from "../../dialects/client/whole-client.ts"
import { cohereEmbed, cohereEmbedV1, cohereRerankClient, cohereRerankV1 } from "../../dialects/cohere/whole-client.ts"
import { createCache } from "../../dialects/gemini/cache-client.ts"
import { predictEmbeddings } from "../../dialects/gemini/predict-client.ts"
import { batchEmbedContents, embedContent } from "../../dialects/gemini/whole-client.ts"
import { openaiEmbeddings, openaiModerations, sharedRerankClient } from "../../dialects/openai-chat/whole-client.ts"
import { isObject } from "../../dialects/parse/json.ts"
import { cachedContent } from "../../kinds/cached-content/cached-content.ts"
import { checkCall } from "../../kinds/decode.ts"
import { embedding } from "../../kinds/embedding/embedding.ts"
import { moderation } from "../../kinds/moderation/moderation.ts"
import { rerank } from "../../kinds/rerank/rerank.ts"
import { invalidInput } from "../../protocol/json/issues.ts"
import { parseBody } from "../../protocol/json/json-body.ts"
import { CachedContent, CachedContentRequest } from "../../protocol/kinds/cached-content.ts"
import { EmbeddingRequest, EmbeddingResponse } from "../../protocol/kinds/embedding.ts"
import { ModerationRequest, ModerationResponse } from "../../protocol/kinds/moderation.ts"
import { RerankRequest, RerankResponse } from "../../protocol/kinds/rerank.ts"
import type { CallRunner } from "../call-runner.ts"
import type { Authenticated, RuntimeRequest } from "../caller-request.ts"
import type { DirectHandler } from "../hot-routes.ts"
import { ApiConnection } from "./api-connection.ts"
import { withCredential } from "./credential.ts"
import { handlersAt } from "./doors/handlers-at.ts"
import { handleInPath, modelPattern } from "./model-path.ts"
import { cacheOf, handleOf, inWordsOf, metaOf, namingCapability, withSaid } from "./request.ts"

/** A kind with its schemas. */
interface Served<Request extends CallRequest, Body extends object> {
  readonly kind: Kind<Request, Body>
  readonly request: Schema.Decoder<Request>
  readonly response: Schema.Decoder<Body>
}

const embeddings: Served<EmbeddingRequest, EmbeddingResponse> = {
  kind: embedding,
  request: EmbeddingRequest,
  response: EmbeddingResponse,
}
const reranks: Served<RerankRequest, RerankResponse> = {
  kind: rerank,
  request: RerankRequest,
  response: RerankResponse,
}
const moderations: Served<ModerationRequest, ModerationResponse> = {
  kind: moderation,
  request: ModerationRequest,
  response: ModerationResponse,
}

const caches: Served<CachedContentRequest, CachedContent> = {
  kind: cachedContent,
  request: CachedContentRequest,
  response: CachedContent,
}

const cachePath = /^\/gemini\/v1(?:alpha|beta)?\/cachedContents$/

const embedPath = new RegExp(`^/gemini/v1(?:alpha|beta)?/models/${modelPattern}:(embedContent|batchEmbedContents)$`)

/** The handlers of whole calls on compatible routes. */
export const wholeRoutes = ({ run }: CallRunner) => {
  const route =
    <Request extends CallRequest, Body extends object>(
      { kind, request: asked, response: told }: Served<Request, Body>,
      client: WholeClient<Body>,
      model = "",
      said?: SaidByPath,
    ): DirectHandler =>
    (request, response) => {
      const requestId = newRequestId()
      const readBody = Schema.decodeUnknownOption(Schema.fromJsonString(told))
      const connect = (sent?: WholeAsked<Body>) =>
        new ApiConnection<Body>(response, requestId, {
          errors: client.errors,
          readKept: (text) => Option.getOrUndefined(readBody(text)),
          reply: sent?.reply,
          named: (error) => namingCapability(client, error),
          omitted: sent?.omitted,
        })
      return run(kind, withCredential(request), requestId, {
        read: (call) => {
          const { decoded, sent } = readWhole(client, asked, request, call, { model, said })
          return { decoded, connection: connect(sent) }
        },
        refusedAt: () => connect(),
        status: () => response.statusCode,
      })
    }

  const exact = handlersAt([
    ["/openai/v1/embeddings", (said) => route(embeddings, openaiEmbeddings, "", said)],
    ["/openai/v1/moderations", (said) => route(moderations, openaiModerations, "", said)],
    ["/openai/v1/rerank", (said) => route(reranks, sharedRerankClient, "", said)],
    ["/cohere/v2/embed", () => route(embeddings, cohereEmbed)],
    ["/cohere/v1/embed", () => route(embeddings, cohereEmbedV1)],
    ["/cohere/v1/rerank", () => route(reranks, cohereRerankV1)],
    ["/cohere/v2/rerank", () => route(reranks, cohereRerankClient)],
  ])
  return {
    at: (path: string, said?: SaidByPath): DirectHandler | undefined => {
      const known = exact(path, said)
      if (known !== undefined) return known
      if (cachePath.test(path)) return route(caches, createCache(Date.now))
      const [, named, method] = embedPath.exec(path) ?? []
      const model = handleInPath(named)
      if (model === undefined) return undefined
      return route(embeddings, method === "embedContent" ? embedContent : batchEmbedContents, model)
    },

    /** Embeddings by the path of predictions. */
    predictTexts: (model: string): DirectHandler => route(embeddings, predictEmbeddings, model),
  }
}

const readWhole = <Request extends CallRequest, Body>(
  client: WholeClient<Body>,
  schema: Schema.Decoder<Request>,
  { headers }: RuntimeRequest,
  { caller, body }: Authenticated,
  { model, said }: { readonly model: string; readonly said: SaidByPath | undefined },
) => {
  const parsed = parseBody(body)
  if (Result.isFailure(parsed)) return { decoded: Result.fail(parsed.failure), sent: undefined }
  const json = withSaid(parsed.success, { said })
  const sent = isObject(json)
    ? client.decode(json, model)
    : Result.fail({ path: "", message: "The body must be a JSON object" })
  if (Result.isFailure(sent)) return { decoded: Result.fail(invalidInput([sent.failure])), sent: undefined }
  const { request, model: named } = sent.success
  const meta = metaOf(headers)
  const candidate = {
    ...request,
    model: handleOf(named, caller.org.aliases),
    ...(meta !== undefined && { meta }),
    ...cacheOf({}, headers),
  }
  // The same idempotency key under another API is another call.
  const decoded = checkCall(schema, candidate, meta === undefined ? null : [client.name, model, json])
  return { decoded: Result.mapError(decoded, (error) => inWordsOf(client, error)), sent: sent.success }
}
