/** A small server of tools beside the simulated vendor: levels of rivers, which are made of their names, and a count of words. */
import { isObject, stringAt } from "../dialects/parse/json.ts"
import { errorCodes, isRequest, type JsonObject, readMessage } from "../protocol/mcp/message.ts"
import { statelessVersion } from "../protocol/mcp/versions.ts"
import type { VendorCall } from "../testing/scripted-vendor.ts"

const simulatedToolsPath = "/tools"

const text = { type: "string" }

const tools = [
  {
    name: "level",
    description: "The level of a river today, in centimetres",
    inputSchema: { type: "object", properties: { river: text }, required: ["river"] },
    annotations: { readOnlyHint: true },
  },
  {
    name: "words",
    description: "Counts the words of a text",
    inputSchema: { type: "object", properties: { text }, required: ["text"] },
    outputSchema: { type: "object", properties: { words: { type: "integer" } }, required: ["words"] },
    annotations: { readOnlyHint: true },
  },
]

interface Answer {
  readonly status: number
  readonly json: object
}

/** The answer to a message to the server; undefined if the request is about something else. */
export const answerTools = ({ path, body }: VendorCall): Answer | undefined => {
  if (path !== simulatedToolsPath) return undefined
  const message = readMessage(body)
  if (message === undefined || !isRequest(message)) return { status: 400, json: {} }
  const { id, method, params = {} } = message
  return { status: 200, json: { jsonrpc: "2.0", id, ...answerTo(method, params) } }
}

const answerTo = (method: string, params: JsonObject): object => {
  switch (method) {
    case "server/discover":
      return complete({ supportedVersions: [statelessVersion], capabilities: { tools: {} } })
    case "tools/list":
      return complete({ tools })
    case "tools/call":
      return called(params)
  }
  return { error: { code: errorCodes.methodNotFound, message: "Method not found" } }
}

const called = ({ name, arguments: given }: JsonObject): object => {
  const argument = (member: string) => (isObject(given) ? (stringAt(given, member) ?? "") : "")
  switch (name) {
    case "level": {
      const river = argument("river")
      return textResult(`${river}: ${levelOf(river)} cm`)
    }
    case "words": {
      const words = argument("text").split(/\s+/).filter(Boolean).length
      return textResult(`${words} words`, { structuredContent: { words } })
    }
  }
  return { error: { code: errorCodes.invalidParams, message: "Unknown tool" } }
}

const levelOf = (river: string): number =>
  100 + ([...river].reduce((sum, letter) => sum + letter.charCodeAt(0), 0) % 400)

const complete = (result: object) => ({ result: { resultType: "complete", ...result } })
const textResult = (shown: string, more: object = {}) => complete({ content: [{ type: "text", text: shown }], ...more })
