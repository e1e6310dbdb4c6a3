/** The blocks of a vendor's own tools in a thread: JSON of one block, which goes back to the vendor that made it. */
import type { Message, SealingDialect, VendorBlock } from "../../protocol/block.ts"
import { countJson, workerLimits } from "../../protocol/json/json-size.ts"
import { namesIn } from "../../protocol/json/json-text.ts"
import { isObject, type JsonObject, parseObject } from "../parse/json.ts"

/**
 * The block as its vendor made it; undefined if it is another vendor's, or none of its tools': all other content for a vendor
 * has blocks of its own, which are checked and counted. It is also undefined if a member is named twice, because the vendor
 * may read the other one.
 */
export const ownBlock = (dialect: SealingDialect, block: VendorBlock): JsonObject | undefined => {
  const made = block.dialect === dialect ? parseObject(block.v) : undefined
  return made !== undefined && isOwn[dialect](made) && !namesTwice(block.v, made) ? made : undefined
}

const namesTwice = (text: string, made: JsonObject): boolean =>
  countJson(Buffer.from(text), workerLimits).names !== namesIn(made)

/** The text that it showed to the user; empty if there is none. */
export const shownText = ({ text = "" }: VendorBlock): string => text

/** A block of a client's thread. */
export const sealedBlock = (dialect: SealingDialect, made: JsonObject): JsonObject => {
  const text = textIn(made)
  return { t: "vendor", dialect, v: JSON.stringify(made), ...(text !== "" && { text }) }
}

/**
 * Types of blocks that a target cannot read and that have no text.
 * @param seals the dialect whose blocks it takes
 */
export const omittedBlocks = (
  thread: ReadonlyArray<Message>,
  seals: SealingDialect | undefined,
): ReadonlyArray<string> => {
  const types = new Set<string>()
  for (const { blocks } of thread) {
    for (const block of blocks) {
      if (block.t !== "vendor" || shownText(block) !== "") continue
      if (seals !== undefined && ownBlock(seals, block) !== undefined) continue
      types.add(typeOfBlock(block))
    }
  }
  return [...types]
}

/** The type of a block in warnings. */
export const typeOfBlock = ({ v }: Pick<VendorBlock, "v">): string => {
  const made = parseObject(v)
  const { type } = made ?? {}
  return typeof type === "string" ? type : (Object.keys(made ?? {})[0] ?? "unknown")
}

/** Fields of results that a client shows to its user. */
const shownFields = [
  "text",
  "title",
  "url",
  "stdout",
  "stderr",
  "output",
  "outputs",
  "logs",
  "content",
  "codeExecutionResult",
]
/** The depth of a result. */
const deepest = 6

/** The text of a result that a user saw: its texts, in order. Calls show nothing. */
const textIn = (value: unknown, depth = 0): string => {
  if (typeof value === "string") return value
  if (depth > deepest) return ""
  if (Array.isArray(value)) return joined(value.map((one) => textIn(one, depth + 1)))
  if (!isObject(value)) return ""
  return joined(shownFields.map((name) => textIn(value[name], depth + 1)))
}

const joined = (texts: ReadonlyArray<string>): string => texts.filter((text) => text !== "").join("\n")

/** Blocks of Anthropic's own tools, and of its compaction. */
export const isAnthropicOwn = (type: unknown): type is string =>
  typeof type === "string" &&
  /^(server_tool_use|mcp_tool_use|[a-z_]{1,64}_tool_result|compaction|container_upload)$/.test(type)

/** Items of OpenAI's own tools, and of its compaction. */
export const isOpenaiOwn = (type: unknown): type is string => typeof type === "string" && openaiOwn.has(type)

const openaiOwn: ReadonlySet<string> = new Set([
  "web_search_call",
  "file_search_call",
  "code_interpreter_call",
  "image_generation_call",
  "computer_call",
  "computer_call_output",
  "local_shell_call",
  "local_shell_call_output",
  "shell_call",
  "shell_call_output",
  "apply_patch_call",
  "apply_patch_call_output",
  "mcp_list_tools",
  "mcp_call",
  "mcp_approval_request",
  "mcp_approval_response",
  "tool_search_call",
  "compaction",
])

const geminiOwn = ["executableCode", "codeExecutionResult", "toolCall", "toolResponse"] as const
const geminiMarks: ReadonlySet<string> = new Set([...geminiOwn, "thought", "thoughtSignature"])

/** A part of Gemini's own tools. */
export const isGeminiOwn = (part: JsonObject): boolean =>
  geminiOwn.some((name) => Object.hasOwn(part, name)) && Object.keys(part).every((name) => geminiMarks.has(name))

const isOwn: Readonly<Record<SealingDialect, (made: JsonObject) => boolean>> = {
  anthropic: ({ type }) => isAnthropicOwn(type),
  openai: ({ type }) => isOpenaiOwn(type),
  gemini: isGeminiOwn,
}
