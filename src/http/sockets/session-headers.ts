/** Headers of a request for a realtime session, in any API: the caller's tags, and the names that its usage records get. */
import { Effect, Schema } from "effect"
import { withTags } from "../../calls/tags.ts"
import type { Caller } from "../../identity/caller.ts"
import { invalidInput, issuesOf } from "../../protocol/json/issues.ts"
import { SessionId } from "../../protocol/session.ts"
import { Tags, tagsInHeader } from "../../protocol/values/tags.ts"
import type { RuntimeRequest } from "../caller-request.ts"
import type { RouteError } from "../respond.ts"

const decodeTags = Schema.decodeUnknownEffect(Tags)
const readTags = (text: string) =>
  Effect.mapError(decodeTags(tagsInHeader(text)), (error) => invalidInput(issuesOf(error)))

const decodeHeaders = Schema.decodeUnknownEffect(
  Schema.Struct({
    "x-svc-session-id": Schema.optionalKey(SessionId),
    "x-svc-purpose": Schema.optionalKey(
      Schema.String.check(Schema.isPattern(/^[\w.:/-]{1,64}$/, { expected: "a purpose such as summary" })),
    ),
  }),
)

export const sessionHeaders = Effect.fnUntraced(function* (
  { headers }: Pick<RuntimeRequest, "headers">,
  caller: Caller,
): Effect.fn.Return<
  { readonly caller: Caller; readonly sessionId: string | undefined; readonly purpose: string | undefined },
  RouteError
> {
  const names = yield* Effect.mapError(decodeHeaders(headers), (error) => invalidInput(issuesOf(error)))
  const sent = headers["x-svc-tags"]
  const tags = sent === undefined ? undefined : yield* readTags(sent)
  return {
    caller: yield* Effect.fromResult(withTags(caller, tags)),
    sessionId: names["x-svc-session-id"],
    purpose: names["x-svc-purpose"],
  }
})
