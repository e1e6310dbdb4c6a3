/** The parts of a call: its words, the arguments of calls of tools, and their results. Pure. */
import { Effect } from "effect"
import type { Block } from "../protocol/block.ts"
import { ReviewedPart } from "../protocol/catalogue/policy.ts"

export type Parts = ReadonlySet<ReviewedPart>

export const everyPart: Parts = new Set(ReviewedPart.literals)

/** `rules` read texts also as vendors join them; `engine` reads each text once, because it is paid by the character. */
export type TextReader = "rules" | "engine"

/** The text of some parts of a call. @param reader `rules` if absent */
export type TextOfParts = (parts: Parts, reader?: TextReader) => Effect.Effect<string>

/** Words, without any other part. @param text evaluated only if the words are asked for */
export const onlyWords =
  (text: () => string): TextOfParts =>
  (parts) =>
    Effect.sync(() => (parts.has("text") ? text() : ""))

/** Texts as lines. */
export const linesOf =
  (texts: ReadonlyArray<readonly [part: ReviewedPart, text: string]>): TextOfParts =>
  (parts) =>
    Effect.sync(() => texts.flatMap(([part, text]) => (parts.has(part) ? [text] : [])).join("\n"))

/** Each text is read once. */
export const readOnce = (read: TextOfParts): TextOfParts => {
  const known: Array<{ readonly parts: Parts; readonly reader: TextReader; readonly text: string }> = []
  return (parts, reader = "rules") => {
    for (const each of known) {
      if (each.reader === reader && areSame(each.parts, parts)) return Effect.succeed(each.text)
    }
    return Effect.map(read(parts, reader), (text) => {
      known.push({ parts, reader, text })
      return text
    })
  }
}

const areSame = (some: Parts, others: Parts): boolean =>
  some === others || (some.size === others.size && some.isSubsetOf(others))

export const partOfBlock = (block: Block): ReviewedPart => {
  if (block.t === "tool_call") return "toolArguments"
  return block.t === "tool_result" ? "toolResults" : "text"
}

/** Members with the arguments of calls: as JSON in a string, or as objects. */
const inArguments: ReadonlySet<string> = new Set(["arguments", "args", "functionCall", "function_call", "partial_json"])

/** Kinds of messages and parts that hold results of tools, and arguments. */
const results: ReadonlySet<unknown> = new Set([
  "tool",
  "tool_result",
  "function_call_output",
  "custom_tool_call_output",
  "mcp_call_output",
])
/** Members that hold a result, or some. Google's JSON takes names in two forms. */
const resultMembers: ReadonlySet<string> = new Set([
  "toolResult",
  "tool_results",
  "functionResponse",
  "function_response",
  "functionResponses",
  "function_responses",
])
const calls: ReadonlySet<unknown> = new Set([
  "tool_use",
  "tool_call",
  "function_call",
  "custom_tool_call",
  "server_tool_use",
])

/** The part of a JSON object in a request. @param name of the object @param part of the value around it */
export const partOf = (value: Readonly<Record<string, unknown>>, name: string, part: ReviewedPart): ReviewedPart => {
  // Arguments and results may have members of any name and value.
  if (part !== "text") return part
  const { type, role, t } = value
  if (resultMembers.has(name) || results.has(type) || results.has(t) || role === "tool" || role === "function")
    return "toolResults"
  if (name === "toolUse" || calls.has(type) || calls.has(t)) return "toolArguments"
  return part
}

/** The part of a member. @param own the part of its object */
export const partOfMember = (member: string, own: ReviewedPart): ReviewedPart =>
  own === "text" && inArguments.has(member) ? "toolArguments" : own
