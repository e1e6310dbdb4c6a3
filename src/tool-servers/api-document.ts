/** The OpenAPI documents of servers, read when they are first needed, and again after a while. */
import { readFile, stat } from "node:fs/promises"
import { Cache, Data, Duration, Effect, Exit, Result, Schema } from "effect"
import { parseYaml } from "../catalogue/yaml.ts"
import type { Deadlines } from "../deadlines.ts"
import type { ToolOperation } from "../tools/openapi/operation.ts"
import { toolsOf } from "../tools/openapi/operations.ts"
import { fetchWhole, type VendorClient } from "../upstream/client.ts"
import type { Network } from "../upstream/network.ts"

/** A document that cannot be read. Its message is for operators. */
export class DocumentUnread extends Data.TaggedError("DocumentUnread")<{ readonly message: string }> {}

/** An API whose operations are tools. */
export interface DescribedApi {
  /** The server. */
  readonly id: string
  readonly document: string
  readonly baseUrl: string
  readonly tags: ReadonlyArray<string> | undefined
  readonly operations: ReadonlyArray<string> | undefined
  readonly network: Network | undefined
}

export type Operations = ReadonlyMap<string, ToolOperation>

const mostBytes = 16 * 1024 * 1024
const withinMs = 30_000
/** Nothing else runs while a document is read. */
const mostWorkMs = 3000

export interface Documents {
  /** The operations of an API, by the names of their tools. */
  readonly operationsOf: (api: DescribedApi) => Effect.Effect<Operations, DocumentUnread>
  /** The next reader reads the document of a server again. */
  readonly forget: (server: string) => Effect.Effect<void>
}

export const makeDocuments = Effect.fnUntraced(function* (client: VendorClient["Service"], deadlines: Deadlines) {
  const read = Effect.fnUntraced(function* (api: DescribedApi): Effect.fn.Return<Operations, DocumentUnread> {
    const text = yield* /^https?:/.test(api.document) ? fetched(api) : fromFile(api.document)
    const json = yield* Effect.fromResult(parsed(text))
    const { baseUrl, tags, operations } = api
    const startedAt = performance.now()
    const isOver = () => performance.now() - startedAt > mostWorkMs
    const found = toolsOf(json, { baseUrl, documentUrl: api.document, tags, operations, isOver })
    if (found.problems.length > 0) {
      const problems = found.problems.slice(0, 20).map(({ place, message }) => `${place}: ${message}`)
      yield* Effect.logWarning("Operations of an API are no tools", { server: api.id, problems })
    }
    return new Map(found.operations.map((operation) => [operation.tool.name, operation]))
  })

  const fetched = ({ document, network }: DescribedApi) => {
    const { origin, pathname, search } = new URL(document)
    const request = {
      method: "GET",
      baseUrl: origin,
      path: `${pathname}${search}`,
      headers: {},
      body: "",
      network,
    } as const
    return fetchWhole(client, request, mostBytes, { deadlines, timeoutMs: withinMs }).pipe(
      Effect.mapError((cause) => new DocumentUnread({ message: `it cannot be fetched: ${String(cause.cause)}` })),
      Effect.flatMap(({ status, body }) =>
        status === 200
          ? Effect.succeed(body)
          : Effect.fail(new DocumentUnread({ message: `its address answers with status ${status}` })),
      ),
    )
  }

  const documents = yield* Cache.makeWith<string, Operations, DocumentUnread>(
    (key) => Effect.uninterruptible(read(apis.get(key) ?? nothing)),
    {
      capacity: 1000,
      timeToLive: (exit) => (Exit.isSuccess(exit) ? Duration.minutes(10) : Duration.seconds(5)),
    },
  )
  const apis = new Map<string, DescribedApi>()
  return {
    operationsOf: (api) => {
      const { id, document, baseUrl, tags, operations } = api
      const key = JSON.stringify([id, document, baseUrl, tags, operations])
      apis.set(key, api)
      return Cache.get(documents, key)
    },
    forget: (server) =>
      Effect.forEach(
        [...apis].filter(([, { id }]) => id === server),
        ([key]) => Cache.invalidate(documents, key),
        { discard: true },
      ),
  } satisfies Documents
})

const nothing: DescribedApi = {
  id: "",
  document: "/dev/null",
  baseUrl: "",
  tags: undefined,
  operations: undefined,
  network: undefined,
}

const fromFile = (path: string): Effect.Effect<string, DocumentUnread> =>
  Effect.tryPromise({
    try: async () => {
      const { size } = await stat(path)
      if (size > mostBytes) throw new Error("is too large")
      return readFile(path, "utf8")
    },
    catch: (cause) => new DocumentUnread({ message: `it cannot be read: ${String(cause)}` }),
  })

const readJson = Schema.decodeUnknownResult(Schema.fromJsonString(Schema.Unknown))

const parsed = (text: string): Result.Result<unknown, DocumentUnread> => {
  if (text.trimStart().startsWith("{")) {
    return Result.mapError(readJson(text), () => new DocumentUnread({ message: "it is no JSON" }))
  }
  return Result.match(parseYaml(text), {
    onFailure: ({ line, message }) => Result.fail(new DocumentUnread({ message: `line ${line}: ${message}` })),
    onSuccess: ({ value }) => Result.succeed(value),
  })
}
