/** Requests that Anthropic refuses, beyond their shape, from the top down. */
import { instructionDocs, instructionPlaces, takesInstructions } from "../../../dialects/anthropic/instructions.ts"
import { effortOf, versionOf } from "../../../dialects/anthropic/thinking.ts"
import { type JsonObject, numberAt, objectAt, objectsAt, stringAt } from "../../../dialects/parse/json.ts"
import { Effort } from "../../../protocol/exchange.ts"
import { type Check, fault, firstOf, listed, membersOf, repeated, rule } from "../rules.ts"
import type { TwinFault, TwinRule } from "../twin.ts"
import { isOwnSignature } from "./reply.ts"

const docs = "https://platform.claude.com/docs/en"
const toolDocs = `${docs}/agents-and-tools/tool-use/implement-tool-use`
const thinkingDocs = `${docs}/build-with-claude/extended-thinking`

interface Turn {
  readonly role: string
  readonly blocks: ReadonlyArray<JsonObject>
  readonly at: number
}

/** Adjacent messages of one role are one turn. */
const turnsOf = (body: JsonObject): ReadonlyArray<Turn> => {
  const turns: Array<{ role: string; blocks: Array<JsonObject>; at: number }> = []
  objectsAt(body, "messages").forEach((message, at) => {
    const role = stringAt(message, "role") ?? ""
    const blocks = blocksOf(message)
    const last = turns.at(-1)
    if (last?.role === role) last.blocks.push(...blocks)
    else turns.push({ role, blocks: [...blocks], at })
  })
  return turns
}

const blocksOf = (message: JsonObject): ReadonlyArray<JsonObject> => {
  const { content } = message
  return typeof content === "string" ? [{ type: "text", text: content }] : objectsAt(message, "content")
}

const ofType = (blocks: ReadonlyArray<JsonObject>, type: string): ReadonlyArray<JsonObject> =>
  blocks.filter((block) => block["type"] === type)

const idsOf = (blocks: ReadonlyArray<JsonObject>, type: string, name: string): ReadonlyArray<string> =>
  ofType(blocks, type).map((block) => stringAt(block, name) ?? "")

const isForced = (body: JsonObject): boolean =>
  ["any", "tool"].includes(stringAt(objectAt(body, "tool_choice"), "type") ?? "")

const thinkingOf = (body: JsonObject): string => stringAt(objectAt(body, "thinking"), "type") ?? "disabled"

const version = (body: JsonObject): number => versionOf(stringAt(body, "model") ?? "")

const callIds: Check = (body) =>
  firstOf(objectsAt(body, "messages"), (message, at) =>
    firstOf(blocksOf(message), (block, index) => {
      const type = stringAt(block, "type") ?? ""
      const name = { tool_use: "id", tool_result: "tool_use_id" }[type]
      return name === undefined || /^[a-zA-Z0-9_-]+$/.test(stringAt(block, name) ?? "")
        ? undefined
        : fault(`messages.${at}.content.${index}.${type}.${name}`, "String should match pattern '^[a-zA-Z0-9_-]+$'")
    }),
  )

const uniqueCallIds: Check = (body) => {
  const ids = turnsOf(body).flatMap(({ blocks }) => idsOf(blocks, "tool_use", "id"))
  return repeated(ids) === undefined ? undefined : fault("messages", "`tool_use` ids must be unique")
}

const callsHaveResults: Check = (body) => {
  const turns = turnsOf(body)
  return firstOf(turns, ({ blocks, at }, index) => {
    const calls = idsOf(blocks, "tool_use", "id")
    if (calls.length === 0) return undefined
    const next = turns[index + 1]?.blocks ?? []
    // Blocks before the results separate them from their calls.
    const first = next.findIndex(({ type }) => type !== "tool_result")
    const results = idsOf(first === -1 ? next : next.slice(0, first), "tool_result", "tool_use_id")
    const missing = calls.filter((id) => !results.includes(id))
    return missing.length === 0
      ? undefined
      : fault(
          `messages.${at}`,
          `\`tool_use\` ids were found without \`tool_result\` blocks immediately after: ${missing.join(", ")}. Each \`tool_use\` block must have a corresponding \`tool_result\` block in the next message.`,
        )
  })
}

const resultsHaveCalls: Check = (body) => {
  const turns = turnsOf(body)
  return firstOf(turns, ({ blocks, at }, index) => {
    const calls = idsOf(turns[index - 1]?.blocks ?? [], "tool_use", "id")
    const results = idsOf(blocks, "tool_result", "tool_use_id")
    const stray = results.find((id) => !calls.includes(id))
    if (stray !== undefined) {
      return fault(
        `messages.${at}.content.0`,
        `unexpected \`tool_use_id\` found in \`tool_result\` blocks: ${stray}. Each \`tool_result\` block must have a corresponding \`tool_use\` block in the previous message.`,
      )
    }
    const twice = repeated(results)
    return twice === undefined
      ? undefined
      : fault(
          `messages.${at}.content`,
          `each tool_use must have a single result. Found multiple \`tool_result\` blocks with id: ${twice}`,
        )
  })
}

const toolSchemas: Check = (body) =>
  firstOf(objectsAt(body, "tools"), (tool, at) => {
    const schema = objectAt(tool, "input_schema")
    if (schema === undefined) return undefined
    const path = `tools.${at}.custom.input_schema`
    if (schema["type"] === undefined) return fault(`${path}.type`, "Field required")
    if (schema["type"] !== "object") return fault(`${path}.type`, "Input should be 'object'")
    return ["oneOf", "allOf", "anyOf"].some((name) => name in schema)
      ? fault(path, "input_schema does not support oneOf, allOf, or anyOf at the top level")
      : undefined
  })

const toolNames: Check = (body) => {
  const names = objectsAt(body, "tools").map((tool) => stringAt(tool, "name"))
  return repeated(names) === undefined ? undefined : fault("tools", "Tool names must be unique.")
}

const choiceNeedsTools: Check = (body) =>
  body["tool_choice"] === undefined || objectsAt(body, "tools").length > 0
    ? undefined
    : fault("tool_choice", "tool_choice may only be specified while providing tools")

/** Keywords beside which no request with a schema is taken, by type. */
const refusedKeywords: Readonly<Record<string, ReadonlyArray<string>>> = {
  integer: ["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"],
  number: ["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"],
  string: ["minLength", "maxLength"],
  array: ["maxItems", "uniqueItems", "contains", "prefixItems"],
  object: ["minProperties", "maxProperties", "patternProperties"],
}

const outputSchema: Check = (body) =>
  schemaFault(objectAt(objectAt(objectAt(body, "output_config"), "format"), "schema"))

const schemaFault = (schema: JsonObject | undefined): TwinFault | undefined => {
  if (schema === undefined) return undefined
  const path = "output_config.format.schema"
  const type = stringAt(schema, "type") ?? ""
  const keyword = refusedKeywords[type]?.find((name) => name in schema)
  if (keyword !== undefined) return fault(path, `For '${type}' type, property '${keyword}' is not supported`)
  if (type === "array" && (numberAt(schema, "minItems") ?? 0) > 1) {
    return fault(path, "For 'array' type, 'minItems' values other than 0 or 1 are not supported")
  }
  if (type === "object" && schema["additionalProperties"] !== false) {
    return fault(path, "For 'object' type, 'additionalProperties' must be explicitly set to false")
  }
  return firstOf(schemasIn(schema), schemaFault)
}

const schemasIn = (schema: JsonObject): ReadonlyArray<JsonObject> => [
  ...["properties", "$defs", "definitions"].flatMap((name) => membersOf(objectAt(schema, name))),
  ...["anyOf", "oneOf", "allOf"].flatMap((name) => objectsAt(schema, name)),
  ...listed(objectAt(schema, "items")),
]

const forcedWhileThinking: Check = (body) =>
  thinkingOf(body) === "enabled" && isForced(body)
    ? fault("", "Thinking may not be enabled when tool_choice forces tool use.")
    : undefined

const thinkingComesFirst: Check = (body) => {
  if (thinkingOf(body) !== "enabled") return undefined
  const turns = turnsOf(body)
  const last = turns.at(-1)
  const before = turns.at(-2)
  if (last === undefined || before === undefined || ofType(last.blocks, "tool_result").length === 0) return undefined
  const type = stringAt(before.blocks[0], "type") ?? ""
  return type === "thinking" || type === "redacted_thinking"
    ? undefined
    : fault(
        `messages.${before.at}.content.0.type`,
        `Expected \`thinking\` or \`redacted_thinking\`, but found \`${type}\`. When \`thinking\` is enabled, a final \`assistant\` message must start with a thinking block (preceeding the lastmost set of \`tool_use\` and \`tool_result\` blocks). To avoid this requirement, disable \`thinking\`.`,
      )
}

const thinkingBudget: Check = (body) => {
  const budget = numberAt(objectAt(body, "thinking"), "budget_tokens")
  if (budget === undefined) return undefined
  if (budget < 1024) {
    return fault("thinking.enabled.budget_tokens", "Input should be greater than or equal to 1024")
  }
  return (numberAt(body, "max_tokens") ?? 0) > budget
    ? undefined
    : fault("", "`max_tokens` must be greater than `thinking.budget_tokens`.")
}

const thinkingMode: Check = (body) => {
  const mode = thinkingOf(body)
  if (mode === "enabled" && version(body) >= 4.7) {
    return fault(
      "thinking.type",
      '"thinking.type.enabled" is not supported for this model. Use "thinking.type.adaptive".',
    )
  }
  return mode === "adaptive" && version(body) > 0 && version(body) < 4.6
    ? fault("thinking.type", "adaptive thinking is not supported on this model")
    : undefined
}

const samplingWhileThinking: Check = (body) => {
  if (thinkingOf(body) === "disabled") return undefined
  if ((numberAt(body, "temperature") ?? 1) !== 1) {
    return fault("", "`temperature` may only be set to 1 when thinking is enabled or in adaptive mode.")
  }
  if ((numberAt(body, "top_p") ?? 1) < 0.95) {
    return fault("", "`top_p` must be greater than or equal to 0.95 or unset when thinking is enabled.")
  }
  return body["top_k"] === undefined ? undefined : fault("", "`top_k` must be unset when thinking is enabled.")
}

const oneSampler: Check = (body) =>
  version(body) >= 4.1 && body["temperature"] !== undefined && body["top_p"] !== undefined
    ? fault("", "`temperature` and `top_p` cannot both be specified for this model. Please use only one.")
    : undefined

/** Checks the effort. An effort that is not given is none. */
const efforts: Check = (body) => {
  const effort = Effort.literals.find((each) => each === objectAt(body, "output_config")?.["effort"])
  if (effort === undefined) return undefined
  const known = effortOf(stringAt(body, "model") ?? "", effort)
  if (known === undefined) return fault("", "This model does not support the effort parameter.")
  if (known !== effort) return fault("", `This model does not support effort level '${effort}'.`)
  return version(body) >= 5 && objectAt(body, "thinking")?.["type"] === "disabled" && ["xhigh", "max"].includes(effort)
    ? fault("", `Effort level '${effort}' needs thinking on this model.`)
    : undefined
}

const noSampler: Check = (body) => {
  if (version(body) < 4.7) return undefined
  const name = ["temperature", "top_p", "top_k"].find((each) => body[each] !== undefined)
  return name === undefined ? undefined : fault("", `\`${name}\` is deprecated for this model.`)
}

const instructions: Check = (body) => {
  const roles = objectsAt(body, "messages").map((message) => stringAt(message, "role") ?? "")
  return firstOf(instructionPlaces(roles), (place, at) => {
    if (place === undefined) return undefined
    if (place === "first") {
      return fault(`messages.${at}`, "use the top-level 'system' parameter for the initial system prompt")
    }
    if (version(body) > 0 && !takesInstructions({ model: stringAt(body, "model") ?? "" })) {
      return fault("messages", "role 'system' is not supported on this model")
    }
    return place === "after a user"
      ? undefined
      : fault(
          `messages.${at}`,
          "a 'system' message must follow a user turn and precede an assistant turn, or end the messages",
        )
  })
}

const textHasWords: Check = (body) =>
  firstOf(objectsAt(body, "messages"), (message, at) => {
    const isLast = at === objectsAt(body, "messages").length - 1 && message["role"] === "assistant"
    const blocks = blocksOf(message)
    if ((blocks.length === 0 || message["content"] === "") && !isLast) {
      return fault(
        `messages.${at}`,
        "all messages must have non-empty content except for the optional final assistant message",
      )
    }
    return firstOf(ofType(blocks, "text"), (block) => {
      const text = stringAt(block, "text") ?? ""
      if (text === "" && !isLast) return fault("messages", "text content blocks must be non-empty")
      return text.trim() === "" && !isLast
        ? fault("messages", "text content blocks must contain non-whitespace text")
        : undefined
    })
  })

const someMessage: Check = (body) =>
  objectsAt(body, "messages").length > 0 ? undefined : fault("messages", "at least one message is required")

const prefill: Check = (body) =>
  turnsOf(body).at(-1)?.role === "assistant" && version(body) >= 4.6
    ? fault("", "This model does not support assistant message prefill. The conversation must end with a user message.")
    : undefined

const trimmedEnd: Check = (body) => {
  const last = turnsOf(body).at(-1)
  const text = stringAt(last?.blocks.at(-1), "text") ?? ""
  return last?.role !== "assistant" || text === text.trimEnd()
    ? undefined
    : fault("messages", "final assistant content cannot end with trailing whitespace")
}

const cacheBreakpoints: Check = (body) => {
  const system = typeof body["system"] === "string" ? [] : objectsAt(body, "system")
  const blocks = objectsAt(body, "messages").flatMap(blocksOf)
  const marked = [...objectsAt(body, "tools"), ...system, ...blocks].flatMap((block) =>
    listed(objectAt(block, "cache_control")),
  )
  if (marked.length > 4) {
    return fault("", `A maximum of 4 blocks with cache_control may be provided. Found ${marked.length}.`)
  }
  const lives = marked.map((mark) => stringAt(mark, "ttl") ?? "5m")
  return lives.lastIndexOf("1h") > lives.indexOf("5m") && lives.includes("5m")
    ? fault("", "a ttl='1h' cache_control block must not come after a ttl='5m' cache_control block")
    : undefined
}

const signatures: Check = (body) =>
  firstOf(objectsAt(body, "messages"), (message, at) =>
    firstOf(blocksOf(message), (block, index) =>
      block["type"] !== "thinking" || isOwnSignature(stringAt(block, "signature") ?? "")
        ? undefined
        : fault(`messages.${at}.content.${index}`, "Invalid `signature` in `thinking` block"),
    ),
  )

export const anthropicRules: ReadonlyArray<TwinRule> = [
  rule("a message at least", `${docs}/api/messages`, someMessage),
  rule("no blank text", `${docs}/api/messages`, textHasWords),
  rule("instructions in a thread", instructionDocs, instructions),
  rule("the end of a thread", `${docs}/build-with-claude/prompt-engineering/prefill-claudes-response`, prefill),
  rule("no blank end", `${docs}/api/messages`, trimmedEnd),
  rule("ids of calls", `${docs}/api/messages`, callIds),
  rule("ids of calls differ", `${docs}/api/messages`, uniqueCallIds),
  rule("results directly after their calls", toolDocs, callsHaveResults),
  rule("results of calls only", toolDocs, resultsHaveCalls),
  rule("schemas of tools", toolDocs, toolSchemas),
  rule("names of tools differ", toolDocs, toolNames),
  rule("a choice needs tools", toolDocs, choiceNeedsTools),
  rule("schemas of output", `${docs}/build-with-claude/structured-outputs`, outputSchema),
  rule("no forced tool beside a thinking budget", thinkingDocs, forcedWhileThinking),
  rule("a tool loop begins with its thinking", thinkingDocs, thinkingComesFirst),
  rule("thinking budgets", thinkingDocs, thinkingBudget),
  rule("modes of thinking", `${docs}/build-with-claude/adaptive-thinking`, thinkingMode),
  rule("sampling beside thinking", thinkingDocs, samplingWhileThinking),
  rule("efforts of a model", `${docs}/build-with-claude/effort`, efforts),
  rule("no sampling from 4.7 on", `${docs}/about-claude/models/migration-guide`, noSampler),
  rule("temperature or top_p", `${docs}/about-claude/models/migration-guide`, oneSampler),
  rule("cache breakpoints", `${docs}/build-with-claude/prompt-caching`, cacheBreakpoints),
  rule("signatures of thinking", thinkingDocs, signatures),
]
