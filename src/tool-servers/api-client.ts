/**
 * An HTTP API behind the interface of a server of tools: the operations of its OpenAPI document are the tools, and a call of one is a
 * request to the API.
 */
import { Effect, Result } from "effect"
import { isObject } from "../dialects/parse/json.ts"
import { errorCodes, isRequest, type JsonObject, type MessageId, readMessage } from "../protocol/mcp/message.ts"
import { statelessVersion } from "../protocol/mcp/versions.ts"
import { requestOf } from "../tools/openapi/request.ts"
import { resultOf } from "../tools/openapi/result.ts"
import {
  type ReplyListener,
  UpstreamBroken,
  type UpstreamCall,
  type UpstreamRequest,
  type VendorClient,
} from "../upstream/client.ts"
import type { DescribedApi, DocumentUnread, Operations } from "./api-document.ts"

const scheme = "openapi:"
export const isApiUrl = (baseUrl: string): boolean => baseUrl.startsWith(scheme)
export const apiUrlOf = (id: string): string => `${scheme}${id}`

export interface ApiServices {
  readonly client: VendorClient["Service"]
  readonly apiOf: (id: string) => DescribedApi | undefined
  readonly operationsOf: (api: DescribedApi) => Effect.Effect<Operations, DocumentUnread>
  readonly fork: (effect: Effect.Effect<void>) => void
  /** The most bytes of a reply. */
  readonly maxBytes: number
}

const json = { "content-type": "application/json" }

/** Statuses with which an API says that it has not done anything. */
const isRefusal = (status: number): boolean => status === 401 || status === 403 || status === 429 || status >= 500

export const startApi = (services: ApiServices, request: UpstreamRequest, listener: ReplyListener): UpstreamCall => {
  let call: UpstreamCall | undefined
  let isLeft = false
  const answer = (message: object) => {
    if (isLeft) return
    listener.head({ status: 200, headers: json })
    listener.bytes(Buffer.from(JSON.stringify({ jsonrpc: "2.0", ...message })))
    listener.ended()
  }
  const fail = (cause: unknown) => {
    if (!isLeft) listener.broken(new UpstreamBroken({ cause }))
  }
  const begin = (operations: Operations) => {
    if (isLeft) return
    const message = readMessage(bodyOf(request))
    if (message === undefined || !isRequest(message)) return fail("the message is no request")
    const { id, method, params = {} } = message
    if (method !== "tools/call") {
      listener.connected()
      return answer({ id, ...answerTo(method, operations) })
    }
    const operation = operations.get(String(params["name"]))
    const given = params["arguments"]
    const made = operation && requestOf(operation, isObject(given) ? given : {})
    if (operation === undefined || made === undefined) return refuse(id, "Unknown tool")
    if (Result.isFailure(made)) {
      const problems = made.failure.map(({ argument, message }) => `${argument}: ${message}`)
      return refuse(id, problems.join("; ").slice(0, 2000))
    }
    const { path, headers, body } = made.success
    const chunks: Array<Uint8Array> = []
    let bytes = 0
    let head = { status: 0, headers: {} as Readonly<Record<string, string>> }
    call = services.client.start(
      {
        method: made.success.method,
        baseUrl: operation.baseUrl ?? api?.baseUrl ?? "",
        path,
        // The gateway's own headers win: they carry the credential.
        headers: { ...headers, ...ownHeaders(request.headers) },
        body,
        network: request.network,
      },
      {
        connected: () => listener.connected(),
        head: (found) => {
          head = found
          if (isRefusal(found.status)) listener.head(found)
        },
        bytes: (chunk) => {
          if (isRefusal(head.status)) return listener.bytes(chunk)
          chunks.push(chunk)
          bytes += chunk.length
          if (bytes <= services.maxBytes) return
          call?.abort()
          fail("the reply is too large")
          isLeft = true
        },
        ended: () => {
          if (isRefusal(head.status)) return listener.ended()
          answer({
            id,
            result: resultOf(head.status, head.headers, Buffer.concat(chunks), { maxBytes: services.maxBytes }),
          })
        },
        broken: (error) => listener.broken(error),
      },
    )
  }
  /** Arguments that make no request: nothing was sent. */
  const refuse = (id: MessageId, message: string) => {
    listener.connected()
    answer({ id, error: { code: errorCodes.invalidParams, message } })
  }
  const api = services.apiOf(request.baseUrl.slice(scheme.length))
  if (api === undefined) queueMicrotask(() => fail("there is no such server"))
  else {
    services.fork(
      Effect.match(services.operationsOf(api), {
        onFailure: ({ message }) => fail(new Error(`The document of the API cannot be used: ${message}`)),
        onSuccess: begin,
      }),
    )
  }
  const end = (how: "leave" | "abort") => {
    isLeft = true
    call?.[how]()
  }
  return {
    pause: () => call?.pause(),
    resume: () => call?.resume(),
    leave: () => end("leave"),
    abort: () => end("abort"),
  }
}

const bodyOf = ({ body }: UpstreamRequest): unknown => {
  try {
    return JSON.parse(
      typeof body === "string" ? body : body instanceof Uint8Array ? Buffer.from(body).toString("utf8") : "",
    )
  } catch {
    return undefined
  }
}

const answerTo = (
  method: string,
  operations: Operations,
): { readonly result: JsonObject } | { readonly error: object } => {
  switch (method) {
    case "server/discover":
      return {
        result: { resultType: "complete", supportedVersions: [statelessVersion], capabilities: { tools: {} } },
      }
    case "tools/list":
      return { result: { resultType: "complete", tools: [...operations.values()].map(({ tool }) => asJson(tool)) } }
  }
  return { error: { code: errorCodes.methodNotFound, message: "Method not found" } }
}

const asJson = (value: object): JsonObject => JSON.parse(JSON.stringify(value))

/** Without those of the protocol, which an API does not know. */
const ownHeaders = (headers: UpstreamRequest["headers"]): UpstreamRequest["headers"] =>
  Object.fromEntries(
    Object.entries(headers).filter(
      ([name]) => name !== "accept" && name !== "content-type" && !name.startsWith("mcp-"),
    ),
  )
