/** Requests of batches, by the handlers of their routes: what a client may ask for alone, it may ask for in a batch. */
import { Effect, Layer } from "effect"
import { Overload } from "../../../admission/overload.ts"
import { LineCalls, type LineReply, type LineRequest } from "../../../batches/line-calls.ts"
import { Calls, newRequestId } from "../../../calls/calls.ts"
import type { CallPrice } from "../../../calls/price-call.ts"
import { chatApi } from "../../../dialects/openai-chat/client.ts"
import type { UploadRequest } from "../../caller-request.ts"
import { errorReply } from "../error-reply.ts"
import { CompatibleHandlers } from "../exchange.ts"
import { apiBelow } from "../reply.ts"
import { LineResponse } from "./line-response.ts"
import { ownRequest } from "./own-request.ts"

export const layerLineCalls = Layer.effect(
  LineCalls,
  Effect.gen(function* () {
    const handlerOf = yield* CompatibleHandlers
    const overload = yield* Overload
    const calls = yield* Calls

    const answer = Effect.fnUntraced(function* (
      { path, ...line }: LineRequest & { readonly requestId?: string },
      priced?: (price: CallPrice) => void,
    ): Effect.fn.Return<LineReply> {
      const handler = handlerOf(path, "")
      if (handler === undefined) return yield* Effect.die(new Error(`No route answers ${path}`))
      const response = new LineResponse()
      yield* handler(requestOf({ path, ...line }, priced), response)
      return response.reply
    })

    return LineCalls.of({
      price: (line) =>
        Effect.suspend(() => {
          let price: CallPrice | undefined
          const priced = (made: CallPrice) => {
            price = made
          }
          return Effect.map(answer(line, priced), (refusal) => price ?? refusal)
        }),
      run: (line) => answer(line),
      refused: (path, error) => {
        const requestId = newRequestId()
        const { headers, ...reply } = errorReply(apiBelow(path) ?? chatApi, error, requestId)
        return { ...reply, headers: { ...headers, "x-svc-request-id": requestId } }
      },
      has: (path) => handlerOf(path, "") !== undefined,
      hasRoom: Effect.suspend(() => Effect.isSuccess(overload.check(calls.open()))),
    })
  }),
)

const requestOf = (
  { caller, path, body, tags, requestId }: LineRequest & { readonly requestId?: string },
  priced: ((price: CallPrice) => void) | undefined,
): UploadRequest =>
  ownRequest(
    path,
    body,
    {
      ...(requestId !== undefined && { "idempotency-key": requestId }),
      ...(tags !== undefined && { "x-svc-tags": tags }),
    },
    { caller, ...(priced !== undefined && { priced }) },
  )
