/** The price of a call before it is made: the most that it can cost. Nothing is counted, held or asked. */
import { Effect } from "effect"
import type { Caller } from "../identity/caller.ts"
import type { Amount } from "../money/amount.ts"
import type { ServiceError } from "../protocol/error.ts"
import { invalidInput } from "../protocol/json/issues.ts"
import { lackingCapability } from "./admit-call.ts"
import type { Call } from "./held-call.ts"
import type { CallRequest, Task } from "./kind.ts"
import type { ClientReply } from "./reply/reply.ts"
import type { CallServices } from "./services.ts"
import { withTags } from "./tags.ts"

export interface CallPrice {
  readonly model: string
  readonly currency: string
  readonly amount: Amount
  /** The most tokens, for budgets of tokens. */
  readonly tokens: number
  /** The caller, with the tags of the call. */
  readonly caller: Caller
  /** Its targets, and the request of each. */
  readonly work: Pick<Task<object>, "targets" | "prepare" | "encode" | "partsAt" | "goesOn">
}

/** Fails as the call would, as far as that is known before it is admitted. */
export const priceCall = Effect.fnUntraced(function* <Request extends CallRequest, Body extends object>(
  services: CallServices,
  call: Call<Request, Body>,
  reply: ClientReply<Body>,
): Effect.fn.Return<CallPrice, ServiceError> {
  const { kind, requestId } = call
  const lacking = lackingCapability(call)
  if (lacking !== undefined) return yield* lacking
  const { request: asked, begun, masked } = yield* Effect.fromResult(call.decoded)
  const caller = yield* Effect.fromResult(withTags(call.caller, asked.meta?.tags))
  const catalogue = services.catalogue.current()
  const { openTools } = services
  const more = kind.completed?.(asked, { openTools, caller, marks: masked?.marks })
  const request = more === undefined ? asked : yield* more
  const nowMs = services.nowMs()
  const task = yield* Effect.fromResult(kind.plan({ services, requestId, request, caller, catalogue, nowMs, reply }))
  yield* Effect.promise(async () => task.marked?.close?.())
  if (task.asksForJob === true || begun !== undefined) return yield* noBackground
  if (task.opening !== undefined) return yield* noStream
  return {
    model: task.model,
    currency: task.currency,
    amount: task.targets.every(({ isOwn }) => isOwn) ? 0n : task.holdAmount,
    tokens: task.holdTokens,
    caller,
    work: task,
  }
})

const refusal = (path: string, message: string) => invalidInput([{ path, message }])
const noStream = refusal("stream", "a request of a batch cannot be streamed")
const noBackground = refusal("background", "a request of a batch cannot run in the background")
