/** Calls and counts of tokens for clients of other APIs. */

import { Context, Effect, Layer, Result } from "effect"
import { HttpServerResponse } from "effect/http"
import { newRequestId } from "../../calls/calls.ts"
import { withKeep } from "../../calls/held-call.ts"
import { Tokenizer } from "../../calls/tokens/tokenizer.ts"
import { type InlinedFile, VendorFiles } from "../../client-files/vendor-files.ts"
import { WeirConfig } from "../../config.ts"
import { messagesApi } from "../../dialects/anthropic/client.ts"
import { converseApi } from "../../dialects/bedrock/converse-client.ts"
import { bedrockCountApi } from "../../dialects/bedrock/count-client.ts"
import { invokeApi } from "../../dialects/bedrock/invoke-client.ts"
import type { ClientApi, ReplyContext, RequestPlace } from "../../dialects/client/client-api.ts"
import type { SaidByPath } from "../../dialects/client/said-by-path.ts"
import { cohereChatApi, cohereV1Api } from "../../dialects/cohere/client.ts"
import { historyOf } from "../../dialects/cohere/v1-request.ts"
import { generateApi } from "../../dialects/gemini/client.ts"
import { chatApi } from "../../dialects/openai-chat/client.ts"
import { completionApi } from "../../dialects/openai-chat/completion-client.ts"
import { responsesApi } from "../../dialects/openai-responses/client.ts"
import { summarisingApi } from "../../dialects/openai-responses/compaction.ts"
import { keptInput } from "../../dialects/openai-responses/items.ts"
import { parseObject } from "../../dialects/parse/json.ts"
import type { Caller } from "../../identity/caller.ts"
import { JobStore } from "../../jobs/job-store.ts"
import { type KeptRequest, ownerOf } from "../../kept-responses/kept-response.ts"
import { requestOfResponse } from "../../kept-responses/response-id.ts"
import { chat } from "../../kinds/chat/chat.ts"
import type { PinnedTarget } from "../../kinds/chat/chat-request.ts"
import { cut, editJson } from "../../protocol/json/json-edit.ts"
import { Sealing } from "../../store/seal.ts"
import { makeCallRunner } from "../call-runner.ts"
import type { RuntimeRequest } from "../caller-request.ts"
import { type DirectHandler, replying } from "../hot-routes.ts"
import { isLarge, LargeRequests, largeBytes } from "../large/large-requests.ts"
import { takeRoom } from "../large/take-room.ts"
import { originsOf } from "../request.ts"
import { makeNamedCaches, namesCache } from "./caches.ts"
import { CompatibleConnection } from "./connection.ts"
import { withCredential } from "./credential.ts"
import { bedrockCountPath, behindDoor, conversePath, invokePath } from "./doors/doors.ts"
import { handlersAt } from "./doors/handlers-at.ts"
import { makeInlineFiles, namesFiles } from "./files/inlined-files.ts"
import { makeUploads } from "./files/routes.ts"
import { mediaRoutes } from "./media.ts"
import { handleInPath, modelPattern } from "./model-path.ts"
import { makeAnswerIn } from "./reply.ts"
import { type CompatibleRequest, readCompatible } from "./request.ts"
import { makeBackground, makeRunsAtVendor, repeatable } from "./responses/background.ts"
import { type Compaction, makeCompactions, makeOpenSummaries, mayCompact } from "./responses/compaction.ts"
import { type Asked, keepResponse, keptFor, keptNames } from "./responses/keeping.ts"
import { type ContinuedRequest, makeThreads, namesOthers } from "./responses/thread.ts"
import { wholeRoutes } from "./whole.ts"

/** A large body is not read here where nothing is kept. */
const mayBeKept = (caller: Caller, parts: ReadonlyArray<Uint8Array>): boolean =>
  keptFor(caller) !== undefined || !isLarge(parts)

/** The action that a path asks for. */
interface Place extends RequestPlace {
  readonly api: ClientApi
  /** Whether it asks for a summary of a thread. */
  readonly compacts?: boolean
}

const makeCompatibleHandlers = Effect.gen(function* () {
  const runner = yield* makeCallRunner
  const config = yield* WeirConfig
  const { bodyMaxBytes } = config
  const tokenizer = yield* Tokenizer
  const large = yield* LargeRequests
  const answerIn = yield* makeAnswerIn
  const continueThread = yield* makeThreads
  const compactionOf = yield* makeCompactions
  const openSummaries = yield* makeOpenSummaries
  const { sealer } = yield* Sealing
  const inBackground = yield* makeBackground
  const inlineFiles = yield* makeInlineFiles
  const vendorFiles = yield* VendorFiles
  const namedCaches = yield* makeNamedCaches
  const runsAtVendor = yield* makeRunsAtVendor

  const exchange =
    ({ api, compacts: isAsked = false, ...asked }: Place): DirectHandler =>
    (request, response) => {
      const place = { ...asked, origins: originsOf(config, request) }
      const repeated = request.own?.repeated
      const ref = repeated?.ref ?? newRequestId()
      // One that is made once more has the ids and the time of its first call.
      const requestId = repeated === undefined ? ref : requestOfResponse(repeated.id)
      const createdMs = repeated?.createdMs ?? Date.now()
      const unread = { requestId, model: "", createdS: Math.floor(createdMs / 1000), createdMs, includesUsage: false }
      let thread: ContinuedRequest | undefined
      let compaction: Compaction | undefined
      /** A summary is read in the same API, without what only its vendors have. */
      const readIn = () => (compaction === undefined || compaction.api.carried !== undefined ? api : summarisingApi)
      /** A request that is read again keeps the connection of its first reading. */
      let detached: ReturnType<typeof inBackground> | undefined
      let pinned: PinnedTarget | undefined
      /** The request of a response in the background, as it may be made once more. */
      let again: KeptRequest | undefined
      let isAtVendor = false
      /** The history of a request that is masked, as its client sent it. */
      let echo: ReplyContext["echo"]
      const inlined: Array<InlinedFile> = []
      const found = (file: InlinedFile) => void inlined.push(file)
      const connect = ({ sent, decoded: read }: CompatibleRequest, caller: Caller, input?: ReadonlyArray<string>) => {
        const context = { ...unread, ...sent?.context, ...(echo !== undefined && { echo }), isArray: place.isArray }
        const files = inlined.length === 0 ? undefined : vendorFiles.of(ownerOf(caller), inlined)
        const filed = files === undefined ? read : Result.map(read, (each) => ({ ...each, files }))
        const decoded =
          pinned === undefined
            ? filed
            : Result.map(filed, (each) => ({ ...each, request: { ...each.request, pinned } }))
        const ms = input && keptFor(caller)
        if (input === undefined || ms === undefined) {
          const repliesIn = compaction?.api ?? api
          return { decoded, connection: new CompatibleConnection(response, repliesIn, context, request.headers) }
        }
        const background = thread?.background
        const named = { ...context, kept: keptNames(context, thread) }
        const connection = new CompatibleConnection(response, api, named, request.headers)
        const keep = keepResponse(sealer, caller, named, input, ms)
        const keptAs = named.kept.id
        if (background === undefined) return { decoded: withKeep(decoded, keep, { keptAs }), connection }
        const { isStreamed } = background
        const asked = askedIn(decoded)
        const given = { context: named, ms, asked, request: again, repeated, ref, isStreamed, isAtVendor }
        detached ??= inBackground({ ...given, caller, client: connection, response })
        const { run: atVendor } = detached
        const spends = repeated?.requestId ?? (again && requestId)
        const { earlier } = detached
        return {
          ...detached,
          decoded: withKeep(decoded, keep, {
            keptAs,
            begun: detached.begin(input, named.echo),
            earlier,
            spends,
            atVendor,
          }),
        }
      }
      const joined = () => {
        const { conversation: id, from = 0 } = thread ?? {}
        return id === undefined ? undefined : { id, from }
      }
      const isKept = (caller: Caller) => api === responsesApi && keptFor(caller) !== undefined
      return runner.run(chat, withCredential(request), ref, {
        continued: (caller, parts) => {
          const isContinued =
            api === responsesApi && (isAsked || mayCompact(parts) || (mayBeKept(caller, parts) && namesOthers(parts)))
          if (api === cohereV1Api && caller.policies.inbound.length > 0 && !isLarge(parts)) {
            echo = historyOf(parseObject(Buffer.concat(parts).toString("utf8")) ?? {})
          }
          const isCached = namesCache(api, parts)
          if (!isContinued && !isCached && !namesFiles(api, parts)) return undefined
          // The parts of a large body are read again: they must not be freed.
          const [only = Buffer.concat(parts)] = parts.length === 1 ? parts : []
          if (isCached) {
            return Effect.gen(function* () {
              const named = yield* namedCaches(caller, only)
              pinned = named.pinned
              return namesFiles(api, [only]) ? yield* inlineFiles(caller, named.body, found) : named.body
            })
          }
          if (!isContinued) return inlineFiles(caller, only, found)
          return Effect.gen(function* () {
            thread = yield* continueThread(caller, only)
            const isBackground = thread.background !== undefined
            if (isBackground && repeated === undefined) again = repeatable(request, caller, only)
            isAtVendor = repeated?.work !== undefined || (again !== undefined && runsAtVendor(caller, thread))
            if (isAtVendor) thread = { ...thread, body: editJson(thread.body, [cut("stream")]) }
            compaction = yield* compactionOf(caller, thread.body, { isAsked, isBackground })
            const body = compaction?.body ?? thread.body
            return namesFiles(api, [body]) ? yield* inlineFiles(caller, body, found) : body
          })
        },
        read: ({ caller, body }) => {
          const read = readCompatible(
            readIn(),
            { headers: request.headers, joined: joined() },
            body,
            caller.org.aliases,
            place,
          )
          const isRead = Result.isSuccess(read.decoded) && isKept(caller)
          return connect(read, caller, isRead ? keptInput(body, thread?.from ?? 0) : undefined)
        },
        readLarge: (caller, parts, masking) => {
          const inputFrom = isKept(caller) ? (thread?.from ?? 0) : undefined
          const { headers } = request
          const { aliases } = caller.org
          const sentIn = { api: readIn().name, place, headers, aliases, inputFrom, joined: joined() }
          return Effect.map(large.read(parts, sentIn, masking), (read) => connect(read, caller, read.input))
        },
        refusedAt: () => new CompatibleConnection(response, api, unread),
        status: () => response.statusCode,
      })
    }

  /** Tokens of a prompt: an estimate by the tokenizer that bills where a vendor reports none. */
  const tokensOf = Effect.fnUntraced(function* (
    { api, ...place }: Place,
    request: RuntimeRequest,
    body: Uint8Array,
    aliases: Readonly<Record<string, string>> | undefined,
  ) {
    const { decoded } =
      body.length < largeBytes
        ? readCompatible(api, request, body, aliases, place)
        : yield* large.read([body], { api: api.name, place, headers: request.headers, aliases })
    if (Result.isFailure(decoded)) return yield* decoded.failure
    const { text, tokens } = yield* decoded.success.request.prompt.parts
    return tokens + (yield* tokenizer.count(text))
  })

  /** Tokens of a request with the files that it names. */
  const tokensOfFiles = (place: Place, request: RuntimeRequest, caller: Caller, body: Uint8Array) =>
    Effect.flatMap(namesFiles(place.api, [body]) ? inlineFiles(caller, body) : Effect.succeed(body), (whole) =>
      tokensOf(place, request, whole, caller.org.aliases),
    )

  const count = (place: Place, replyOf: (tokens: number) => object): DirectHandler =>
    replying((request: RuntimeRequest) =>
      Effect.scoped(
        answerIn(
          place.api,
          request,
          ({ caller, body }) =>
            openSummaries(caller.org, body).pipe(
              Effect.flatMap((whole) => tokensOfFiles(place, request, caller, whole)),
              Effect.map((tokens) => HttpServerResponse.jsonUnsafe(replyOf(tokens))),
            ),
          bodyMaxBytes,
          takeRoom(large, request),
        ),
      ),
    )

  const { at: wholeRoute, predictTexts } = wholeRoutes(runner)
  const uploadTo = yield* makeUploads
  const media = mediaRoutes(runner, yield* JobStore, bodyMaxBytes, predictTexts)
  const whole = { model: "", stream: false, isArray: false, counts: false }
  const exact = handlersAt([
    ["/openai/v1/chat/completions", (said) => exchange({ api: chatApi, ...whole, said })],
    ["/openai/v1/completions", (said) => exchange({ api: completionApi, ...whole, said })],
    ["/openai/v1/responses", (said) => exchange({ api: responsesApi, ...whole, said })],
    ["/openai/v1/responses/compact", (said) => exchange({ api: responsesApi, compacts: true, ...whole, said })],
    [
      "/openai/v1/responses/input_tokens",
      (said) =>
        count({ api: responsesApi, ...whole, counts: true, said }, (input_tokens) => ({
          object: "response.input_tokens",
          input_tokens,
        })),
    ],
    [conversePath, (said) => exchange({ api: converseApi, ...whole, said })],
    [invokePath, (said) => exchange({ api: invokeApi, ...whole, said })],
    [
      bedrockCountPath,
      (said) => count({ api: bedrockCountApi, ...whole, counts: true, said }, (inputTokens) => ({ inputTokens })),
    ],
    ["/cohere/v1/chat", (said) => exchange({ api: cohereV1Api, ...whole, said })],
    ["/cohere/v2/chat", (said) => exchange({ api: cohereChatApi, ...whole, said })],
    ["/anthropic/v1/messages", (said) => exchange({ api: messagesApi, ...whole, said })],
    [
      "/anthropic/v1/messages/count_tokens",
      (said) => count({ api: messagesApi, ...whole, counts: true, said }, (input_tokens) => ({ input_tokens })),
    ],
  ])

  const handlerOf = (path: string, query: string, said?: SaidByPath): DirectHandler | undefined => {
    const handler = exact(path, said) ?? wholeRoute(path, said) ?? media.exactly(path, said) ?? uploadTo(path)
    const place = handler === undefined ? generatePlace(path, query) : undefined
    if (place === undefined) return handler
    if (place.counts) return count(place, (totalTokens) => ({ totalTokens }))
    return media.orMedia(place.model, place.stream, exchange(place))
  }

  /** The handler of a `POST`. */
  return (path: string, query: string): DirectHandler | undefined => {
    const door = behindDoor(path, query)
    return door === undefined ? handlerOf(path, query) : handlerOf(door.path, door.query, door.said)
  }
})

/** The handlers of `POST` requests of other APIs: for clients, and for requests of batches. */
export class CompatibleHandlers extends Context.Service<
  CompatibleHandlers,
  (path: string, query: string) => DirectHandler | undefined
>()("weir/http/CompatibleHandlers") {
  static readonly layer = Layer.effect(CompatibleHandlers, makeCompatibleHandlers)
}

/** The request id of a call, if its caller gave one. */
const askedIn = (decoded: CompatibleRequest["decoded"]): Asked | undefined => {
  const { request, payloadHash } = Result.getOrUndefined(decoded) ?? {}
  const requestId = request?.meta?.requestId
  return requestId === undefined || payloadHash === undefined ? undefined : { requestId, payloadHash }
}

/** `/gemini/v1beta/models/main:streamGenerateContent?alt=sse` */
const generatePath = new RegExp(
  `^/gemini/v1(?:alpha|beta)?/models/${modelPattern}:(generateContent|streamGenerateContent|countTokens)$`,
)

const generatePlace = (path: string, query: string): Place | undefined => {
  const [, named, method] = generatePath.exec(path) ?? []
  const model = handleInPath(named)
  if (model === undefined) return undefined
  const stream = method === "streamGenerateContent"
  return {
    api: generateApi,
    model,
    stream,
    isArray: stream && !/(?:^|&)alt=sse(?:&|$)/.test(query),
    counts: method === "countTokens",
  }
}
