/** Batches of OpenAI's API. Source: https://platform.openai.com/docs/api-reference/batch */
import { Effect, Schema, Stream } from "effect"
import { HttpRouter, HttpServerResponse } from "effect/http"
import { Gate } from "../../../admission/gate.ts"
import { plainRequest } from "../../../admission/rates/caller-limits.ts"
import { keptMs } from "../../../batches/admit-batch.ts"
import type { Batch } from "../../../batches/batch.ts"
import { writtenBatchId } from "../../../batches/batch-id.ts"
import { Batches } from "../../../batches/batches.ts"
import { ClientFiles } from "../../../client-files/client-files.ts"
import { readFileId, writtenFileId } from "../../../client-files/file-id.ts"
import { WeirConfig } from "../../../config.ts"
import { chatApi as api } from "../../../dialects/openai-chat/client.ts"
import { isObject } from "../../../dialects/parse/json.ts"
import { ownerOf } from "../../../kept-responses/kept-response.ts"
import { serviceError } from "../../../protocol/error.ts"
import { decodeJson, parseBody } from "../../../protocol/json/json-body.ts"
import { dayMs } from "../../../protocol/values/instant.ts"
import { type Authenticated, fromRouter } from "../../caller-request.ts"
import { LargeRequests, largeBytes } from "../../large/large-requests.ts"
import { secondsOf } from "../files/file-door.ts"
import { ExpiresAfter } from "../files/openai-files.ts"
import { makeAnswerIn } from "../reply.ts"
import { decodeQuery } from "../responses/list-query.ts"
import { askedAs } from "./asked-as.ts"
import { makeFindBatch } from "./find-batch.ts"
import { openaiFault, openaiLines } from "./openai-lines.ts"

/** Endpoints whose requests are JSON and answered at once. */
export const endpoints = [
  "/v1/responses",
  "/v1/chat/completions",
  "/v1/embeddings",
  "/v1/completions",
  "/v1/moderations",
  "/v1/images/generations",
] as const

export const mostRequests = 50_000
const windowMs = dayMs

const Create = Schema.Struct({
  input_file_id: Schema.String.check(Schema.isMaxLength(128)),
  endpoint: Schema.Literals(endpoints),
  completion_window: Schema.Literal("24h"),
  metadata: Schema.optionalKey(
    Schema.NullOr(
      Schema.Record(Schema.String.check(Schema.isMaxLength(64)), Schema.String.check(Schema.isMaxLength(512))).check(
        Schema.isMaxProperties(16),
      ),
    ),
  ),
  output_expires_after: Schema.optionalKey(ExpiresAfter),
})

const Query = Schema.Struct({
  limit: Schema.NumberFromString.check(Schema.isInt(), Schema.isBetween({ minimum: 1, maximum: 100 })).pipe(
    Schema.withDecodingDefaultKey(Effect.succeed("20")),
  ),
  after: Schema.optionalKey(Schema.String.check(Schema.isMaxLength(128))),
})

const time = (date: Date | undefined) => (date === undefined ? null : secondsOf(date))
const fileName = (id: string | undefined) => (id === undefined ? null : writtenFileId("openai", id))

/** The states of this API: a batch that was cancelled is `cancelling` until its last call has ended. */
const statusOf = ({ state, cancelledAt, endedAt }: Batch) =>
  cancelledAt !== undefined && endedAt === undefined ? "cancelling" : state

export const batchObject = (batch: Batch) => {
  const { state, facts, outcome, endedAt, lines, counts, tokens } = batch
  const at = (wanted: Batch["state"]) => (state === wanted ? time(endedAt) : null)
  return {
    id: writtenBatchId("openai", batch.id),
    object: "batch",
    endpoint: facts.endpoint,
    ...(facts.model !== undefined && { model: facts.model }),
    errors:
      outcome?.problems === undefined
        ? null
        : {
            object: "list",
            data: outcome.problems.map(({ code, message, line = null, param = null }) => ({
              code,
              line,
              message,
              param,
            })),
          },
    input_file_id: facts.input,
    completion_window: "24h",
    status: statusOf(batch),
    output_file_id: fileName(outcome?.output),
    error_file_id: fileName(outcome?.errors),
    created_at: secondsOf(batch.createdAt),
    in_progress_at: state === "failed" ? null : secondsOf(batch.createdAt),
    expires_at: secondsOf(batch.endsAt),
    finalizing_at: time(batch.finalizingAt),
    completed_at: at("completed"),
    failed_at: at("failed"),
    expired_at: at("expired"),
    cancelling_at: time(batch.cancelledAt),
    cancelled_at: at("cancelled"),
    request_counts: {
      total: lines,
      completed: counts.succeeded,
      failed: counts.errored + counts.expired + counts.cancelled,
    },
    usage: {
      input_tokens: tokens.input,
      input_tokens_details: { cached_tokens: tokens.cached },
      output_tokens: tokens.output,
      output_tokens_details: { reasoning_tokens: tokens.reasoning },
      total_tokens: tokens.input + tokens.output,
    },
    metadata: facts.metadata ?? null,
  }
}

export const openaiBatchRoutes = HttpRouter.use(
  Effect.fnUntraced(function* (router) {
    const batches = yield* Batches
    const files = yield* ClientFiles
    const gate = yield* Gate
    const { bodyMaxBytes } = yield* WeirConfig
    const answerIn = yield* makeAnswerIn
    const large = yield* LargeRequests
    const context = yield* Effect.context<never>()

    const find = yield* makeFindBatch("openai", (id) => `No batch found with id '${id}'.`)

    const create = Effect.fnUntraced(function* (call: Authenticated) {
      const { caller, body, request } = call
      yield* gate.admit(plainRequest(caller))
      const json = yield* Effect.fromResult(parseBody(body))
      const asked = yield* Effect.fromResult(decodeJson(Create, withVersion(json)))
      const { input_file_id: input, metadata, output_expires_after: expires } = asked
      const endpoint = isObject(json) ? String(json["endpoint"]) : asked.endpoint
      const id = readFileId(input)
      const file = id === undefined ? undefined : yield* files.find(caller.org.id, ownerOf(caller), id)
      const content = file?.purpose === "batch" ? yield* files.content(file) : undefined
      const tags = request.headers["x-svc-tags"]
      const batch = yield* batches.create({
        caller,
        api: "openai",
        lines:
          content === undefined
            ? failing(file === undefined ? noFile(input) : otherPurpose(file.purpose))
            : openaiLines(Stream.toAsyncIterable(Stream.orDie(content)), endpoint, bodyMaxBytes, {
                bytes: largeBytes,
                read: (parts) => Effect.runPromiseWith(context)(large.line(parts, endpoint, bodyMaxBytes)),
              }),
        problemOf: openaiFault,
        refuses: false,
        mostLines: mostRequests,
        windowMs,
        asked: yield* askedAs(call),
        facts: {
          input,
          endpoint,
          resultsMs: expires === undefined ? keptMs : expires.seconds * 1000,
          ...(metadata != null && { metadata }),
          ...(tags !== undefined && { tags }),
        },
      })
      return HttpServerResponse.jsonUnsafe(batchObject(batch))
    })

    const retrieve = (call: Authenticated, id: string) =>
      Effect.map(find(call, id), (batch) => HttpServerResponse.jsonUnsafe(batchObject(batch)))

    const cancel = Effect.fnUntraced(function* (call: Authenticated, id: string) {
      const batch = yield* find(call, id)
      const { state } = batch
      if (state === "completed" || state === "failed" || state === "expired") {
        return yield* serviceError("conflict", `Cannot cancel a batch with status '${state}'.`)
      }
      yield* batches.cancel(batch)
      return yield* retrieve(call, id)
    })

    const list = Effect.fnUntraced(function* (call: Authenticated) {
      const { caller } = call
      const { limit, after } = yield* decodeQuery(Query, call)
      const last = after === undefined ? undefined : yield* find(call, after)
      const page = { api: "openai", limit, after: last?.id }
      const { batches: found, hasMore } = yield* batches.list(caller.org.id, ownerOf(caller), page)
      const data = found.map(batchObject)
      return HttpServerResponse.jsonUnsafe({
        object: "list",
        data,
        first_id: data[0]?.id ?? null,
        last_id: data.at(-1)?.id ?? null,
        has_more: hasMore,
      })
    })

    const withId = (method: "GET" | "POST", path: `/${string}`, answer: typeof retrieve | typeof cancel) =>
      router.add(method, path, (request) =>
        Effect.flatMap(HttpRouter.params, ({ id = "" }) =>
          answerIn(api, fromRouter(request), (call) => answer(call, id)),
        ),
      )
    yield* router.add("POST", "/openai/v1/batches", (request) => answerIn(api, fromRouter(request), create))
    yield* router.add("GET", "/openai/v1/batches", (request) => answerIn(api, fromRouter(request), list))
    yield* withId("GET", "/openai/v1/batches/:id", retrieve)
    yield* withId("POST", "/openai/v1/batches/:id/cancel", cancel)
  }),
)

/** A request whose endpoint is as Azure writes it: without the version. Its lines write it in the same way. */
const withVersion = (json: Schema.Json): Schema.Json => {
  const known = isObject(json) ? endpoints.find((endpoint) => endpoint === `/v1${json["endpoint"]}`) : undefined
  return known === undefined || !isObject(json) ? json : { ...json, endpoint: known }
}

/** A batch whose file is not there, or has another purpose, fails, as at OpenAI. */
async function* failing(message: string) {
  yield { number: 0, problem: { code: "invalid_request", message, param: "file_id" } }
}
const noFile = (id: string) => `Cannot find file ${id.slice(0, 128)}, or the organization does not have access to it.`
const otherPurpose = (purpose: string) =>
  `The file must be uploaded with the purpose 'batch'; its purpose is '${purpose}'.`
