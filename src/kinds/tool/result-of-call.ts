/** The answer of a server to a call, as a model gets it. Pure. */
import { Option, Schema } from "effect"
import { isObject, type JsonObject, stringAt } from "../../dialects/parse/json.ts"
import { AudioBlock, FileBlock, ImageBlock, type ToolResultBlock } from "../../protocol/block.ts"

type Part = NonNullable<ToolResultBlock["blocks"]>[number]

/** @param id of the model's call @param message of the server, with a result or an error */
export const resultOfCall = (id: string, message: JsonObject): ToolResultBlock => {
  const { result, error } = message
  if (!isObject(result)) {
    const said = isObject(error) ? stringAt(error, "message") : undefined
    return { t: "tool_result", id, v: `The call has failed: ${said ?? "there is no result"}`, isError: true }
  }
  if (result["resultType"] === "input_required") {
    return { t: "tool_result", id, v: "The tool asks the user for more, which is not possible here.", isError: true }
  }
  const isFailed = result["isError"] === true
  const { content, structuredContent: structured } = result
  const parts = Array.isArray(content) ? content.flatMap(partsOf) : []
  const shown = parts.length === 0 && isObject(structured) ? [text(JSON.stringify(structured))] : parts
  return {
    t: "tool_result",
    id,
    ...(shown.every(isText) ? { v: shown.map(({ v }) => v).join("\n") } : { blocks: shown.slice(0, mostParts) }),
    ...(isFailed && { isError: true }),
  }
}

const mostParts = 100
const text = (v: string): Part => ({ t: "text", v })
const isText = (part: Part): part is Extract<Part, { readonly t: "text" }> => part.t === "text"

const readImage = Schema.decodeUnknownOption(ImageBlock)
const readAudio = Schema.decodeUnknownOption(AudioBlock)
const readFile = Schema.decodeUnknownOption(FileBlock)

/** Content of no known form is text, so that nothing of a result is lost. */
const partsOf = (content: unknown): ReadonlyArray<Part> => {
  if (!isObject(content)) return []
  const { type, data, mimeType: mime } = content
  switch (type) {
    case "text":
      return [text(stringAt(content, "text") ?? "")]
    case "image":
      return [Option.getOrElse(readImage({ t: "image", mime, data }), () => text("[a picture that cannot be shown]"))]
    case "audio":
      return [Option.getOrElse(readAudio({ t: "audio", mime, data }), () => text("[a sound that cannot be heard]"))]
    case "resource":
      return [resourceOf(content["resource"])]
    default:
      return [text(JSON.stringify(content))]
  }
}

const resourceOf = (resource: unknown): Part => {
  if (!isObject(resource)) return text("")
  const said = stringAt(resource, "text")
  if (said !== undefined) return text(said)
  const { blob: data, mimeType: mime = "application/octet-stream", uri } = resource
  if (typeof mime === "string" && mime.startsWith("image/")) {
    return Option.getOrElse(readImage({ t: "image", mime, data }), () => text(String(uri)))
  }
  return Option.getOrElse(readFile({ t: "file", mime, data }), () => text(String(uri)))
}
