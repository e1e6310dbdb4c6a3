/** The texts in a frame or body of a vendor that its client gets as it is. Pure. */
import type { VendorFrame } from "../../dialects/carry/vendor-frame.ts"
import { isObject, type JsonObject } from "../../dialects/parse/json.ts"
import { cut, editJsonText, type JsonPath, set } from "../../protocol/json/json-edit.ts"
import { LongNumber, withAllDigits } from "../json-numbers.ts"
import type { ChannelKind } from "./channel.ts"

/** A text and its position. */
export interface Leaf {
  readonly path: JsonPath
  readonly text: string
  /** Whether it is JSON in a string, such as the arguments of a call. */
  readonly isJson: boolean
  /** Whether it belongs to a call. */
  readonly ofCall: boolean
  /** Whether it repeats the client's own request. */
  readonly isOwn: boolean
  /** Whether it names a tool, or a member of arguments: it cannot be another one. */
  readonly isName: boolean
  /** Whether it is a number of arguments, which a mark replaces as a text. */
  readonly isNumber: boolean
}

/** Members that name, count or seal; no model writes them. */
const unread: ReadonlySet<string> = new Set(
  `id object model type role status finish_reason finishReason stop_reason stop_sequence stopReason item_id call_id
  tool_call_id tool_use_id response_id responseId previous_response_id modelVersion signature thoughtSignature
  thought_signature encrypted_content system_fingerprint service_tier obfuscation data file_id container_id
  message_id request_id created_at phase language mimeType mime_type media_type event_id format`
    .trim()
    .split(/\s+/),
)

/** Members of a response that repeat its request. */
const echoed: ReadonlySet<string> = new Set(["instructions", "tools", "metadata", "tool_choice", "prompt", "user"])

const jsonMembers: ReadonlySet<string> = new Set(["arguments", "partial_json"])
const callMembers: ReadonlySet<string> = new Set([
  "arguments",
  "partial_json",
  "input",
  "args",
  "functionCall",
  "function",
])

/** Members whose own members have any names. */
const freeMembers: ReadonlySet<string> = new Set(["input", "args"])

interface Within {
  readonly ofCall: boolean
  readonly isOwn: boolean
  /** Whether the members have any names: they are arguments. */
  readonly isFree: boolean
}

export const leavesOf = (frame: JsonObject): ReadonlyArray<Leaf> => {
  const leaves: Array<Leaf> = []
  const walk = (value: unknown, name: string, path: JsonPath, within: Within): void => {
    const { ofCall, isOwn, isFree } = within
    if (typeof value === "string") {
      if (value === "" || (!isFree && unread.has(name))) return
      const isName = name === "name" && !isFree
      const isJson = !isFree && jsonMembers.has(name)
      leaves.push({ path, text: value, isJson, ofCall, isOwn, isName, isNumber: false })
    } else if (typeof value === "number" || value instanceof LongNumber) {
      if (isFree) {
        const text = typeof value === "number" ? String(value) : value.text
        leaves.push({ path, text, isJson: false, ofCall, isOwn, isName: false, isNumber: true })
      }
    } else if (Array.isArray(value)) {
      value.forEach((each, at) => {
        walk(each, name, [...path, at], within)
      })
    } else if (isObject(value)) {
      for (const [member, each] of Object.entries(value)) {
        if (isFree) {
          const common = { isJson: false, ofCall, isOwn, isNumber: false }
          leaves.push({ ...common, path: [...path, member], text: member, isName: true })
        }
        const isEcho = echoed.has(member) && (path.length === 0 || path[0] === "response")
        walk(each, member, [...path, member], {
          ofCall: ofCall || callMembers.has(member),
          isOwn: isOwn || isEcho,
          isFree: isFree || (freeMembers.has(member) && isObject(each)),
        })
      }
    }
  }
  walk(frame, "", [], { ofCall: false, isOwn: false, isFree: false })
  return leaves
}

/** Whether a text may go on in the next frame; a name is whole. */
export const isStreamed = ({ path, isName, isNumber }: Leaf): boolean => path.includes("delta") && !isName && !isNumber

/** Whether a frame has texts that deltas before it had, as far as they were streamed. */
export const repeats = ({ type }: JsonObject): boolean => typeof type === "string" && type.startsWith("response.")

/** The item, part or block that a frame is about. */
export const placeOf = (frame: JsonObject): string =>
  ["type", "item_id", "output_index", "content_index", "summary_index", "index"]
    .map((name) => String(frame[name] ?? ""))
    .join(" ")

/** The name of a text that goes on in frames of the same name. Choices have their number beside their place. */
export const nameOf = ({ path }: Leaf, frame: JsonObject, place: string): string => {
  const [list, at] = path
  const choices = list === "choices" && typeof at === "number" ? frame["choices"] : undefined
  const choice: unknown = Array.isArray(choices) && typeof at === "number" ? choices[at] : undefined
  const number = isObject(choice) ? choice["index"] : undefined
  return [place, number ?? at, ...path.slice(2)].join(" ")
}

export const kindOf = ({ isJson, ofCall }: Leaf, place: string): ChannelKind => {
  const isArguments = isJson || /arguments/.test(place)
  return { part: isArguments || ofCall ? "toolArguments" : "text", isJson: isArguments }
}

/** The frame with other texts at some positions. */
export const withTexts = (json: string, texts: ReadonlyArray<readonly [path: JsonPath, text: string]>): string =>
  editJsonText(
    json,
    texts.map(([path, text]) => set(text, ...path)),
  )

/** The probabilities of tokens spell a text out: where it is changed, they are left out. */
const logprobsIn = (frame: JsonObject): ReadonlyArray<JsonPath> => {
  const paths: Array<JsonPath> = []
  const walk = (value: unknown, path: JsonPath): void => {
    if (Array.isArray(value)) {
      value.forEach((each, at) => {
        walk(each, [...path, at])
      })
    } else if (isObject(value)) {
      for (const [member, each] of Object.entries(value)) {
        if (member === "logprobs" || member === "logprobsResult") paths.push([...path, member])
        else walk(each, [...path, member])
      }
    }
  }
  walk(frame, [])
  return paths
}

export const frameOf = (json: string): JsonObject | undefined => {
  try {
    const value = withAllDigits(json)
    return isObject(value) ? value : undefined
  } catch {
    return undefined
  }
}

/** A frame with other texts; the probabilities of its tokens are left out. */
export const frameWith = (
  frame: VendorFrame,
  changed: ReadonlyArray<readonly [path: JsonPath, text: string]>,
): VendorFrame => {
  if (frame.envelope !== undefined) {
    const [[, text] = ["", ""]] = changed
    return { ...frame, json: JSON.stringify(text) }
  }
  const read = frameOf(frame.json)
  if (read === undefined) return frame
  const placed = changed.filter(([path]) => path.length > 0)
  return {
    ...frame,
    json: editJsonText(
      withTexts(frame.json, placed),
      logprobsIn(read).map((path) => cut(...path)),
    ),
  }
}
