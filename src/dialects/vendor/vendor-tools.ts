/**
 * Tools that a vendor defines and the client runs. They cost only their tokens; all other tools of a vendor have rules of
 * their own, and are not accepted as one of these.
 */
import type { SealingDialect } from "../../protocol/block.ts"
import type { VendorTool } from "../../protocol/tool.ts"
import { isObject, type JsonObject, parseObject } from "../parse/json.ts"

/** The types of such tools, by the dialect that has them. */
const clientTools = {
  anthropic: /^(bash|text_editor|computer|memory)_\d{8}$/,
  openai: /^(computer(_use_preview)?|local_shell|shell|apply_patch)$/,
  gemini: /^computerUse$/,
} as const satisfies Readonly<Record<SealingDialect, RegExp>>

/** Tools that find other tools, which a client has reported. */
const toolSearches = /^tool_search(_tool_(bm25|regex)(_\d{8})?)?$/

/** The tool in twp/1; undefined if it is not one of these. A shell may run on the vendor's own machine. */
export const clientToolOf = (dialect: SealingDialect, type: unknown, tool: JsonObject): VendorTool | undefined => {
  const isOwn = typeof type === "string" && clientTools[dialect].test(type) && !isHostedShell(tool)
  return isOwn ? { kind: "vendor", dialect, v: JSON.stringify(tool) } : undefined
}

const isHostedShell = ({ type, environment }: JsonObject): boolean =>
  type === "shell" && isObject(environment) && environment["type"] !== "local"

/**
 * A tool that a client of twp/1 names, written again, so that the vendor reads the same as the gateway. Undefined if it is
 * none.
 */
export const checkedTool = ({ dialect, v }: VendorTool): VendorTool | undefined => {
  const tool = parseObject(v)
  if (tool === undefined) return undefined
  const type = typeOf(dialect, tool)
  const isSearch = dialect !== "gemini" && typeof type === "string" && toolSearches.test(type)
  return isSearch ? { kind: "vendor", dialect, v: JSON.stringify(tool) } : clientToolOf(dialect, type, tool)
}

/** Gemini's tools are identified by their name, one in each. */
const typeOf = (dialect: SealingDialect, tool: JsonObject): unknown => {
  if (dialect !== "gemini") return tool["type"]
  const [name, ...more] = Object.keys(tool)
  return more.length === 0 ? name : undefined
}

/** The name of such a tool in an error. */
export const nameOfTool = ({ dialect, v }: VendorTool): string => {
  const tool = parseObject(v) ?? {}
  const { type, name } = tool
  const names = dialect === "gemini" ? Object.keys(tool) : [type ?? name].filter((said) => typeof said === "string")
  return names.length === 0 ? `of ${dialect} without a name` : names.join(", ").slice(0, 200)
}
