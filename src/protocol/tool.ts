/** Tools that a model may call: its client runs them, its vendor, or the gateway. */
import { Schema } from "effect"
import { cacheable, SealingDialect, ToolName } from "./block.ts"
import { storedName } from "./values/text.ts"

/** Its input is a JSON object. */
export const FunctionTool = Schema.Struct({
  kind: Schema.optionalKey(Schema.Literal("function")),
  name: ToolName,
  description: Schema.optionalKey(Schema.String),
  inputSchema: Schema.JsonObject,
  /** Asks for inputs that follow the schema exactly, where a vendor can promise that. */
  strict: Schema.optionalKey(Schema.Boolean),
  /** Shown to the model only when it looks for it, by a vendor's tool search among the tools; otherwise it is shown at once. */
  deferred: Schema.optionalKey(Schema.Boolean),
  cacheable,
})
export type FunctionTool = typeof FunctionTool.Type

/**
 * A tool whose input is a text that follows its grammar. If a vendor has no such tools, a function with one text replaces it,
 * and its grammar is a part of the description.
 */
export const TextTool = Schema.Struct({
  kind: Schema.Literal("text"),
  name: ToolName,
  description: Schema.optionalKey(Schema.String),
  grammar: Schema.optionalKey(
    Schema.Struct({ syntax: Schema.Literals(["lark", "regex"]), definition: Schema.NonEmptyString }),
  ),
})
export type TextTool = typeof TextTool.Type

/** A tool that a vendor defines: `v` is the JSON of the tool in its format. Other vendors' targets are skipped. */
export const VendorTool = Schema.Struct({
  kind: Schema.Literal("vendor"),
  dialect: SealingDialect,
  v: Schema.NonEmptyString,
})
export type VendorTool = typeof VendorTool.Type

/** A tool that a model gets as it is. */
export type Tool = FunctionTool | TextTool | VendorTool

const names = Schema.Array(storedName(128)).check(Schema.isMaxLength(512))

/**
 * Tools of a server of the catalogue: the gateway lists them for the model, makes its calls, and gives it their results, in one
 * exchange.
 */
export const ServerTools = Schema.Struct({
  kind: Schema.Literal("mcp"),
  /** The id of the server. */
  server: Schema.NonEmptyString.check(Schema.isMaxLength(64)),
  /** Names of its tools, without the server; all that the caller may use if absent. */
  allow: Schema.optionalKey(names),
  /** Names of tools that are left out. */
  deny: Schema.optionalKey(names),
  /**
   * The calls that end the exchange until its client approves them: of all tools, of none (the default), of those in `always`, or
   * of all but those in `never`.
   */
  approval: Schema.optionalKey(
    Schema.Union([
      Schema.Literals(["always", "never"]),
      Schema.Struct({ always: Schema.optionalKey(names), never: Schema.optionalKey(names) }),
    ]),
  ),
})
export type ServerTools = typeof ServerTools.Type

/** Whether calls of a tool wait until the client approves them. @param name without its server */
export const needsApproval = ({ approval = "never" }: Pick<ServerTools, "approval">, name: string): boolean => {
  if (typeof approval === "string") return approval === "always"
  const { always = [], never } = approval
  return always.includes(name) || (never !== undefined && !never.includes(name))
}

export const AskedTool = Schema.Union([FunctionTool, TextTool, VendorTool, ServerTools])
export type AskedTool = typeof AskedTool.Type

export const isServerTools = (tool: AskedTool): tool is ServerTools => tool.kind === "mcp"

export const isTextTool = (tool: Tool): tool is TextTool => tool.kind === "text"

/** Whether a tool is a vendor's search for deferred tools. */
export const isToolSearch = ({ v }: VendorTool): boolean => /"type"\s*:\s*"tool_search/.test(v)

export const isFunctionTool = <T extends Tool>(tool: T): tool is Exclude<T, TextTool | VendorTool> =>
  tool.kind === undefined || tool.kind === "function"
