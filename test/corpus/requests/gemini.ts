/** Reads a request of `gemini`; the model is in its path. */

import type { VendorRequest } from "../../../src/dialects/chat-dialect.ts"
import type { JsonObject } from "../../../src/dialects/parse/json.ts"
import { signFor } from "../../../src/dialects/vendor/signature.ts"
import type { Block, Message } from "../../../src/protocol/block.ts"
import type { ToolChoice } from "../../../src/protocol/exchange.ts"
import { Beyond, json, list, maybe, mergeTurns, noCache, only, text, unsaid } from "./reading.ts"

export const readGenerate = (body: JsonObject, path: string): VendorRequest => {
  only(body, ["contents", "systemInstruction", "tools", "toolConfig", "generationConfig"])
  const [, model = "", method] = /models\/([^:]+):(\w+)/.exec(path) ?? []
  const config = maybe(body["generationConfig"], json) ?? {}
  only(config, ["maxOutputTokens", "temperature", "topP", "stopSequences"], { responseModalities: ["TEXT"] })
  const system = list(maybe(body["systemInstruction"], json)?.["parts"]).map((part) => readPart(part))
  const tools = Array.isArray(body["tools"])
    ? list(body["tools"])
    : body["tools"] === undefined
      ? []
      : [json(body["tools"])]
  return {
    ...unsaid,
    model: decodeURIComponent(model),
    thread: mergeTurns([
      ...(system.length === 0 ? [] : [{ role: "system", blocks: system.flat() } as const]),
      ...list(body["contents"]).map(readContent),
    ]),
    tools: tools.flatMap(readTools),
    toolChoice: readToolChoice(maybe(body["toolConfig"], json), tools.flatMap(readTools)),
    maxTokens: Number(config["maxOutputTokens"] ?? unsaid.maxTokens),
    temperature: maybe(config["temperature"], Number),
    topP: maybe(config["topP"], Number),
    stop: Array.isArray(config["stopSequences"]) ? config["stopSequences"].map(text) : [],
    cache: noCache,
    stream: method === "streamGenerateContent",
  }
}

const readTools = (tool: JsonObject) => {
  only(tool, ["functionDeclarations", "function_declarations"])
  return list(tool["functionDeclarations"] ?? tool["function_declarations"]).map((declaration) => {
    only(declaration, ["name", "description", "parametersJsonSchema", "parameters_json_schema"])
    return {
      name: text(declaration["name"]),
      description: maybe(declaration["description"], text) ?? "",
      inputSchema: JSON.parse(
        JSON.stringify(declaration["parametersJsonSchema"] ?? declaration["parameters_json_schema"] ?? {}),
      ),
    }
  })
}

const readToolChoice = (
  config: JsonObject | undefined,
  tools: ReadonlyArray<{ readonly name: string }>,
): ToolChoice | undefined => {
  if (config === undefined) return undefined
  only(config, ["functionCallingConfig"])
  const { mode, allowedFunctionNames } = json(config["functionCallingConfig"])
  const allowed = Array.isArray(allowedFunctionNames) ? allowedFunctionNames.map(text) : tools.map(({ name }) => name)
  if (mode === "AUTO") return "auto"
  if (mode === "NONE") return "none"
  if (allowed.length === tools.length && tools.length > 1) return "required"
  const [name] = allowed
  if (allowed.length !== 1 || name === undefined) throw new Beyond("a choice of several tools")
  return { name }
}

const readContent = (content: JsonObject): { role: Message["role"]; blocks: ReadonlyArray<Block> } => ({
  role: content["role"] === "model" ? "assistant" : "user",
  blocks: list(content["parts"]).flatMap((part) => readPart(part)),
})

function readPart(part: JsonObject): ReadonlyArray<Block> {
  only(part, ["text", "inlineData", "fileData", "functionCall", "functionResponse", "thoughtSignature"])
  const signature = maybe(part["thoughtSignature"], text)
  const signed: ReadonlyArray<Block> =
    signature === undefined ? [] : [{ t: "reasoning", v: "", signature: signFor("gemini", signature) }]
  // A signature without text is on an empty text.
  return part["text"] === "" && signature !== undefined ? signed : [...signed, readContentOf(part)]
}

function readContentOf(part: JsonObject): Block {
  if (part["text"] !== undefined) return { t: "text", v: text(part["text"]) }
  const { functionCall, functionResponse, inlineData, fileData } = part
  if (functionCall !== undefined) {
    const { id, name, args } = json(functionCall)
    return { t: "tool_call", id: text(id), name: text(name), input: JSON.parse(JSON.stringify(args ?? {})) }
  }
  if (functionResponse !== undefined) {
    only(json(functionResponse), ["id", "name", "response"])
    const { id, response } = json(functionResponse)
    const { output, ...others } = json(response)
    // A text is the only member under this name.
    const isText = typeof output === "string" && Object.keys(others).length === 0
    return { t: "tool_result", id: text(id), v: isText ? output : JSON.stringify(response) }
  }
  if (inlineData !== undefined) {
    const { mimeType, data } = json(inlineData)
    return { t: "file", mime: text(mimeType), data: text(data) }
  }
  const { mimeType, fileUri } = json(fileData)
  return { t: "file", mime: text(mimeType), url: text(fileUri) }
}
