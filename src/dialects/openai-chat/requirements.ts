/** The requirements of vendors of chat completions, by their profile. */
import { Result } from "effect"
import type { Message } from "../../protocol/block.ts"
import { lacksOutput, type VendorRequest } from "../chat-dialect.ts"
import { modelRequirements } from "../vendor/model-rules.ts"
import { mends, type Requirement, refuses } from "../vendor/requirements.ts"
import {
  ofObject,
  strictIfPossible,
  withJsonSaid,
  withoutTopBranches,
  withProperties,
  withToolSchemas,
} from "../vendor/schemas.ts"
import { callingTurn, pairCalls, renameCalls } from "../vendor/tool-loops.ts"
import type { EncodeRefusal } from "../wire.ts"
import type { ChatProfile } from "./chat-profile.ts"
import { openaiModelDocs } from "./models.ts"

const chat = "https://platform.openai.com/docs/api-reference/chat/create"
const tools = "https://platform.openai.com/docs/guides/function-calling"
const outputs = "https://platform.openai.com/docs/guides/structured-outputs"

const outputRefusal =
  (profile: ChatProfile) =>
  (request: VendorRequest): EncodeRefusal | undefined =>
    request.output !== undefined && profile.lacksOutput === true ? lacksOutput : undefined

const isForced = ({ toolChoice, tools: { length } }: VendorRequest): boolean =>
  length > 0 && (toolChoice === "required" || typeof toolChoice === "object")

/** A model that chooses its tools itself cannot be made to call one. */
export const choiceRefusal =
  (profile: ChatProfile) =>
  (request: VendorRequest): EncodeRefusal | undefined =>
    profile.choosesTools === true && isForced(request)
      ? { capability: "tool_choice", message: "this model chooses its tools itself" }
      : undefined

/** A model that has no tools calls none. */
const withoutForbiddenTools = (request: VendorRequest): VendorRequest =>
  request.toolChoice === "none" ? { ...request, tools: [], toolChoice: undefined } : request

/** Some models reason by default. */
const withoutThinking = (request: VendorRequest): VendorRequest =>
  request.canReason && request.reasoning !== "off" ? { ...request, reasoning: "off" } : request

const lacksReasoning = (message: Message): boolean =>
  message.role === "assistant" &&
  message.blocks.some(({ t }) => t === "tool_call") &&
  !message.blocks.some((block) => block.t === "reasoning" && block.redacted !== true && block.v !== "")

const loopLacksReasoning = ({ thread }: VendorRequest): boolean => {
  if (callingTurn(thread) === undefined) return false
  return thread.slice(thread.findLastIndex(({ role }) => role === "user") + 1).some(lacksReasoning)
}

const tooMany =
  (profile: ChatProfile, name: "stops" | "tools") =>
  ({ stop, tools: offered }: VendorRequest): EncodeRefusal | undefined => {
    const most = profile.openaiLimits?.[name] ?? Infinity
    const count = name === "stops" ? stop.length : offered.length
    return count > most ? { capability: name, message: `this model takes at most ${most} ${name}` } : undefined
  }

const tooManyStops =
  (most: number) =>
  ({ stop }: VendorRequest): EncodeRefusal | undefined =>
    stop.length > most ? { capability: "stops", message: `this model takes at most ${most} stops` } : undefined

const endRefusal = ({ thread }: VendorRequest): EncodeRefusal | undefined =>
  thread.at(-1)?.role === "assistant"
    ? { capability: "prefill", message: "this model does not go on with what a thread makes it say" }
    : undefined

const noMessage: EncodeRefusal = { capability: "thread", message: "this model needs a message" }

const tableOf = (profile: ChatProfile): ReadonlyArray<Requirement> => [
  {
    rule: "a message at least",
    source: chat,
    meet: refuses(({ thread }) => (thread.length === 0 ? noMessage : undefined)),
  },
  { rule: "results directly after their calls", source: tools, meet: pairCalls },
  // pairCalls refuses others.
  { rule: "results of calls only", source: tools },
  { rule: "ids of calls", source: chat, meet: mends(renameCalls(profile.callIds)), ofThreads: true },
  // renameCalls gives each its own.
  { rule: "ids of calls differ", source: tools },
  {
    rule: "schemas of tools",
    source: tools,
    meet: mends(withToolSchemas((schema) => withProperties(ofObject(withoutTopBranches(schema))))),
  },
  {
    rule: "JSON mode says JSON",
    source: outputs,
    meet: (request) => Result.map(refuses(outputRefusal(profile))(request), withJsonSaid),
  },
  ...(profile.models === undefined ? [] : modelRequirements(profile.models.rules, profile.models.source)),
  ...(profile.mostStops === undefined
    ? []
    : [
        {
          rule: "stops of a vendor",
          source: profile.mostStops.source,
          ofModel: true as const,
          meet: refuses(tooManyStops(profile.mostStops.most)),
        },
      ]),
  // The writer of the request meets these.
  { rule: "content or calls", source: chat },
  { rule: "a choice needs tools", source: tools },
  ...(profile.openaiLimits === undefined
    ? []
    : [
        { rule: "four stops", source: chat, ofModel: true as const, meet: refuses(tooMany(profile, "stops")) },
        { rule: "128 tools", source: tools, meet: refuses(tooMany(profile, "tools")) },
        { rule: "strict schemas of tools", source: outputs },
        // Both names of the limit are met by the writer, and by the edits of a carried request.
        { rule: "limits of a model", source: openaiModelDocs },
        { rule: "strict schemas of output", source: outputs, meet: mends(strictIfPossible) },
        { rule: "usage of streams", source: chat },
      ]),
  ...(profile.lacksOutput === true ? [{ rule: "JSON mode without a schema", source: outputs }] : []),
  ...(profile.choosesTools === true
    ? [
        {
          rule: "no choice of tools",
          source: "https://docs.z.ai/api-reference/llm/chat-completion",
          meet: (request: VendorRequest) => Result.map(refuses(choiceRefusal(profile))(request), withoutForbiddenTools),
        },
      ]
    : []),
  ...(profile.thinksFreelyOnly === true
    ? [
        {
          rule: "no forced tool beside thinking",
          source: "https://www.alibabacloud.com/help/en/model-studio/qwen-function-calling",
          meet: mends((request: VendorRequest) => (isForced(request) ? withoutThinking(request) : request)),
        },
      ]
    : []),
  ...(profile.loopsNeedReasoning === true
    ? [
        {
          rule: "a tool loop has its reasoning",
          source: "https://api-docs.deepseek.com/guides/thinking_mode",
          ofThreads: true as const,
          meet: mends((request: VendorRequest) => (loopLacksReasoning(request) ? withoutThinking(request) : request)),
        },
      ]
    : []),
  ...(profile.endsWithUser === true
    ? [{ rule: "the end of a thread", source: "https://docs.mistral.ai/api", meet: refuses(endRefusal) }]
    : []),
]

const tables = new WeakMap<ChatProfile, ReadonlyArray<Requirement>>()

export const chatRequirements = (profile: ChatProfile): ReadonlyArray<Requirement> => {
  const table = tables.get(profile) ?? tableOf(profile)
  tables.set(profile, table)
  return table
}
