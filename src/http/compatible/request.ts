/** A request of a compatible route as an exchange of twp/1. */

import { Result, Schema } from "effect"
import type { DecodedCall } from "../../calls/held-call.ts"
import type { OwnRequest } from "../../dialects/carry/carried-request.ts"
import type { CarriedApi, ClientApi, ClientContext, RequestPlace } from "../../dialects/client/client-api.ts"
import type { ClientPlaces } from "../../dialects/client/fields.ts"
import type { WholeClient } from "../../dialects/client/whole-client.ts"
import { isObject } from "../../dialects/parse/json.ts"
import { type ChatRequest, carriedRequestOf, chatRequestOf } from "../../kinds/chat/chat-request.ts"
import type { PromptContent } from "../../kinds/chat/prompt.ts"
import { promptOf } from "../../kinds/chat/sent-prompt.ts"
import { checkCall } from "../../kinds/decode.ts"
import { type ServiceError, serviceError } from "../../protocol/error.ts"
import { ExchangeMeta, ExchangeRequest } from "../../protocol/exchange.ts"
import { type ExtraName, extraNames } from "../../protocol/extra-params.ts"
import { invalidInput } from "../../protocol/json/issues.ts"
import { type Decoded, decodeJson, parseBody, parsePlainly } from "../../protocol/json/json-body.ts"
import { entryOf } from "../../protocol/values/entry.ts"
import { tagsInHeader } from "../../protocol/values/tags.ts"
import type { RuntimeRequest } from "../caller-request.ts"

export interface CompatibleRequest {
  /** Undefined if the body cannot be read. */
  readonly sent: ClientContext | undefined
  readonly decoded: Decoded<DecodedCall<ChatRequest>>
}

/** A conversation whose items were put before those of a request; they change, while the request stays the same. */
export interface JoinedConversation {
  readonly id: string
  /** The number of its items. */
  readonly from: number
}

interface SentWith extends Pick<RuntimeRequest, "headers"> {
  readonly joined?: JoinedConversation | undefined
}

export const readCompatible = (
  api: ClientApi,
  { headers, joined }: SentWith,
  body: Uint8Array,
  aliases: Readonly<Record<string, string>> | undefined,
  place: RequestPlace,
): CompatibleRequest => {
  const parsed = parsePlainly(body)
  if (Result.isFailure(parsed)) return { sent: undefined, decoded: Result.fail(parsed.failure) }
  const { marks } = parsed.success
  const json = withSaid(parsed.success.json, place)
  const sent = isObject(json)
    ? api.decode(json, place)
    : Result.fail({ path: "", message: "The body must be a JSON object" })
  if (Result.isFailure(sent)) return { sent: undefined, decoded: Result.fail(invalidInput([sent.failure])) }
  const { exchange, exact, places, ...told } = sent.success
  const key = headers["x-session-affinity"] ?? headers["x-claude-code-session-id"]
  const meta = metaOf(headers)
  const candidate = {
    ...exchange,
    model: handleOf(told.context.model, aliases),
    ...(meta !== undefined && { meta }),
    ...cacheOf(
      { ...(key !== undefined && key !== "" && { key: key.slice(0, 256) }), ...asObject(exchange["cache"]) },
      headers,
    ),
  }
  // The same idempotency key under another API is another call.
  const decoded = checkCall(
    ExchangeRequest,
    candidate,
    meta === undefined ? null : [api.name, place.model, place.stream, alone(json, joined)],
  )
  const source = { body, exact, read: promptReader(api, place, candidate.model) }
  return {
    sent: told,
    decoded: Result.mapBoth(decoded, {
      onSuccess: ({ request, payloadHash }) => ({
        request:
          api.carried === undefined || told.own === undefined
            ? chatRequestOf(request, source)
            : carriedRequestOf(request, source, {
                ...sentIn(api.carried, { ...told.own, said: place.said }, json, headers),
                marks,
              }),
        payloadHash,
      }),
      onFailure: (error) => inWordsOf(api, error, placeIn(exchange["thread"], places)),
    }),
  }
}

/** The fields of a request, with those that its path says. */
export const withSaid = (json: Schema.Json, { said }: Pick<RequestPlace, "said">): Schema.Json =>
  said !== undefined && isPlainObject(json) ? { ...json, ...said } : json

/** A request without the items of a conversation. */
const alone = (json: Schema.Json, joined: JoinedConversation | undefined): Schema.Json =>
  joined !== undefined && isPlainObject(json) && Array.isArray(json["input"])
    ? { ...json, input: json["input"].slice(joined.from), conversation: joined.id }
    : json

const isPlainObject = (json: Schema.Json): json is Schema.JsonObject =>
  typeof json === "object" && json !== null && !Array.isArray(json)

const sentIn = (
  { dialect: api, prompt, betas }: CarriedApi,
  own: OwnRequest,
  body: unknown,
  headers: RuntimeRequest["headers"],
) => {
  const head = Object.fromEntries(Object.entries(asObject(body)).filter(([name]) => !prompt.includes(name)))
  return { api, own, head, betas: betas?.(headers, asObject(body)) ?? [] }
}

/** Reads the prompt of a request that was read before. @param model its handle */
const promptReader =
  (api: ClientApi, place: RequestPlace, model: string) =>
  (body: Uint8Array): PromptContent =>
    promptOf(
      Result.getOrThrow(
        Result.flatMap(parseBody(body), (json) =>
          Result.flatMap(api.decode(asObject(withSaid(json, place)), place), ({ exchange }) =>
            decodeJson(ExchangeRequest, { ...exchange, model }),
          ),
        ),
      ),
    )

const asObject = (value: unknown) => (isObject(value) ? value : {})

/** The fields that every API has in headers. */
export const metaOf = (headers: RuntimeRequest["headers"]) => {
  const {
    "idempotency-key": requestId,
    "x-svc-session-id": sessionId,
    "x-svc-purpose": purpose,
    "x-svc-tags": tags,
  } = headers
  if (requestId === undefined && sessionId === undefined && purpose === undefined && tags === undefined)
    return undefined
  return {
    ...(requestId !== undefined && { requestId }),
    ...(sessionId !== undefined && { sessionId }),
    ...(purpose !== undefined && { purpose }),
    ...(tags !== undefined && { tags: tagsInHeader(tags) }),
  }
}

const WithMeta = Schema.Struct({ meta: ExchangeMeta })

/**
 * The same for a request that has no body of ours, checked.
 * @param requestId in the body, in a field of that name
 */
export const readMeta = (
  headers: RuntimeRequest["headers"],
  requestId?: { readonly field: string; readonly value: unknown },
): Decoded<typeof ExchangeMeta.Type | undefined> => {
  const sent = metaOf(headers)
  const meta = requestId === undefined ? sent : { ...sent, requestId: requestId.value }
  if (meta === undefined) return Result.succeed(undefined)
  const placeOf = (path: string) => (path === "meta.requestId" ? requestId?.field : undefined)
  return Result.mapBoth(decodeJson(WithMeta, { meta }), {
    onSuccess: (read) => read.meta,
    onFailure: (error) => inWordsOf({ fieldNames: [] }, error, placeOf),
  })
}

/** The settings of the reply cache in a request. Source: RFC 9111, 5.2.1. */
const cachingIn = ({ "x-svc-cache": asked, "cache-control": control = "" }: RuntimeRequest["headers"]) => {
  if (asked !== undefined) return asked
  const directives = control.split(",").map((directive) => directive.trim().toLowerCase())
  if (directives.includes("no-store")) return "off"
  return directives.includes("no-cache") ? "refresh" : undefined
}

/**
 * The field `cache` of a request; absent if it would be empty.
 * @param own the field in its body
 */
export const cacheOf = (own: object, headers: RuntimeRequest["headers"]) => {
  const reply = cachingIn(headers)
  const cache = reply === undefined ? own : { ...own, reply }
  return Object.keys(cache).length === 0 ? {} : { cache }
}

/** The handle for a name: an alias, the longest pattern that matches, or the name itself. */
export const handleOf = (name: string, aliases: Readonly<Record<string, string>> = {}): string => {
  if (Object.hasOwn(aliases, name)) return aliases[name] ?? name
  const [pattern] = Object.keys(aliases)
    .filter((alias) => alias.endsWith("*") && name.startsWith(alias.slice(0, -1)))
    .sort((a, b) => b.length - a.length)
  return (pattern === undefined ? undefined : aliases[pattern]) ?? name
}

/** Fields that are headers in every API. */
const headerNames: ClientApi["fieldNames"] = [
  ["meta.requestId", "Idempotency-Key"],
  ["meta.sessionId", "x-svc-session-id"],
  ["meta.purpose", "x-svc-purpose"],
  ["meta.tags", "x-svc-tags"],
  ["cache.reply", "x-svc-cache"],
]

/** Renames the fields in the error of a refused request to the client's names. */
export const inWordsOf = (
  { fieldNames }: Pick<ClientApi, "fieldNames">,
  error: ServiceError<"bad_request">,
  placeOf: (path: string) => string | undefined = () => undefined,
): ServiceError<"bad_request"> => {
  const issues = error.detail?.["issues"]
  if (!Array.isArray(issues)) return error
  const renamed = issues.filter(isObject).map(({ path, message }) => {
    return { path: placeOf(String(path)) ?? nameIn(fieldNames, String(path)), message: String(message) }
  })
  return invalidInput(renamed)
}

/** The client's name of a field in a message or a block, whose number in the thread may be another than in the request. */
const placeIn =
  (thread: unknown, places: ClientPlaces | undefined) =>
  (path: string): string | undefined => {
    const [, message, block, rest = ""] = /^thread\.(\d+)(?:\.blocks(?:\.(\d+))?)?(.*)$/s.exec(path) ?? []
    const found = Array.isArray(thread) && message !== undefined ? thread[Number(message)] : undefined
    const { blocks } = asObject(found)
    const inner = Array.isArray(blocks) && block !== undefined ? places?.get(blocks[Number(block)]) : undefined
    const place = inner ?? places?.get(found)
    return place === undefined ? undefined : place + rest
  }

const nameIn = (fieldNames: ClientApi["fieldNames"], path: string): string => {
  const [own, theirs] = [...headerNames, ...fieldNames].find(([name]) => path.startsWith(name)) ?? ["", ""]
  return theirs + path.slice(own.length)
}

const isExtra = (name: string): name is ExtraName => extraNames.some((known) => known === name)

/** The fields of a request of twp/1 that a target may lack. */
const placesOfCapabilities: Readonly<Record<string, string>> = {
  output: "params.output",
  temperature: "params.temperature",
  topP: "params.topP",
  stop: "params.stop",
  stops: "params.stop",
  tools: "tools",
  tool_choice: "params.toolChoice",
  parallel_tool_calls: "params.parallelToolCalls",
  prefill: "thread",
  thread: "thread",
  tool_results: "thread",
  file_url: "thread",
  file_id: "thread",
  file_type: "thread",
  files: "thread",
  videos: "thread",
  audio: "thread",
}

const placeOf = (capability: string): string | undefined =>
  isExtra(capability) ? `params.${capability}` : entryOf(placesOfCapabilities, capability)

/** Names the field that no target of the model supports, as its client named it. */
export const namingField = ({ fieldNames }: Pick<ClientApi, "fieldNames">, error: ServiceError): ServiceError => {
  const { code, message, detail } = error
  const lacking = detail?.["capability"]
  const place = typeof lacking === "string" ? placeOf(lacking) : undefined
  if (code !== "bad_request" || place === undefined || detail?.["issues"] !== undefined) return error
  const path = nameIn(fieldNames, place)
  const why = message.replace(`support ${lacking}`, "support it")
  return serviceError("bad_request", `${path}: ${why}`, { detail: { ...detail, issues: [{ path, message: why }] } })
}

/** Names the field of a call beside chat that no target of the model supports, as its client named it. */
export const namingCapability = (
  { fields, fieldNames, files = {} }: Pick<WholeClient<never>, "fields" | "fieldNames"> & { readonly files?: object },
  error: ServiceError,
): ServiceError => {
  const { code, message, detail } = error
  const lacking = detail?.["capability"]
  if (code !== "bad_request" || typeof lacking !== "string") return error
  const path = nameIn(fieldNames, lacking)
  const isField = Object.hasOwn(fields, path) || Object.hasOwn(files, path)
  const issues = [{ path, message }]
  return isField ? serviceError("bad_request", `${path}: ${message}`, { detail: { ...detail, issues } }) : error
}
