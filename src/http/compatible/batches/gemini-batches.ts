/** Batches of Gemini's API. Source: https://ai.google.dev/api/batch-api */
import { Effect, Result, Schema, Stream } from "effect"
import { HttpRouter, HttpServerResponse } from "effect/http"
import { Gate } from "../../../admission/gate.ts"
import { plainRequest } from "../../../admission/rates/caller-limits.ts"
import { keptMs } from "../../../batches/admit-batch.ts"
import type { Batch, BatchState } from "../../../batches/batch.ts"
import { writtenBatchId } from "../../../batches/batch-id.ts"
import { Batches } from "../../../batches/batches.ts"
import { ListIn } from "../../../batches/list-in.ts"
import { newRequestId } from "../../../calls/calls.ts"
import { ClientFiles } from "../../../client-files/client-files.ts"
import { readFileId, writtenFileId } from "../../../client-files/file-id.ts"
import { WeirConfig } from "../../../config.ts"
import { generateApi as api } from "../../../dialects/gemini/client.ts"
import { ownerOf } from "../../../kept-responses/kept-response.ts"
import { serviceError } from "../../../protocol/error.ts"
import { invalidInput } from "../../../protocol/json/issues.ts"
import { decodeJson, parseBody } from "../../../protocol/json/json-body.ts"
import { writeJson } from "../../../protocol/json/json-text.ts"
import { dayMs } from "../../../protocol/values/instant.ts"
import { type Authenticated, fromRouter } from "../../caller-request.ts"
import { LargeRequests } from "../../large/large-requests.ts"
import { takeRoom } from "../../large/take-room.ts"
import { routeNotFound } from "../../respond.ts"
import { geminiVersions, handleInPath, modelPattern } from "../model-path.ts"
import { refusedMethod } from "../refused-paths.ts"
import { failureIn, makeAnswerIn } from "../reply.ts"
import { decodeQuery } from "../responses/list-query.ts"
import { askedAs } from "./asked-as.ts"
import { makeFindBatch } from "./find-batch.ts"
import { filedRequests, listedRequests } from "./gemini-lines.ts"
import { inlinedResults, resultsPlace, withResults } from "./inlined-results.ts"

const mostRequests = 100_000
const windowMs = dayMs

/** The methods that make a batch, and the method of each of its requests. */
const methods = { batchGenerateContent: "generateContent", asyncBatchEmbedContent: "embedContent" } as const
const createPath = new RegExp(
  `^/gemini/(v1(?:alpha|beta)?)/models/${modelPattern}:(${Object.keys(methods).join("|")})$`,
)

/** Google's SDKs write some names in snake case. */
const inputNames = ["inputConfig", "input_config"] as const
const listNames = inputNames.map((name) => ["batch", name, "requests", "requests"])

const Text = Schema.optionalKey(Schema.String.check(Schema.isMaxLength(512)))
const Input = Schema.Struct({
  requests: Schema.optionalKey(Schema.Struct({ requests: Schema.Tuple([]) })),
  fileName: Text,
  file_name: Text,
})
const Create = Schema.Struct({
  batch: Schema.Struct({
    model: Text,
    displayName: Text,
    display_name: Text,
    inputConfig: Schema.optionalKey(Input),
    input_config: Schema.optionalKey(Input),
    priority: Schema.optionalKey(Schema.Union([Schema.String, Schema.Finite])),
  }),
})
type Created = typeof Create.Type

const Query = Schema.Struct({
  pageSize: Schema.NumberFromString.check(Schema.isInt(), Schema.isBetween({ minimum: 1, maximum: 100 })).pipe(
    Schema.withDecodingDefaultKey(Effect.succeed("10")),
  ),
  pageToken: Schema.optionalKey(Schema.String.check(Schema.isMaxLength(64))),
})

const states: Readonly<Record<BatchState, string>> = {
  failed: "FAILED",
  in_progress: "RUNNING",
  finalizing: "RUNNING",
  completed: "SUCCEEDED",
  expired: "EXPIRED",
  cancelled: "CANCELLED",
}

/** @param output of a batch that has ended, as JSON */
const operationText = (batch: Batch, output: string | undefined): string => {
  const { facts, state, createdAt, endedAt, lines, counts } = batch
  const name = writtenBatchId("gemini", batch.id)
  const failed = counts.errored + counts.expired + counts.cancelled
  const metadata = writeJson({
    "@type": "type.googleapis.com/google.ai.generativelanguage.v1main.GenerateContentBatch",
    name,
    model: `models/${facts.model ?? ""}`,
    displayName: facts.name ?? "",
    state: `BATCH_STATE_${states[state]}`,
    createTime: createdAt.toISOString(),
    updateTime: (endedAt ?? createdAt).toISOString(),
    ...(endedAt !== undefined && { endTime: endedAt.toISOString() }),
    batchStats: {
      requestCount: String(lines),
      successfulRequestCount: String(counts.succeeded),
      failedRequestCount: String(failed),
      pendingRequestCount: String(lines - counts.succeeded - failed),
    },
  })
  const end =
    endedAt === undefined
      ? ""
      : state === "cancelled"
        ? `,"done":true,"error":{"code":1,"message":"The batch was cancelled."}`
        : `,"done":true,"response":${output ?? "{}"}`
  // SDKs read the results in the metadata.
  const whole = output === undefined ? metadata : `${metadata.slice(0, -1)},"output":${output}}`
  return `{"name":${JSON.stringify(name)},"metadata":${whole}${end}}`
}

export const geminiBatchRoutes = HttpRouter.use(
  Effect.fnUntraced(function* (router) {
    const batches = yield* Batches
    const files = yield* ClientFiles
    const gate = yield* Gate
    const large = yield* LargeRequests
    const { bodyMaxBytes } = yield* WeirConfig
    const answerIn = yield* makeAnswerIn

    const find = yield* makeFindBatch("gemini", (name) => `Batch ${name} not found.`)

    const reply = (text: string) => HttpServerResponse.text(text, { contentType: "application/json" })

    const retrieve = Effect.fnUntraced(function* (call: Authenticated, name: string) {
      const batch = yield* find(call, name)
      const { facts, outcome } = batch
      if (outcome?.output === undefined) return reply(operationText(batch, undefined))
      if (facts.inline !== true) {
        return reply(operationText(batch, writeJson({ responsesFile: writtenFileId("gemini", outcome.output) })))
      }
      const results = inlinedResults((yield* batches.results(batch)) ?? Stream.empty, outcome.isInOrder === true)
      const text = operationText(batch, `{"inlinedResponses":{"inlinedResponses":[${resultsPlace}]}}`)
      return HttpServerResponse.stream(withResults(text, results), { contentType: "application/json" })
    })

    /** The requests of a file, once the body is read. */
    const linesIn = Effect.fnUntraced(function* ({ caller }: Authenticated, name: string, path: string) {
      const id = readFileId(name)
      const file = id === undefined ? undefined : yield* files.find(caller.org.id, ownerOf(caller), id)
      if (file === undefined) return yield* serviceError("not_found", `File ${name.slice(0, 128)} not found.`)
      return filedRequests(Stream.toAsyncIterable(Stream.orDie(yield* files.content(file))), path, bodyMaxBytes)
    })

    const create = Effect.fnUntraced(function* (call: Authenticated, model: string, path: string) {
      const { caller, body, request } = call
      yield* gate.admit(plainRequest(caller))
      const list = listNames.map((names) => new ListIn(body, names)).find(({ isThere }) => isThere)
      const asked = list === undefined ? yield* Effect.fromResult(readCreated(body)) : undefined
      const fileName = asked && fileIn(asked)
      if (list === undefined && fileName === undefined) return yield* noRequests
      const tags = request.headers["x-svc-tags"]
      const lines = list === undefined ? yield* linesIn(call, fileName ?? "", path) : listedRequests(list, path)
      const name = asked && nameIn(asked)
      const batch = yield* batches.create({
        caller,
        api: "gemini",
        lines,
        // A request that its route refuses has the refusal as its result.
        problemOf: () => undefined,
        refuses: true,
        rest: () =>
          list === undefined ? Result.succeed({}) : Result.map(Result.flatMap(list.rest(), decodeCreated), factsOf),
        mostLines: mostRequests,
        windowMs,
        asked: yield* askedAs(call),
        facts: {
          resultsMs: keptMs,
          endpoint: path,
          model,
          ...(list !== undefined && { inline: true }),
          ...(name !== undefined && { name }),
          ...(fileName !== undefined && { input: fileName }),
          ...(tags !== undefined && { tags }),
        },
      })
      return reply(operationText(batch, undefined))
    })

    const cancel = Effect.fnUntraced(function* (call: Authenticated, name: string) {
      yield* batches.cancel(yield* find(call, name))
      return HttpServerResponse.jsonUnsafe({})
    })

    const remove = Effect.fnUntraced(function* (call: Authenticated, name: string) {
      const isErased = yield* batches.erase(yield* find(call, name))
      return isErased ? HttpServerResponse.jsonUnsafe({}) : yield* stillRuns
    })

    const list = Effect.fnUntraced(function* (call: Authenticated) {
      const { caller } = call
      const { pageSize: limit, pageToken } = yield* decodeQuery(Query, call)
      const last = pageToken === undefined ? undefined : yield* find(call, `batches/${pageToken}`)
      const page = { api: "gemini", limit, after: last?.id }
      const { batches: found, hasMore } = yield* batches.list(caller.org.id, ownerOf(caller), page)
      const operations = found.map((batch) => operationText(batch, undefined)).join(",")
      const next = hasMore ? `,"nextPageToken":${JSON.stringify(found.at(-1)?.id)}` : ""
      return reply(`{"operations":[${operations}]${next}}`)
    })

    for (const version of geminiVersions) {
      const base = `/gemini/${version}/batches` as const
      const withName = (method: "GET" | "DELETE", answer: typeof retrieve | typeof remove) =>
        router.add(method, `${base}/:id`, (request) =>
          Effect.flatMap(HttpRouter.params, ({ id = "" }) =>
            answerIn(api, fromRouter(request), (call) => answer(call, `batches/${id}`)),
          ),
        )
      yield* router.add("GET", base, (request) => answerIn(api, fromRouter(request), list))
      yield* withName("GET", retrieve)
      yield* withName("DELETE", remove)
      yield* router.add("POST", `${base}/:id`, (request) =>
        Effect.flatMap(HttpRouter.params, ({ id = "" }) =>
          answerIn(api, fromRouter(request), (call) =>
            id.endsWith(":cancel") ? cancel(call, `batches/${id.slice(0, -":cancel".length)}`) : noMethod,
          ),
        ),
      )
      yield* router.add("POST", `/gemini/${version}/models/*`, (request) => {
        const sent = fromRouter(request)
        const { pathname } = new URL(sent.url, "http://gateway")
        const [, , named, method] = createPath.exec(pathname) ?? []
        const model = handleInPath(named)
        const each =
          method === "batchGenerateContent" || method === "asyncBatchEmbedContent" ? methods[method] : undefined
        if (model === undefined || each === undefined) {
          const refusal = refusedMethod(pathname)
          const failure = refusal === undefined ? routeNotFound : serviceError("bad_request", refusal)
          return failureIn(api)(newRequestId(), failure)
        }
        return Effect.scoped(
          answerIn(
            api,
            sent,
            (call) => create(call, model, `/gemini/${version}/models/${encodeURIComponent(model)}:${each}`),
            bodyMaxBytes,
            takeRoom(large, sent),
          ),
        )
      })
    }
  }),
)

const decodeCreated = (json: Schema.Json) => decodeJson(Create, json)
const readCreated = (body: Uint8Array) => Result.flatMap(parseBody(body), decodeCreated)
const inputOf = ({ batch }: Created) => batch.inputConfig ?? batch.input_config
const fileIn = (created: Created) => inputOf(created)?.fileName ?? inputOf(created)?.file_name
const nameIn = ({ batch }: Created) => batch.displayName ?? batch.display_name
const factsOf = (created: Created) => {
  const name = nameIn(created)
  return name === undefined ? {} : { name }
}

const noRequests = invalidInput([{ path: "batch.inputConfig", message: "has 'requests' or a 'fileName'" }])
const noMethod = serviceError("not_found", "There is no such method")
const stillRuns = serviceError("bad_request", "The batch still runs: cancel it, and delete it once it has ended")
