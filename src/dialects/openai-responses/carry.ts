/** Responses that are carried to a vendor with the same API. */
import { Result } from "effect"
import { cut, type JsonEdit, set } from "../../protocol/json/json-edit.ts"
import type { SentBody } from "../carry/carried-request.ts"
import { commonEdits, lackedEdits, limitEdit, losesReasoning, type ParamPlaces, paramEdits } from "../carry/carry.ts"
import type { Carry, VendorRequest } from "../chat-dialect.ts"
import { isAbsent } from "../client/fields.ts"
import { openaiEffort, openaiModels } from "../openai-chat/models.ts"
import { makersName } from "../vendor/family.ts"
import { lackedBy, ruleOf } from "../vendor/model-rules.ts"
import type { WireRequest } from "../wire.ts"

const places: ParamPlaces = {
  temperature: [["temperature"]],
  topP: [["top_p"]],
  logprobs: [["top_logprobs"]],
  verbosity: [["text", "verbosity"]],
  serviceTier: [["service_tier"]],
  parallelToolCalls: [["parallel_tool_calls"]],
}

/** @param wire the request with a body */
export const carryResponses = (
  wire: <Body extends string | Uint8Array>(request: VendorRequest, body: Body) => WireRequest<Body>,
): Carry => ({
  api: "openai-responses",
  encode: (request, sent) => Result.succeed(wire(request, sent.edited(editsOf(request, sent)))),
})

const editsOf = (request: VendorRequest, sent: SentBody): ReadonlyArray<JsonEdit> => [
  set(request.model, "model"),
  ...limitEdit(request, sent.asked, ["max_output_tokens"]),
  ...lackedEdits(sent, lackedBy(openaiModels, request), places),
  ...paramEdits(request, sent.asked, places),
  ...commonEdits(request, sent, { toolChoice: "tool_choice" }),
  ...storeEdits(request, sent),
  ...effortEdits(request, sent),
  ...(request.hosted === undefined ? [] : [set(request.hosted.most, "max_tool_calls")]),
]

const effortEdits = (request: VendorRequest, sent: SentBody): ReadonlyArray<JsonEdit> => {
  if (ruleOf(openaiModels, request)?.levels?.length === 0)
    return isAbsent(sent.head["reasoning"]) ? [] : [cut("reasoning")]
  if (losesReasoning(request, sent)) return [cut("reasoning", "effort")]
  const { reasoning } = request
  if (reasoning === undefined || reasoning === sent.asked.reasoning) return []
  return [set(openaiEffort(reasoning, makersName(request)), "reasoning", "effort")]
}

const sealed = "reasoning.encrypted_content"

/** Nothing is stored at the vendor. A client that counts on the store gets the reasoning to send it back, sealed. */
const storeEdits = (request: VendorRequest, { head }: SentBody): ReadonlyArray<JsonEdit> => {
  const canReason = request.canReason && ruleOf(openaiModels, request)?.levels?.length !== 0
  const { store, include } = head
  if (store === false) return []
  const included: ReadonlyArray<unknown> = Array.isArray(include) ? include : []
  const isSealed = !canReason || included.includes(sealed)
  return [set(false, "store"), ...(isSealed ? [] : [set([...included, sealed], "include")])]
}
