/** Lists of items as OpenAI's API gives them, and queries of its methods. */
import { Effect, Schema } from "effect"
import { HttpServerResponse } from "effect/http"
import type { JsonObject } from "../../../dialects/parse/json.ts"
import { invalidInput, issuesOf } from "../../../protocol/json/issues.ts"
import type { Authenticated } from "../../caller-request.ts"

const mostListed = 100

/** Source: https://platform.openai.com/docs/api-reference/responses/input-items */
export const ListQuery = Schema.Struct({
  limit: Schema.NumberFromString.check(Schema.isInt(), Schema.isBetween({ minimum: 1, maximum: mostListed })).pipe(
    Schema.withDecodingDefaultKey(Effect.succeed("20")),
  ),
  after: Schema.optionalKey(Schema.String.check(Schema.isMaxLength(128))),
  order: Schema.Literals(["asc", "desc"]).pipe(Schema.withDecodingDefaultKey(Effect.succeed("desc" as const))),
})

export const decodeQuery = <A, I>(query: Schema.Codec<A, I>, { request }: Authenticated) =>
  Effect.mapError(
    Schema.decodeUnknownEffect(query)(
      Object.fromEntries(new URL(request.url, "http://gateway").searchParams.entries()),
    ),
    (error) => invalidInput(issuesOf(error)),
  )

export const unknownAfter = invalidInput([{ path: "after", message: "is the id of no item" }])

/** A part of a list of items. */
export const listReply = (data: ReadonlyArray<JsonObject>, hasMore: boolean) =>
  HttpServerResponse.jsonUnsafe({
    object: "list",
    data,
    first_id: data[0]?.["id"] ?? null,
    last_id: data.at(-1)?.["id"] ?? null,
    has_more: hasMore,
  })
