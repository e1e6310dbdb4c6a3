/** Makes responses in the background once more whose node has died, by the handler that made them. */
import { Effect, Layer } from "effect"
import { newRequestId } from "../../../calls/calls.ts"
import { responsesApi } from "../../../dialects/openai-responses/client.ts"
import { objectAt, parseObject } from "../../../dialects/parse/json.ts"
import { Callers } from "../../../identity/callers.ts"
import { BackgroundResponses } from "../../../kept-responses/background-responses.ts"
import type { RepeatedResponse } from "../../../kept-responses/lost-responses.ts"
import { toServiceError } from "../../../store/unavailable.ts"
import { LineResponse } from "../batches/line-response.ts"
import { ownRequest } from "../batches/own-request.ts"
import { errorReply } from "../error-reply.ts"
import { CompatibleHandlers } from "../exchange.ts"

const path = "/openai/v1/responses"

export const layerRepeatLost = Layer.effectDiscard(
  Effect.gen(function* () {
    const handlerOf = yield* CompatibleHandlers
    const callers = yield* Callers
    const background = yield* BackgroundResponses

    const run = Effect.fnUntraced(function* (repeated: RepeatedResponse) {
      const { owner, keyId, request } = repeated
      const endUserId = owner.endUser === "" ? undefined : owner.endUser
      const caller = yield* callers.known({ keyId, isApplication: owner.app !== "", endUserId })
      const handler = handlerOf(path, "")
      if (handler === undefined) return yield* Effect.die(new Error(`No route answers ${path}`))
      const response = new LineResponse()
      yield* handler(ownRequest(path, request.body, request.headers, { caller, repeated }), response)
      const { status, body } = response.reply
      // Work that goes on at a vendor is followed later, if this node or its caller has no room now.
      const isLater = repeated.work !== undefined && (status === 429 || status >= 500)
      return status < 400 || isLater ? undefined : failureIn(body)
    })
    yield* background.repeatWith({
      newRef: newRequestId,
      run: (repeated) =>
        Effect.catch(run(repeated), (error) =>
          error._tag === "StoreUnavailable" && repeated.work !== undefined
            ? Effect.undefined
            : Effect.succeed(failureIn(errorReply(responsesApi, toServiceError(error), repeated.ref).body)),
        ),
    })
  }),
)

/** The error of a reply, as a response has it. */
const failureIn = (body: string): object => {
  const { message } = objectAt(parseObject(body) ?? {}, "error") ?? {}
  return { code: "server_error", message: typeof message === "string" ? message : "The request was refused" }
}
