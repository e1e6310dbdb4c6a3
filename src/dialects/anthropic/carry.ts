/** Messages that are carried to Anthropic, and to Claude on the clouds. */
import { Result } from "effect"
import { Effort } from "../../protocol/exchange.ts"
import { cut, type JsonEdit, set } from "../../protocol/json/json-edit.ts"
import type { SentBody } from "../carry/carried-request.ts"
import { commonEdits, limitEdit, losesReasoning, type ParamPlaces, paramEdits } from "../carry/carry.ts"
import type { Carry, VendorRequest } from "../chat-dialect.ts"
import { objectAt, stringAt } from "../parse/json.ts"
import { encodeExtras } from "../vendor/extras.ts"
import { makersName } from "../vendor/family.ts"
import type { EncodeRefusal, WireRequest } from "../wire.ts"
import { instructionEdits } from "./instructions.ts"
import { claudeVersion, effortOf, encodeThinking } from "./thinking.ts"
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
  isCloud = false,
): Result.Result<WireRequest<Uint8Array>, EncodeRefusal> =>
  Result.map(encodeExtras(request.extras, words), () =>
    messagesWire(
      request,
      betasFor(request, sent),
      sent.edited([set(request.model, "model"), ...messageEdits(request, sent, isCloud)]),
    ),
  )

export const carryMessages: Carry = {
  api: "anthropic",
  encode: (request, sent) => carriedMessages(request, sent),
}

/** The edits of a body wherever Claude runs. */
export const messageEdits = (request: VendorRequest, sent: SentBody, isCloud: boolean): ReadonlyArray<JsonEdit> => [
  ...instructionEdits(request, sent.own.instructions, isCloud),
  ...limitEdit(request, sent.asked, ["max_tokens"]),
  ...paramEdits(request, sent.asked, places),
  ...commonEdits(request, sent, { toolChoice: "tool_choice" }),
  ...(isLost(request, sent) ? [cut("thinking"), cut("output_config", "effort")] : thinkingEdits(request, sent)),
  ...searchEdits(request, sent),
  // Members of SDKs and of clouds, which Anthropic's API refuses.
  ...["betas", "anthropic_version", "anthropic_beta"]
    .filter((name) => Object.hasOwn(sent.head, name))
    .map((name) => cut(name)),
]

/**
 * Whether the request loses its thinking or its effort, because the model's profile or the model does not allow it. Adaptive
 * thinking of a model whose name does not show its version stays as the client wrote it.
 */
const isLost = (request: VendorRequest, sent: SentBody): boolean =>
  !(claudeVersion(request) === 0 && request.canReason && modeOf(sent) === "adaptive") &&
  losesReasoning({ ...request, effort: sent.asked.effort }, sent)

const modeOf = ({ head }: Pick<SentBody, "head">): string | undefined => stringAt(objectAt(head, "thinking"), "type")

/** Thinking in the mode that the model has, within the limit of the output, and its effort. */
const thinkingEdits = (request: VendorRequest, { head, asked }: SentBody): ReadonlyArray<JsonEdit> => {
  const version = claudeVersion(request)
  const mode = modeOf({ head })
  const isOther =
    (mode === "adaptive" && version > 0 && version < 4.6) ||
    (mode === "enabled" && (version >= 4.7 || request.maxTokens !== asked.maxTokens))
  if (!isOther) return effortEdits(request, { head, asked })
  const thinking = encodeThinking(request)
  const edits = Object.entries(thinking?.fields ?? {}).map(([name, value]) => set(value, name))
  const effort = effortOf(makersName(request), request.effort ?? thinking?.effort)
  return [
    ...(edits.length === 0 ? [cut("thinking")] : edits),
    ...(effort === undefined ? effortEdits(request, { head, asked }) : [set(effort, "output_config", "effort")]),
  ]
}

const effortEdits = (
  request: VendorRequest,
  { head, asked }: Pick<SentBody, "head" | "asked">,
): ReadonlyArray<JsonEdit> => {
  const config = objectAt(head, "output_config")
  const said = Effort.literals.find((word) => word === config?.["effort"])
  if (said === undefined) return []
  const effort = asked.effort === undefined ? effortOf(makersName(request), said) : request.effort
  if (effort === said) return []
  if (effort !== undefined) return [set(effort, "output_config", "effort")]
  return [Object.keys(config ?? {}).length === 1 ? cut("output_config") : cut("output_config", "effort")]
}

/** The vendor makes at most as many searches as are held. */
const searchEdits = ({ hosted }: VendorRequest, { own }: SentBody): ReadonlyArray<JsonEdit> => {
  if (hosted === undefined || !hosted.units.includes("web_search")) return []
  let left = hosted.most
  return own.hosted
    .filter(({ unit }) => unit === "web_search")
    .map(({ path, maxUses }) => {
      const uses = Math.min(maxUses, left)
      left -= uses
      return uses === 0 ? cut(...path) : set(uses, ...path, "max_uses")
    })
}

/** The features that its client asked for, and the features that its blocks need. */
export const betasFor = (request: VendorRequest, { betas }: SentBody): ReadonlyArray<string> => [
  ...new Set([...betas, ...betasOf(request)]),
]
