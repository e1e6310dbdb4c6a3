/** `/openai/v1/responses/{id}`: kept responses, their items, and their erasure. */
import { Effect, Schema } from "effect"
import { HttpRouter, HttpServerResponse } from "effect/http"
import { chatApi } from "../../../dialects/openai-chat/client.ts"
import { withItemId } from "../../../dialects/openai-responses/items.ts"
import type { Caller } from "../../../identity/caller.ts"
import { ownerOf } from "../../../kept-responses/kept-response.ts"
import { KeptResponses } from "../../../kept-responses/kept-responses.ts"
import { serviceError } from "../../../protocol/error.ts"
import { invalidInput, issuesOf } from "../../../protocol/json/issues.ts"
import { type Authenticated, fromRouter } from "../../caller-request.ts"
import { makeAnswerIn } from "../reply.ts"

const mostListed = 100

/** Source: https://platform.openai.com/docs/api-reference/responses/input-items */
const ListQuery = Schema.Struct({
  limit: Schema.NumberFromString.check(Schema.isInt(), Schema.isBetween({ minimum: 1, maximum: mostListed })).pipe(
    Schema.withDecodingDefaultKey(Effect.succeed("20")),
  ),
  after: Schema.optionalKey(Schema.String.check(Schema.isMaxLength(128))),
  order: Schema.Literals(["asc", "desc"]).pipe(Schema.withDecodingDefaultKey(Effect.succeed("desc" as const))),
})

const queryOf = ({ request }: Authenticated) =>
  Effect.mapError(
    Schema.decodeUnknownEffect(ListQuery)(
      Object.fromEntries(new URL(request.url, "http://gateway").searchParams.entries()),
    ),
    (error) => invalidInput(issuesOf(error)),
  )

export const responseRoutes = HttpRouter.use(
  Effect.fnUntraced(function* (router) {
    const kept = yield* KeptResponses
    const answerIn = yield* makeAnswerIn

    const find = Effect.fnUntraced(function* (caller: Caller, id: string) {
      return (yield* kept.find(caller.org, ownerOf(caller), id)) ?? (yield* responseNotFound(id))
    })

    const retrieve = Effect.fnUntraced(function* ({ caller }: Authenticated, id: string) {
      const { response } = yield* find(caller, id)
      return HttpServerResponse.text(response, { contentType: "application/json" })
    })

    const remove = Effect.fnUntraced(function* ({ caller }: Authenticated, id: string) {
      const isRemoved = yield* kept.remove(caller.org, ownerOf(caller), id)
      return isRemoved
        ? HttpServerResponse.jsonUnsafe({ id, object: "response", deleted: true })
        : yield* responseNotFound(id)
    })

    const listInput = Effect.fnUntraced(function* (call: Authenticated, id: string) {
      const { limit, after, order } = yield* queryOf(call)
      const { input } = yield* find(call.caller, id)
      const items = input.map((text, at) => withItemId(text, id, at))
      if (order === "desc") items.reverse()
      const from = after === undefined ? 0 : items.findIndex((item) => item["id"] === after) + 1
      if (after !== undefined && from === 0) {
        return yield* invalidInput([{ path: "after", message: "is the id of no item" }])
      }
      const data = items.slice(from, from + limit)
      return HttpServerResponse.jsonUnsafe({
        object: "list",
        data,
        first_id: data[0]?.["id"] ?? null,
        last_id: data.at(-1)?.["id"] ?? null,
        has_more: from + limit < items.length,
      })
    })

    const add = (
      method: "GET" | "DELETE",
      path: `/${string}`,
      answer: typeof listInput | typeof retrieve | typeof remove,
    ) =>
      router.add(method, path, (request) =>
        Effect.flatMap(HttpRouter.params, ({ id = "" }) =>
          answerIn(chatApi, fromRouter(request), (call) => answer(call, id)),
        ),
      )

    yield* add("GET", "/openai/v1/responses/:id", retrieve)
    yield* add("DELETE", "/openai/v1/responses/:id", remove)
    yield* add("GET", "/openai/v1/responses/:id/input_items", listInput)
  }),
)

const responseNotFound = (id: string) => serviceError("not_found", `Response with id '${id.slice(0, 128)}' not found.`)
