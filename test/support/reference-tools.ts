/** The tools, prompts and resources that the protocol's conformance suite asks a server for. */
import { createHmac, randomBytes } from "node:crypto"
import { type Answering, ToolRefusal, type ToolServerOptions, textResult } from "./tool-server.ts"

const png = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg=="
const wav = "UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAA="

const embedded = (uri: string, mimeType: string, text: string) => ({
  type: "resource",
  resource: { uri, mimeType, text },
})
const image = { type: "image", data: png, mimeType: "image/png" }

type Json = Record<string, unknown>
const objectAt = (value: unknown, name: string): Json | undefined => {
  const found = typeof value === "object" && value !== null ? (value as Json)[name] : undefined
  return typeof found === "object" && found !== null ? (found as Json) : undefined
}

/** A question in the middle of a call, for the versions with sessions. */
const asks =
  (method: string, paramsOf: (params: Json) => object, said: (result: Json) => string) =>
  async ({ ask, params }: Answering) => {
    const { result } = await ask(method, paramsOf(params))
    return textResult(said((result ?? {}) as Json))
  }

const form = (properties: object, required: ReadonlyArray<string> = []) => ({ type: "object", properties, required })
const elicitation = (message: string, requestedSchema: object) => ({
  method: "elicitation/create",
  params: { mode: "form", message, requestedSchema },
})
const asksName = elicitation("What is your name?", form({ name: { type: "string" } }, ["name"]))
const asksOk = elicitation("Please confirm", form({ ok: { type: "boolean" } }, ["ok"]))
const asksModel = (text: string) => ({
  method: "sampling/createMessage",
  params: { messages: [{ role: "user", content: { type: "text", text } }], maxTokens: 50 },
})
const asksRoots = { method: "roots/list" }

const key = randomBytes(32)
const sign = (text: string) => createHmac("sha256", key).update(text).digest("base64url")
/** State that a client carries, and cannot change. */
const sealed = (state: object): string => {
  const text = Buffer.from(JSON.stringify(state)).toString("base64url")
  return `${text}.${sign(text)}`
}
const opened = (state: unknown): Json | undefined => {
  if (state === undefined) return undefined
  const [text = "", signature] = String(state).split(".")
  if (signature !== sign(text)) throw new ToolRefusal(-32602, "The state was changed")
  return JSON.parse(Buffer.from(text, "base64url").toString("utf8"))
}

const inputRequired = (inputRequests: Json, requestState?: string) => ({
  resultType: "input_required",
  inputRequests,
  ...(requestState !== undefined && { requestState }),
})
/** The content that the user gave to a question. */
const accepted = (asked: Json, name: string): Json | undefined => {
  const response = objectAt(asked["inputResponses"], name)
  return response?.["action"] === "accept" ? objectAt(response, "content") : undefined
}
const responseTo = (asked: Json, name: string) => objectAt(asked["inputResponses"], name)
const capabilitiesIn = (meta: Json) => objectAt(meta, "io.modelcontextprotocol/clientCapabilities") ?? {}

const enumerations = form({
  untitledSingle: { type: "string", enum: ["option1", "option2", "option3"] },
  titledSingle: {
    type: "string",
    oneOf: [
      { const: "value1", title: "First Option" },
      { const: "value2", title: "Second Option" },
    ],
  },
  legacyEnum: { type: "string", enum: ["opt1", "opt2"], enumNames: ["Option One", "Option Two"] },
  untitledMulti: { type: "array", minItems: 1, maxItems: 3, items: { type: "string", enum: ["option1", "option2"] } },
  titledMulti: {
    type: "array",
    minItems: 1,
    maxItems: 3,
    items: {
      anyOf: [
        { const: "value1", title: "First Choice" },
        { const: "value2", title: "Second Choice" },
      ],
    },
  },
})
const defaults = form({
  name: { type: "string", default: "John Doe" },
  age: { type: "integer", default: 30 },
  score: { type: "number", default: 95.5 },
  status: { type: "string", enum: ["active", "inactive", "pending"], default: "active" },
  verified: { type: "boolean", default: true },
})

const pause = () => new Promise((resolve) => setTimeout(resolve, 20))
const elicited = ({ action, content }: Json) => `action=${String(action)}, content=${JSON.stringify(content ?? {})}`

/** @param announce announces a change to those who listen */
export const referenceTools = (announce: (method: string) => void): ToolServerOptions["tools"] => ({
  test_simple_text: () => textResult("This is a simple text response for testing."),
  test_image_content: () => ({ content: [image] }),
  test_audio_content: () => ({ content: [{ type: "audio", data: wav, mimeType: "audio/wav" }] }),
  test_embedded_resource: () => ({
    content: [embedded("test://embedded-resource", "text/plain", "This is an embedded resource content.")],
  }),
  test_multiple_content_types: () => ({
    content: [
      { type: "text", text: "Multiple content types test:" },
      image,
      embedded("test://mixed-content-resource", "application/json", '{"test":"data","value":123}'),
    ],
  }),
  test_tool_with_logging: async ({ send }) => {
    for (const data of ["Tool execution started", "Tool processing data", "Tool execution completed"]) {
      send({ method: "notifications/message", params: { level: "info", data } })
      await pause()
    }
    return textResult("Tool with logging executed successfully")
  },
  test_tool_with_progress: async ({ send, token }) => {
    for (const progress of token === undefined ? [] : [0, 50, 100]) {
      send({ method: "notifications/progress", params: { progressToken: token, progress, total: 100 } })
      await pause()
    }
    return textResult(String(token))
  },
  test_error_handling: () => textResult("This tool intentionally returns an error for testing", { isError: true }),
  test_sampling: asks(
    "sampling/createMessage",
    ({ prompt }) => ({ messages: [{ role: "user", content: { type: "text", text: String(prompt) } }], maxTokens: 100 }),
    (result) => `LLM response: ${String(objectAt(result, "content")?.["text"])}`,
  ),
  test_elicitation: asks(
    "elicitation/create",
    ({ message }) => ({ message, requestedSchema: form({ response: { type: "string" } }, ["response"]) }),
    (result) => `User response: ${elicited(result)}`,
  ),
  test_elicitation_sep1034_defaults: asks(
    "elicitation/create",
    () => ({ message: "Please review the defaults", requestedSchema: defaults }),
    (result) => `Elicitation completed: ${elicited(result)}`,
  ),
  test_elicitation_sep1330_enums: asks(
    "elicitation/create",
    () => ({ message: "Please select options", requestedSchema: enumerations }),
    (result) => `Elicitation completed: ${elicited(result)}`,
  ),
  json_schema_2020_12_tool: ({ params }) => textResult(JSON.stringify(params)),
  test_x_mcp_header: ({ params }) => textResult(`region=${String(params["region"])}`),
  test_streaming_elicitation: () => textResult("result frames only"),
  test_logging_tool: ({ send, meta }) => {
    if (meta["io.modelcontextprotocol/logLevel"] !== undefined)
      send({ method: "notifications/message", params: { level: "info", data: "logged" } })
    return textResult("logged")
  },
  test_missing_capability: ({ meta }) => {
    if (capabilitiesIn(meta)["sampling"] !== undefined) return textResult("pong")
    throw new ToolRefusal(-32021, "Missing capability", {
      status: 400,
      data: { requiredCapabilities: { sampling: {} } },
    })
  },
  test_trigger_tool_change: () => {
    announce("notifications/tools/list_changed")
    return textResult("announced")
  },
  test_trigger_prompt_change: () => {
    announce("notifications/prompts/list_changed")
    return textResult("announced")
  },
  test_input_required_result_elicitation: ({ asked }) => {
    const name = accepted(asked, "user_name")?.["name"]
    return typeof name === "string" ? textResult(`Hello, ${name}!`) : inputRequired({ user_name: asksName })
  },
  test_input_required_result_sampling: ({ asked }) => {
    const answer = responseTo(asked, "capital_question")
    return answer === undefined
      ? inputRequired({ capital_question: asksModel("What is the capital of France?") })
      : textResult(`Sampling response: ${String(objectAt(answer, "content")?.["text"])}`)
  },
  test_input_required_result_list_roots: ({ asked }) => {
    const roots = responseTo(asked, "client_roots")?.["roots"]
    return Array.isArray(roots) ? textResult(`${roots.length} roots`) : inputRequired({ client_roots: asksRoots })
  },
  test_input_required_result_request_state: ({ asked }) =>
    opened(asked["requestState"]) !== undefined && accepted(asked, "confirm") !== undefined
      ? textResult("state-ok: the state was verified")
      : inputRequired({ confirm: asksOk }, sealed({ tool: "request_state" })),
  test_input_required_result_tampered_state: ({ asked }) =>
    opened(asked["requestState"]) !== undefined && accepted(asked, "confirm") !== undefined
      ? textResult("integrity-ok")
      : inputRequired({ confirm: asksOk }, sealed({ tool: "tampered_state" })),
  test_input_required_result_multiple_inputs: ({ asked }) => {
    const name = accepted(asked, "user_name")?.["name"]
    const greeting = objectAt(responseTo(asked, "greeting"), "content")?.["text"]
    const roots = responseTo(asked, "client_roots")?.["roots"]
    if (typeof name === "string" && typeof greeting === "string" && Array.isArray(roots)) {
      return textResult(`${greeting} ${name}, ${roots.length} roots`)
    }
    const all = { user_name: asksName, greeting: asksModel("Generate a greeting"), client_roots: asksRoots }
    return inputRequired(all, sealed({ tool: "multiple_inputs" }))
  },
  test_input_required_result_multi_round: ({ asked }) => {
    const round = Number(opened(asked["requestState"])?.["round"] ?? 0)
    if (round === 0) return inputRequired({ step1: asksName }, sealed({ round: 1 }))
    const asksColor = elicitation("Which color?", form({ color: { type: "string" } }, ["color"]))
    if (round === 1) return inputRequired({ step2: asksColor }, sealed({ round: 2 }))
    return textResult(`likes ${String(accepted(asked, "step2")?.["color"])}`)
  },
  test_input_required_result_capabilities: ({ asked, meta }) => {
    if (asked["inputResponses"] !== undefined) return textResult("fulfilled")
    const { elicitation: elicits, sampling, roots } = capabilitiesIn(meta)
    const wanted = {
      ...(elicits !== undefined && { user_name: asksName }),
      ...(sampling !== undefined && { greeting: asksModel("Generate a greeting") }),
      ...(roots !== undefined && { client_roots: asksRoots }),
    }
    return Object.keys(wanted).length === 0 ? textResult("nothing to ask") : inputRequired(wanted)
  },
})

export const referenceDefinitions = {
  test_x_mcp_header: {
    inputSchema: {
      type: "object",
      properties: { region: { type: "string", "x-mcp-header": "Region" }, level: { type: "integer" } },
    },
  },
  json_schema_2020_12_tool: {
    inputSchema: {
      $schema: "https://json-schema.org/draft/2020-12/schema",
      type: "object",
      $defs: {
        address: {
          $anchor: "addressDef",
          type: "object",
          properties: { street: { type: "string" }, city: { type: "string" } },
        },
      },
      properties: {
        name: { type: "string" },
        address: { $ref: "#/$defs/address" },
        contactMethod: { type: "string", enum: ["phone", "email"] },
        phone: { type: "string" },
        email: { type: "string" },
      },
      allOf: [{ anyOf: [{ required: ["phone"] }, { required: ["email"] }] }],
      if: { properties: { contactMethod: { const: "phone" } }, required: ["contactMethod"] },
      // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema
      then: { required: ["phone"] },
      else: { required: ["email"] },
      additionalProperties: false,
    },
  },
}

const message = (...content: ReadonlyArray<object>) => ({
  messages: content.map((each) => ({ role: "user", content: each })),
})
const text = (text: string) => ({ type: "text", text })

export const referenceMethods: NonNullable<ToolServerOptions["methods"]> = {
  "logging/setLevel": () => ({}),
  "resources/subscribe": () => ({}),
  "resources/unsubscribe": () => ({}),
  "completion/complete": () => ({ resultType: "complete", completion: { values: [], total: 0, hasMore: false } }),
  "resources/templates/list": () => ({
    resourceTemplates: [{ name: "template", uriTemplate: "test://template/{id}/data", mimeType: "application/json" }],
  }),
  "resources/list": () => ({
    resources: ["static-text", "static-binary", "watched-resource"].map((name) => ({
      name,
      uri: `test://${name}`,
      description: `The resource ${name}`,
      mimeType: name === "static-binary" ? "image/png" : "text/plain",
    })),
  }),
  "resources/read": ({ uri }) => {
    const [, id] = /^test:\/\/template\/(.*)\/data$/.exec(String(uri)) ?? []
    if (id !== undefined) {
      const data = JSON.stringify({ id, templateTest: true, data: `Data for ID: ${id}` })
      return { contents: [{ uri, mimeType: "application/json", text: data }] }
    }
    if (uri === "test://static-binary") return { contents: [{ uri, mimeType: "image/png", blob: png }] }
    if (uri === "test://static-text" || uri === "test://watched-resource") {
      return { contents: [{ uri, mimeType: "text/plain", text: "This is the content of the static text resource." }] }
    }
    throw new ToolRefusal(-32602, "Resource not found", { data: { uri: String(uri) } })
  },
  "prompts/list": () => ({
    prompts: [
      { name: "test_simple_prompt", description: "A simple prompt" },
      {
        name: "test_prompt_with_arguments",
        description: "A prompt with arguments",
        arguments: [
          { name: "arg1", required: true },
          { name: "arg2", required: true },
        ],
      },
      {
        name: "test_prompt_with_embedded_resource",
        description: "A prompt with a resource",
        arguments: [{ name: "resourceUri", required: true }],
      },
      { name: "test_prompt_with_image", description: "A prompt with an image" },
      { name: "test_input_required_result_prompt", description: "A prompt that asks" },
    ],
  }),
  "prompts/get": (params) => {
    const given = objectAt(params, "arguments") ?? {}
    switch (params["name"]) {
      case "test_simple_prompt":
        return message(text("This is a simple prompt for testing."))
      case "test_prompt_with_arguments":
        return message(text(`Prompt with arguments: arg1='${String(given["arg1"])}', arg2='${String(given["arg2"])}'`))
      case "test_prompt_with_embedded_resource":
        return message(
          embedded(String(given["resourceUri"]), "text/plain", "Embedded resource content for testing."),
          text("Please process the embedded resource above."),
        )
      case "test_prompt_with_image":
        return message(image, text("Please analyze the image above."))
      case "test_input_required_result_prompt": {
        const context = accepted(params, "user_context")?.["context"]
        const asksContext = elicitation("Which context?", form({ context: { type: "string" } }, ["context"]))
        return typeof context === "string"
          ? message(text(`Use the following context: ${context}`))
          : inputRequired({ user_context: asksContext })
      }
    }
    throw new ToolRefusal(-32602, "Unknown prompt")
  },
}
