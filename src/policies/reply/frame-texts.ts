/** The texts in a frame or body of a vendor that its client gets as it is. Pure. */
import { isObject, type JsonObject, parseObject } from "../../dialects/parse/json.ts"
import { editJsonText, type JsonPath, set } from "../../protocol/json/json-edit.ts"

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
}

/** Members that name, count or seal; no model writes them. */
const unread: ReadonlySet<string> = new Set(
  `id object model type role status finish_reason finishReason stop_reason stop_sequence stopReason item_id call_id
  tool_call_id tool_use_id response_id responseId previous_response_id modelVersion signature thoughtSignature
  thought_signature encrypted_content system_fingerprint service_tier obfuscation data file_id container_id
  message_id request_id created_at phase language mimeType mime_type media_type event_id`
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

export const leavesOf = (frame: JsonObject): ReadonlyArray<Leaf> => {
  const leaves: Array<Leaf> = []
  const walk = (value: unknown, name: string, path: JsonPath, ofCall: boolean, isOwn: boolean): void => {
    if (typeof value === "string") {
      if (value !== "" && !unread.has(name)) {
        leaves.push({ path, text: value, isJson: jsonMembers.has(name), ofCall, isOwn })
      }
    } else if (Array.isArray(value)) {
      value.forEach((each, at) => {
        walk(each, name, [...path, at], ofCall, isOwn)
      })
    } else if (isObject(value)) {
      for (const [member, each] of Object.entries(value)) {
        const isEcho = echoed.has(member) && (path.length === 0 || path[0] === "response")
        walk(each, member, [...path, member], ofCall || callMembers.has(member), isOwn || isEcho)
      }
    }
  }
  walk(frame, "", [], false, false)
  return leaves
}

/** The frame with other texts at some positions. */
export const withTexts = (json: string, texts: ReadonlyArray<readonly [path: JsonPath, text: string]>): string =>
  editJsonText(
    json,
    texts.map(([path, text]) => set(text, ...path)),
  )

/** The probabilities of tokens spell a text out: where it is changed, they are left out. */
export const logprobsIn = (frame: JsonObject): ReadonlyArray<JsonPath> => {
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

export const frameOf = (json: string): JsonObject | undefined => parseObject(json)
