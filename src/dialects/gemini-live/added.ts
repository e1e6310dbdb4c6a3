/** The amounts that a client's message adds to a session with Google's Live API. Pure. */
import type { ReviewedPart } from "../../protocol/catalogue/policy.ts"
import { isObject, type JsonObject } from "../parse/json.ts"
import type { Added } from "../realtime-dialect.ts"
import { textAt } from "./fields.ts"
import { rateOf, soundBytes } from "./sound.ts"

/** Members that name, choose, seal or place: policies read all others, those that are not known too. */
const unread: ReadonlySet<string> = new Set([
  "id",
  "role",
  "model",
  "mimeType",
  "mime_type",
  "fileUri",
  "file_uri",
  "thoughtSignature",
  "thought_signature",
  "type",
  "format",
  "handle",
  "languageCode",
  "language_code",
  "voiceName",
  "voice_name",
  "responseModalities",
  "response_modalities",
  "mediaResolution",
  "media_resolution",
])

/** Members with the results of tools, and with arguments. */
const results: ReadonlySet<string> = new Set([
  "functionResponses",
  "function_responses",
  "functionResponse",
  "function_response",
])
const calls: ReadonlySet<string> = new Set(["functionCall", "function_call"])

/** Members in which all names are the client's own. */
const free: ReadonlySet<string> = new Set(["response", "args"])

interface Sums {
  audioBytes: number
  images: number
  readonly texts: Array<readonly [ReviewedPart, string]>
}

export const addedBy = (content: JsonObject): Added => {
  const sums: Sums = { audioBytes: 0, images: 0, texts: [] }
  walk(content, "", "text", false, sums)
  const textBytes = sums.texts.reduce((sum, [, text]) => sum + Buffer.byteLength(text), 0)
  return { audioBytes: sums.audioBytes, images: sums.images, textBytes, texts: sums.texts }
}

const walk = (value: unknown, name: string, part: ReviewedPart, isFree: boolean, sums: Sums): void => {
  if (typeof value === "string") {
    if (value !== "" && (isFree || !unread.has(name))) sums.texts.push([part, value])
  } else if (typeof value === "number") {
    if (isFree) sums.texts.push([part, String(value)])
  } else if (Array.isArray(value)) {
    for (const each of value) walk(each, name, part, isFree, sums)
  } else if (isObject(value)) {
    const own = results.has(name) ? "toolResults" : calls.has(name) ? "toolArguments" : part
    if (!isFree && addBlob(value, sums)) return
    for (const [member, each] of Object.entries(value)) {
      if (isFree) sums.texts.push([own, member])
      walk(each, member, own, isFree || (own !== "text" && free.has(member)), sums)
    }
  }
}

/** Counts bytes of sound, and pictures. @returns whether it is one of them */
const addBlob = (value: JsonObject, sums: Sums): boolean => {
  const { data } = value
  const mimeType = textAt(value, "mimeType")
  if (typeof data !== "string" || mimeType === undefined) return false
  if (mimeType.startsWith("audio/")) sums.audioBytes += soundBytes(data.length, rateOf(mimeType), "input")
  else sums.images++
  return true
}
