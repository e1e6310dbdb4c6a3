/** Messages that are carried to Anthropic, and to Claude on the clouds. */
import { Result } from "effect"
import { cut, type JsonEdit, set } from "../../protocol/json-edit.ts"
import type { SentBody } from "../carried-request.ts"
import { commonEdits, limitEdit, losesReasoning, type ParamPlaces, paramEdits } from "../carry.ts"
import type { Carry, VendorRequest } from "../dialect.ts"
import { encodeExtras } from "../extras.ts"
import type { EncodeRefusal, WireRequest } from "../wire.ts"
import { betasOf, messagesWire, words } from "./vendor-request.ts"

const places: ParamPlaces = {
  temperature: [["temperature"]],
  topP: [["top_p"]],
  stop: [["stop_sequences"]],
  topK: [["top_k"]],
}

export const carriedMessages = (
  request: VendorRequest,
  sent: SentBody,
): Result.Result<WireRequest<Uint8Array>, EncodeRefusal> =>
  Result.map(encodeExtras(request.extras, words), () =>
    messagesWire(
      request,
      betasFor(request, sent),
      sent.edited([set(request.model, "model"), ...messageEdits(request, sent)]),
    ),
  )

export const carryMessages: Carry = { api: "anthropic", encode: carriedMessages }

/** The edits of a body wherever Claude runs. */
export const messageEdits = (request: VendorRequest, sent: SentBody): ReadonlyArray<JsonEdit> => [
  ...limitEdit(request, sent.asked, ["max_tokens"]),
  ...paramEdits(request, sent.asked, places),
  ...commonEdits(request, sent, { toolChoice: "tool_choice" }),
  ...(losesReasoning(request, sent) ? [cut("thinking"), cut("output_config", "effort")] : []),
  ...searchEdits(request, sent),
  // Members of SDKs and of clouds, which Anthropic's API refuses.
  ...["betas", "anthropic_version"].filter((name) => Object.hasOwn(sent.head, name)).map((name) => cut(name)),
]

/** A search is made as often as it is held. */
const searchEdits = ({ hosted }: VendorRequest, { own }: SentBody): ReadonlyArray<JsonEdit> => {
  if (hosted === undefined || !hosted.units.includes("web_search")) return []
  const searches = own.hosted.filter(({ unit, isFree }) => unit === "web_search" && !isFree)
  return searches.map(({ path, maxUses }) => set(Math.min(maxUses, hosted.most), ...path, "max_uses"))
}

/** The features that its client asked for, and those that its blocks need. */
export const betasFor = (request: VendorRequest, { betas }: SentBody): ReadonlyArray<string> => [
  ...new Set([...betas, ...betasOf(request)]),
]
