/** Tools that a vendor runs by itself, as a request of its API asks for them. Pure. */
import type { HostedUnit } from "../../protocol/hosted-unit.ts"
import type { JsonPath } from "../../protocol/json/json-edit.ts"
import { nearestName } from "../../protocol/values/nearest-name.ts"
import { type FieldReader, isAbsent } from "../client/fields.ts"
import { isObject, type JsonObject, objectAt, objectsAt, stringAt } from "../parse/json.ts"

export interface HostedTool {
  /** The name that the client gave it, such as `web_search_20250305`. */
  readonly type: string
  /** The field that asks for it. */
  readonly place: string
  /** The part of the body that is removed with it. */
  readonly path: JsonPath
  /** The unit of its uses that a price may name; absent if it has none, or its uses are not held. */
  readonly unit?: HostedUnit | undefined
  /** The most uses in one reply. */
  readonly maxUses: number
  /** Whether it is a web search and no more, which other vendors can make too. */
  readonly isPlainSearch: boolean
  /** Whether it costs no more than its tokens. */
  readonly isFree: boolean
  /** Whether an answer may depend on it. */
  readonly isNeeded: boolean
  /** Whether the model must call it. */
  readonly isForced: boolean
  /** Whether the model must call a tool, this one or another. */
  readonly isRequired: boolean
}

/** Uses of a tool in one reply, if its client does not limit them. */
const defaultMaxUses = 5

/** The tools of one request that a vendor defines and runs. */
export class HostedTools {
  readonly tools: Array<HostedTool> = []
  readonly #reader: FieldReader
  readonly #choice: unknown
  readonly #kinds: ReadonlyArray<string>
  readonly #isCounted: boolean

  /**
   * @param choice the choice among tools, as the client sent it
   * @param kinds the kinds of tools that are not hosted
   * @param isCounted whether replies of the API report the uses
   */
  constructor(
    reader: FieldReader,
    choice: unknown,
    { kinds = ["function", "custom"], isCounted = true }: { kinds?: ReadonlyArray<string>; isCounted?: boolean } = {},
  ) {
    this.#reader = reader
    this.#choice = choice
    this.#kinds = kinds
    this.#isCounted = isCounted
  }

  /** @param path the path of the part that is removed with it. Tools that a thread defines are not held. */
  add(type: string, tool: JsonObject, place: string, path: JsonPath): void {
    const meant = nearestName(type, this.#kinds)
    if (meant !== undefined) this.#reader.refuse(place, `is not a kind of tool; did you mean ${meant}?`)
    const { max_uses: asked } = tool
    const named = isListed(path) && isUsual(tool) ? unitOf(type) : undefined
    const isPlainSearch = named === "web_search" && Object.keys(tool).every((name) => isPlain(name, tool[name]))
    const unit = this.#isCounted || isPlainSearch ? named : undefined
    this.tools.push({
      type,
      place,
      path,
      unit,
      maxUses: Number.isSafeInteger(asked) && Number(asked) > 0 ? Number(asked) : defaultMaxUses,
      isPlainSearch,
      isFree: freeTools.test(type),
      isNeeded: !finders.test(type) && !isNone(this.#choice),
      isForced: isForced(this.#choice, type, stringAt(tool, "name")),
      isRequired: this.#choice === "required" || (isObject(this.#choice) && this.#choice["type"] === "any"),
    })
  }
}

const isListed = ([first]: JsonPath): boolean => first === "tools" || first === "web_search_options"

/** Filters, a place or a size of a search would be lost at another vendor. */
const isPlain = (name: string, value: unknown): boolean =>
  isAbsent(value) || ["type", "name", "cache_control", "max_uses"].includes(name)

const isNone = (choice: unknown): boolean => choice === "none" || (isObject(choice) && choice["type"] === "none")

/** Whether a choice names a tool: by its type or another of the same tool, by its name, or in a list of those allowed. */
const isForced = (choice: unknown, type: string, name: string | undefined): boolean => {
  if (!isObject(choice)) return false
  const { type: chosen } = choice
  if (chosen === "tool") return choice["name"] === name
  const allowed = objectsAt(objectAt(choice, "allowed_tools") ?? choice, "tools")
  const mode = stringAt(objectAt(choice, "allowed_tools") ?? choice, "mode")
  if (chosen === "allowed_tools") return mode === "required" && allowed.some((each) => isForced(each, type, name))
  return (
    chosen === type || (typeof chosen === "string" && unitOf(chosen) !== undefined && unitOf(chosen) === unitOf(type))
  )
}

/** A container with more memory costs many times as much: https://platform.openai.com/docs/pricing */
const isUsual = ({ container }: JsonObject): boolean =>
  !isObject(container) || isAbsent(container["memory_limit"]) || container["memory_limit"] === "1g"

/** The types of tools that find others; without them, the tools that they would find are offered at once. */
const finders = /^tool_search(_tool_(bm25|regex))?(_\d{8})?$/

const units: ReadonlyArray<readonly [RegExp, HostedUnit]> = [
  [/^(web_search(_preview)?(_\d[\d_]*)?|googleSearch)$/, "web_search"],
  [/^file_search$/, "file_search"],
  [/^(code_interpreter|code_execution(_\d{8})?)$/, "code_execution"],
  [/^image_generation$/, "image_generation"],
  [/^googleMaps$/, "maps"],
]

const unitOf = (type: string): HostedUnit | undefined => units.find(([form]) => form.test(type))?.[1]

/**
 * Tools that cost no more than their tokens: those that the client runs, those that find other tools, and those whose results
 * their vendors bill as input. Sources: https://platform.claude.com/docs/en/about-claude/pricing,
 * https://platform.openai.com/docs/pricing, https://ai.google.dev/gemini-api/docs/pricing
 */
const freeTools =
  /^(custom|bash|text_editor|computer|computer_use_preview|computerUse|memory|local_shell|apply_patch|tool_search|tool_search_tool_(bm25|regex)|web_fetch|urlContext|mcp|mcp_toolset|codeExecution)(_\d{8})?$/

/** Whether the results of a tool are of unknown length. */
export const readsMore = ({ type }: HostedTool): boolean => /^(web_fetch|urlContext|mcp|codeExecution)/.test(type)
