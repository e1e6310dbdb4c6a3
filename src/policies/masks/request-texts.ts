/** The texts of a client's request that masks may change, in any of its APIs. Pure. */
import { textOfTokens } from "../../dialects/openai-chat/token-input.ts"
import { isObject } from "../../dialects/parse/json.ts"
import type { ReviewedPart } from "../../protocol/catalogue/policy.ts"
import type { JsonPath } from "../../protocol/json/json-edit.ts"
import { isJsonWithin } from "../json-literals.ts"
import { partOf, partOfMember } from "../parts.ts"

export interface RequestText {
  readonly path: JsonPath
  readonly text: string
  readonly part: ReviewedPart
  /** Whether it is a number of arguments or of a result, which a mark replaces as a text. */
  readonly isNumber?: boolean
  /** Whether it is JSON in a string, such as the arguments of a call or a result. */
  readonly isJson: boolean
  /** Whether its vendor has signed it: another text would not fit the signature. */
  readonly isSigned: boolean
}

/** Members that name, choose, seal or hold bytes: another value would change the request, or be refused. */
const fixed: ReadonlySet<string> = new Set(
  `model id name type role status t i call_id callId tool_call_id tool_use_id toolUseId item_id response_id
  previous_response_id file_id file_uri fileUri container_id cachedContent cache_control key meta user
  safety_identifier prompt_cache_key service_tier serviceTier tool_choice toolChoice toolConfig mode effort verbosity
  detail mime mimeType mime_type media_type url image_url video_url data bytes file_data b64_json encrypted_content signature
  thoughtSignature thought_signature signature_delta format pattern required $ref $schema $id language voice
  response_format_type purpose dialect display include encoding_format dimensions size quality background aliases`
    .trim()
    .split(/\s+/),
)

/** Members with the name of a call beside its arguments. */
const calling: ReadonlySet<string> = new Set(["functionCall", "function_call"])
const jsonStrings: ReadonlySet<string> = new Set(["arguments", "json"])

/** Members whose own members have any names. */
const named: ReadonlySet<string> = new Set(["properties"])
/** Members with the result of a tool as an object, in which members have any names at any depth. */
const answers: ReadonlySet<string> = new Set(["response", "json", "outputs"])
/** Calls of Cohere, which have their arguments in an object. */
const calls: ReadonlySet<string> = new Set(["call", "tool_calls"])
/** Documents of Cohere, whose members or data have any names. */
const documents = "documents"
const documentData: ReadonlySet<string> = new Set([documents, "document"])

export const requestTexts = (body: unknown): ReadonlyArray<RequestText> => {
  const texts: Array<RequestText> = []
  const walk = (
    value: unknown,
    name: string,
    path: JsonPath,
    part: ReviewedPart,
    isSigned: boolean,
    isData: boolean,
  ): void => {
    const tokens = name === "input" && path.length < 3 ? textOfTokens(value) : undefined
    if (tokens !== undefined) texts.push({ path, text: tokens, part, isJson: false, isSigned })
    else if (typeof value === "number") {
      if (isData) texts.push({ path, text: String(value), part, isNumber: true, isJson: false, isSigned })
    } else if (typeof value === "string") {
      if (value !== "" && !/^data:[^,]{0,100};base64,/.test(value))
        texts.push({ path, text: value, part, isJson: isJsonText(name, part, value), isSigned })
    } else if (Array.isArray(value)) {
      value.forEach((each, at) => {
        walk(each, name, [...path, at], part, isSigned, isData)
      })
    } else if (isObject(value)) {
      const own = partOf(value, name, part)
      const sealed = isSigned || "signature" in value || "thoughtSignature" in value || "thought_signature" in value
      for (const [member, each] of Object.entries(value)) {
        // Arguments, the members that a schema describes and results in JSON have any names.
        const isAnswer = isData || name === documents || (own === "toolResults" && answers.has(name))
        const inData = isAnswer || (part === "toolArguments" && !calling.has(name))
        const isFree = inData || named.has(name)
        const isText = member === "data" && value["type"] === "text"
        const isDocument = member === "data" && documentData.has(name)
        if (!isFree && !isText && !isDocument && fixed.has(member)) continue
        const isCalled = member === "parameters" && calls.has(name)
        const partOfEach = isCalled ? "toolArguments" : partOfMember(member, own)
        walk(each, member, [...path, member], partOfEach, sealed, inData || isCalled || isDocument)
      }
    }
  }
  walk(body, "", [], "text", false, false)
  return texts
}

/** Arguments and results in strings; a text that only begins like JSON is none. */
const isJsonText = (name: string, part: ReviewedPart, text: string): boolean =>
  (part === "toolResults" || (part === "toolArguments" && jsonStrings.has(name))) && isJsonWithin(text)
