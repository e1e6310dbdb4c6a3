/**
 * The result of a call as a model may read it: it is a part of the model's prompt, under the policies of prompts. A value that is masked
 * gets its mark, and a result that is denied is withheld.
 */
import { Effect, Result, Schema } from "effect"
import type { Caller } from "../../identity/caller.ts"
import type { EngineAccount } from "../../policies/engines/engine-price.ts"
import { RequestMasks } from "../../policies/masks/engine-masks.ts"
import type { Marks } from "../../policies/masks/marks.ts"
import { maskBody, textsWithMarks } from "../../policies/masks/mask-request.ts"
import type { Parts } from "../../policies/parts.ts"
import { Review } from "../../policies/review.ts"
import { ToolResultBlock } from "../../protocol/block.ts"
import { parseBody } from "../../protocol/json/json-body.ts"

interface Reviewing {
  readonly caller: Caller
  readonly requestId: string
  readonly account: EngineAccount
  /** The marks of the exchange's request. */
  readonly marks: Marks | undefined
}

/** The form of a request that has the result, as masks read requests. */
const Sent = Schema.Struct({ thread: Schema.Tuple([Schema.Struct({ blocks: Schema.Tuple([ToolResultBlock]) })]) })
const readSent = Schema.decodeUnknownResult(Sent)

export const makeReviewedResult = Effect.gen(function* () {
  const masks = yield* RequestMasks
  const { judge } = yield* Review

  const masked = Effect.fnUntraced(function* (
    result: ToolResultBlock,
    { caller, requestId, account, marks }: Reviewing,
  ) {
    const rules = masks.byRules(caller)
    const areAsked = masks.areAsked(caller)
    if (rules === undefined && !areAsked) return result
    const body = Buffer.from(JSON.stringify({ thread: [{ role: "tool", blocks: [result] }] }))
    const all = areAsked ? yield* masks.byEngines(caller, requestId, textsWithMarks(body, rules), account) : rules
    const read = Result.flatMap(parseBody(maskBody(body, all, marks).body), readSent)
    return Result.isSuccess(read) ? read.success.thread[0].blocks[0] : withheld(result)
  })

  return Effect.fnUntraced(function* (result: ToolResultBlock, about: Reviewing): Effect.fn.Return<ToolResultBlock> {
    const inbound = about.caller.policies.inbound.filter(({ action }) => action !== "mask")
    if (about.caller.policies.inbound.length === 0) return result
    const made = yield* Effect.result(masked(result, about))
    if (Result.isFailure(made)) return withheld(result)
    if (inbound.length === 0) return made.success
    const text = textOf(made.success)
    const read = (parts: Parts) => Effect.succeed(parts.has("toolResults") ? text : "")
    const { denial, refusal } = yield* judge(inbound, "request", read, { account: about.account, earlier: undefined })
    return denial === undefined && refusal === undefined ? made.success : withheld(result)
  })
})

const textOf = ({ v, blocks = [] }: ToolResultBlock): string =>
  v ?? blocks.flatMap((block) => (block.t === "text" ? [block.v] : [])).join("\n")

const withheld = ({ id }: ToolResultBlock): ToolResultBlock => ({
  t: "tool_result",
  id,
  v: "A policy withholds the result.",
  isError: true,
})
