/** The requirements of Anthropic's API, wherever Claude runs with it. */
import { Result } from "effect"
import type { Message } from "../../protocol/block.ts"
import { lacksOutput, type VendorRequest } from "../chat-dialect.ts"
import { makersName } from "../vendor/family.ts"
import { withoutSampling } from "../vendor/model-rules.ts"
import { mends, type Requirement, refuses } from "../vendor/requirements.ts"
import { isAnyObject, ofObject, withoutTopBranches, withToolSchemas } from "../vendor/schemas.ts"
import { signatureFor } from "../vendor/signature.ts"
import { callingTurn, hashedIds, pairCalls, renameCalls } from "../vendor/tool-loops.ts"
import type { EncodeRefusal } from "../wire.ts"
import { instructionDocs } from "./instructions.ts"
import { claudeSchema } from "./output-schema.ts"
import { claudeVersion, effortOf, encodeThinking, versionOf } from "./thinking.ts"

const docs = "https://platform.claude.com/docs/en"
const messages = `${docs}/api/messages`
const toolUse = `${docs}/agents-and-tools/tool-use/implement-tool-use`
const thinking = `${docs}/build-with-claude/extended-thinking`

/** Whether the model is given a budget of thinking; from 4.6 on, models choose their own. */
const thinksByBudget = (request: VendorRequest): boolean =>
  claudeVersion(request) < 4.6 && encodeThinking(request) !== undefined

const withoutThinking = (request: VendorRequest): VendorRequest => ({ ...request, reasoning: undefined })

const isForced = ({ toolChoice, tools }: VendorRequest): boolean =>
  tools.length > 0 && (toolChoice === "required" || typeof toolChoice === "object")

/** A turn that calls tools and thinks begins with its thinking, signed by Anthropic. */
const loopLacksThinking = ({ thread }: VendorRequest): boolean => {
  const turn = callingTurn(thread)
  if (turn === undefined) return false
  const [first] = turn
  return !(
    first?.t === "reasoning" &&
    (first.redacted === true || signatureFor("anthropic", first.signature) !== undefined)
  )
}

export const isBlank = ({ t, ...block }: Message["blocks"][number]): boolean =>
  t === "text" && "v" in block && block.v.trim() === ""

/** The last message may begin the model's own reply, and may be blank. */
const withoutBlankText = (request: VendorRequest): VendorRequest =>
  request.thread.some(({ blocks }) => blocks.some(isBlank))
    ? { ...request, thread: request.thread.flatMap(withWords) }
    : request

const withWords = (message: Message): ReadonlyArray<Message> => {
  const blocks = message.blocks.filter((block) => !isBlank(block))
  if (blocks.length === message.blocks.length) return [message]
  if (blocks.length === 0) return []
  switch (message.role) {
    case "system":
      return [{ role: "system", blocks: message.blocks.filter((block) => !isBlank(block)) }]
    case "user":
      return [{ role: "user", blocks: message.blocks.filter((block) => !isBlank(block)) }]
    case "assistant":
      return [{ role: "assistant", blocks: message.blocks.filter((block) => !isBlank(block)) }]
    case "tool":
      return [message]
  }
}

const prefillRefusal = (request: VendorRequest): EncodeRefusal | undefined =>
  claudeVersion(request) >= 4.6 && request.thread.at(-1)?.role === "assistant"
    ? { capability: "prefill", message: "this model does not go on with what a thread makes it say" }
    : undefined

/** The text that a model continues must not end with a space. */
const withTrimmedEnd = (request: VendorRequest): VendorRequest => {
  const last = request.thread.at(-1)
  const block = last?.blocks.at(-1)
  if (last?.role !== "assistant" || block?.t !== "text" || block.v === block.v.trimEnd()) return request
  const end: Message = { role: "assistant", blocks: [...last.blocks.slice(0, -1), { ...block, v: block.v.trimEnd() }] }
  return { ...request, thread: [...request.thread.slice(0, -1), end] }
}

/** The value that changes nothing. */
const neutral = 1
const samplers = ["temperature", "topP", "topK"] as const

/** The effort, and the level of reasoning, that the model has: it thinks by effort from 4.6 on. */
const withEffort = (request: VendorRequest): VendorRequest => {
  const { reasoning, effort: asked } = request
  const name = makersName(request)
  const isHigh = asked === "xhigh" || asked === "max"
  // From 5 on, a model does not work at the highest effort without thinking.
  const effort = effortOf(name, isHigh && reasoning === "off" && versionOf(name) >= 5 ? "high" : asked)
  const level = reasoning === "xhigh" && versionOf(name) >= 4.6 ? effortOf(name, reasoning) : reasoning
  return effort === asked && level === reasoning ? request : { ...request, effort, reasoning: level }
}

const withOneSampler = (request: VendorRequest): VendorRequest => {
  const { temperature, topP } = request
  const isBoth = temperature !== undefined && topP !== undefined && encodeThinking(request) === undefined
  if (!isBoth || claudeVersion(request) < 4.1) return request
  return withoutSampling(request, temperature === neutral && topP !== neutral ? ["temperature"] : ["topP"])
}

/** The lowest `topP` with which a model thinks. */
const leastTopP = 0.95

const withoutSamplingBesideThinking = (request: VendorRequest): VendorRequest => {
  if (encodeThinking(request) === undefined) return request
  const { temperature = neutral, topP = neutral } = request
  return withoutSampling(request, [
    ...(temperature === neutral ? [] : (["temperature"] as const)),
    ...(topP >= leastTopP ? [] : (["topP"] as const)),
    "topK",
  ])
}

/** An object without properties has none here. */
const anyObjectRefusal = ({ output }: VendorRequest): EncodeRefusal | undefined =>
  output !== undefined && isAnyObject(output.schema) ? lacksOutput : undefined

const withClaudeOutput = (request: VendorRequest): VendorRequest => {
  const { output } = request
  if (output === undefined) return request
  const { schemaJson: _text, ...rest } = output
  return { ...request, output: { ...rest, schema: claudeSchema(output.schema) } }
}

const noMessage: EncodeRefusal = { capability: "thread", message: "this model needs a message with words" }

/** The requirements of Anthropic's models, also behind another API. */
export const claudeRequirements: ReadonlyArray<Requirement> = [
  {
    rule: "no forced tool beside a thinking budget",
    source: thinking,
    ofModel: true,
    meet: mends((request) => (isForced(request) && thinksByBudget(request) ? withoutThinking(request) : request)),
  },
  {
    rule: "a tool loop begins with its thinking",
    source: thinking,
    ofThreads: true,
    meet: mends((request) =>
      thinksByBudget(request) && loopLacksThinking(request) ? withoutThinking(request) : request,
    ),
  },
  {
    rule: "efforts of a model",
    source: `${docs}/build-with-claude/effort`,
    ofModel: true,
    meet: mends(withEffort),
  },
  {
    rule: "no sampling from 4.7 on",
    source: `${docs}/about-claude/models/migration-guide`,
    ofModel: true,
    meet: mends((request) => (claudeVersion(request) < 4.7 ? request : withoutSampling(request, samplers))),
  },
  {
    rule: "temperature or top_p",
    source: `${docs}/about-claude/models/migration-guide`,
    ofModel: true,
    meet: mends(withOneSampler),
  },
  { rule: "sampling beside thinking", source: thinking, ofModel: true, meet: mends(withoutSamplingBesideThinking) },
]

export const anthropicRequirements: ReadonlyArray<Requirement> = [
  { rule: "no blank text", source: messages, meet: mends(withoutBlankText) },
  {
    rule: "a message at least",
    source: messages,
    meet: refuses(({ thread }) => (thread.every(({ role }) => role === "system") ? noMessage : undefined)),
  },
  { rule: "results directly after their calls", source: toolUse, meet: pairCalls },
  // pairCalls refuses others.
  { rule: "results of calls only", source: toolUse },
  {
    rule: "ids of calls",
    source: messages,
    meet: mends(renameCalls(hashedIds(/^[a-zA-Z0-9_-]+$/, 30, "toolu_"))),
    ofThreads: true,
  },
  // renameCalls gives each its own.
  { rule: "ids of calls differ", source: messages },
  {
    rule: "the end of a thread",
    source: `${docs}/build-with-claude/prompt-engineering/prefill-claudes-response`,
    meet: refuses(prefillRefusal),
  },
  { rule: "no blank end", source: messages, meet: mends(withTrimmedEnd) },
  {
    rule: "schemas of tools",
    source: toolUse,
    meet: mends(withToolSchemas((schema) => ofObject(withoutTopBranches(schema)))),
  },
  {
    rule: "schemas of output",
    source: `${docs}/build-with-claude/structured-outputs`,
    meet: (request) => Result.map(refuses(anyObjectRefusal)(request), withClaudeOutput),
  },
  ...claudeRequirements,
  // The writer of the request meets these, and the edits of a carried request the first ones.
  { rule: "instructions in a thread", source: instructionDocs },
  { rule: "thinking budgets", source: thinking },
  { rule: "modes of thinking", source: `${docs}/build-with-claude/adaptive-thinking` },
  { rule: "signatures of thinking", source: thinking },
  { rule: "cache breakpoints", source: `${docs}/build-with-claude/prompt-caching` },
  { rule: "names of tools differ", source: toolUse },
  { rule: "a choice needs tools", source: toolUse },
]
