/** Batches of Anthropic's API. Source: https://docs.anthropic.com/en/api/creating-message-batches */
import { Effect, Result, Schema, Stream } from "effect"
import { HttpRouter, HttpServerResponse } from "effect/http"
import { Gate } from "../../../admission/gate.ts"
import { plainRequest } from "../../../admission/rates/caller-limits.ts"
import { keptMs, type SentLine } from "../../../batches/admit-batch.ts"
import type { Batch } from "../../../batches/batch.ts"
import { writtenBatchId } from "../../../batches/batch-id.ts"
import { Batches } from "../../../batches/batches.ts"
import { ListIn } from "../../../batches/list-in.ts"
import { WeirConfig } from "../../../config.ts"
import { messagesApi as api } from "../../../dialects/anthropic/client.ts"
import { ownerOf } from "../../../kept-responses/kept-response.ts"
import { serviceError } from "../../../protocol/error.ts"
import { fieldOf, invalidInput } from "../../../protocol/json/issues.ts"
import { decodeJson, parseBody } from "../../../protocol/json/json-body.ts"
import { JsonSource } from "../../../protocol/json/json-source.ts"
import { dayMs } from "../../../protocol/values/instant.ts"
import { type Authenticated, fromRouter } from "../../caller-request.ts"
import { LargeRequests } from "../../large/large-requests.ts"
import { takeRoom } from "../../large/take-room.ts"
import { originOf } from "../../request.ts"
import { makeAnswerIn } from "../reply.ts"
import { decodeQuery } from "../responses/list-query.ts"
import { askedAs } from "./asked-as.ts"
import { makeFindBatch } from "./find-batch.ts"

const mostRequests = 100_000
const windowMs = dayMs
/** The path of a request: one that is sent alone. */
const path = "/anthropic/v1/messages"

const SentRequest = Schema.Struct({
  custom_id: Schema.String.check(
    Schema.isPattern(/^[a-zA-Z0-9_-]{1,64}$/, { expected: "1 to 64 letters, digits, _ and -" }),
  ),
  params: Schema.JsonObject,
})
const Rest = Schema.Struct({ requests: Schema.Tuple([]) })

const Id = Schema.optionalKey(Schema.String.check(Schema.isMaxLength(64)))
const Query = Schema.Struct({
  limit: Schema.NumberFromString.check(Schema.isInt(), Schema.isBetween({ minimum: 1, maximum: 1000 })).pipe(
    Schema.withDecodingDefaultKey(Effect.succeed("20")),
  ),
  after_id: Id,
  before_id: Id,
})

const statusOf = ({ endedAt, cancelledAt }: Batch) =>
  endedAt !== undefined ? "ended" : cancelledAt !== undefined ? "canceling" : "in_progress"

/** The counts stay at `processing` until all requests have ended, as at Anthropic. */
const countsOf = ({ endedAt, lines, counts }: Batch) =>
  endedAt === undefined
    ? { processing: lines, succeeded: 0, errored: 0, canceled: 0, expired: 0 }
    : {
        processing: 0,
        succeeded: counts.succeeded,
        errored: counts.errored,
        canceled: counts.cancelled,
        expired: counts.expired,
      }

const batchObject = (batch: Batch, origin: string) => {
  const id = writtenBatchId("anthropic", batch.id)
  return {
    id,
    type: "message_batch",
    processing_status: statusOf(batch),
    request_counts: countsOf(batch),
    ended_at: batch.endedAt?.toISOString() ?? null,
    created_at: batch.createdAt.toISOString(),
    expires_at: batch.endsAt.toISOString(),
    archived_at: null,
    cancel_initiated_at: batch.cancelledAt?.toISOString() ?? null,
    results_url: batch.endedAt === undefined ? null : `${origin}/anthropic/v1/messages/batches/${id}/results`,
  }
}

/** The requests in a body, or a fault of the body as a whole. */
async function* linesIn(list: ListIn): AsyncGenerator<SentLine> {
  let at = 0
  for await (const text of list.elements()) {
    const read = Result.flatMap(parseBody(Buffer.from(text)), (json) => decodeJson(SentRequest, json))
    const body = new JsonSource(text).textAt(["params"])
    const number = ++at
    if (Result.isFailure(read) || body === undefined) {
      const field = Result.isFailure(read) ? fieldOf(read.failure) : undefined
      const message = Result.isFailure(read) ? read.failure.message : "is not valid JSON"
      const [param, fault] =
        field === undefined
          ? [`requests.${at - 1}`, message]
          : [`requests.${at - 1}.${field}`, message.slice(field.length + ": ".length)]
      yield { number, problem: { code: "invalid_request", message: fault, param } }
    } else yield { number, line: { id: read.success.custom_id, path, body } }
  }
}

export const anthropicBatchRoutes = HttpRouter.use(
  Effect.fnUntraced(function* (router) {
    const batches = yield* Batches
    const gate = yield* Gate
    const large = yield* LargeRequests
    const config = yield* WeirConfig
    const answerIn = yield* makeAnswerIn

    const find = yield* makeFindBatch("anthropic", (id) => `Message batch not found: ${id}`)
    const reply = (batch: Batch, { request }: Authenticated) =>
      HttpServerResponse.jsonUnsafe(batchObject(batch, originOf(config, request)))

    const create = Effect.fnUntraced(function* (call: Authenticated) {
      const { caller, body, request } = call
      yield* gate.admit(plainRequest(caller))
      const list = new ListIn(body, ["requests"])
      if (!list.isThere) yield* Effect.fromResult(parseBody(body))
      if (!list.isThere) return yield* invalidInput([{ path: "requests", message: "is a list of requests" }])
      const tags = request.headers["x-svc-tags"]
      const batch = yield* batches.create({
        caller,
        api: "anthropic",
        lines: linesIn(list),
        // A request that its route refuses has the refusal as its result, as at Anthropic.
        problemOf: () => undefined,
        refuses: true,
        rest: () =>
          Result.map(
            Result.flatMap(list.rest(), (json) => decodeJson(Rest, json)),
            () => ({}),
          ),
        mostLines: mostRequests,
        windowMs,
        asked: yield* askedAs(call),
        facts: { resultsMs: keptMs, ...(tags !== undefined && { tags }) },
      })
      return reply(batch, call)
    })

    const retrieve = (call: Authenticated, id: string) => Effect.map(find(call, id), (batch) => reply(batch, call))

    const cancel = Effect.fnUntraced(function* (call: Authenticated, id: string) {
      yield* batches.cancel(yield* find(call, id))
      return yield* retrieve(call, id)
    })

    const remove = Effect.fnUntraced(function* (call: Authenticated, id: string) {
      const isErased = yield* batches.erase(yield* find(call, id))
      if (!isErased) return yield* stillRuns
      return HttpServerResponse.jsonUnsafe({ id, type: "message_batch_deleted" })
    })

    const results = Effect.fnUntraced(function* (call: Authenticated, id: string) {
      const batch = yield* find(call, id)
      if (batch.endedAt === undefined) return yield* noResults
      const bytes = yield* batches.results(batch)
      return HttpServerResponse.stream(bytes === undefined ? Stream.empty : Stream.orDie(bytes), {
        contentType: "application/x-jsonl",
      })
    })

    const list = Effect.fnUntraced(function* (call: Authenticated) {
      const { caller, request } = call
      const { limit, after_id: after, before_id: before } = yield* decodeQuery(Query, call)
      const last = before ?? after
      const from = last === undefined ? undefined : yield* find(call, last)
      const page = { api: "anthropic", limit, after: from?.id, isBackwards: before !== undefined }
      const { batches: found, hasMore } = yield* batches.list(caller.org.id, ownerOf(caller), page)
      const newestFirst = before === undefined ? found : found.toReversed()
      const data = newestFirst.map((batch) => batchObject(batch, originOf(config, request)))
      return HttpServerResponse.jsonUnsafe({
        data,
        has_more: hasMore,
        first_id: data[0]?.id ?? null,
        last_id: data.at(-1)?.id ?? null,
      })
    })

    const base = "/anthropic/v1/messages/batches"
    type Answer = typeof retrieve | typeof cancel | typeof remove | typeof results
    const withId = (method: "GET" | "POST" | "DELETE", below: string, answer: Answer) =>
      router.add(method, `${base}/:id${below}`, (request) =>
        Effect.flatMap(HttpRouter.params, ({ id = "" }) =>
          answerIn(api, fromRouter(request), (call) => answer(call, id)),
        ),
      )
    yield* router.add("POST", base, (request) => {
      const sent = fromRouter(request)
      return Effect.scoped(answerIn(api, sent, create, config.bodyMaxBytes, takeRoom(large, sent)))
    })
    yield* router.add("GET", base, (request) => answerIn(api, fromRouter(request), list))
    yield* withId("GET", "", retrieve)
    yield* withId("DELETE", "", remove)
    yield* withId("POST", "/cancel", cancel)
    yield* withId("GET", "/results", results)
  }),
)

const stillRuns = serviceError(
  "bad_request",
  "The message batch is still processing: cancel it, and delete it once it has ended",
)
const noResults = serviceError("bad_request", "The results of the message batch are there once it has ended")
