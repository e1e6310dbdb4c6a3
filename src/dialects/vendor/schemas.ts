/** JSON Schemas in the form that vendors take. A schema that a vendor takes unchanged is not copied. */
import type { Message } from "../../protocol/block.ts"
import type { FunctionTool } from "../../protocol/tool.ts"
import type { VendorRequest } from "../chat-dialect.ts"
import { isObject, type JsonObject, objectAt, objectsAt } from "../parse/json.ts"

type Schema = FunctionTool["inputSchema"]

/** Changes the schemas of tools. */
export const withToolSchemas =
  (change: (schema: Schema) => Schema) =>
  (request: VendorRequest): VendorRequest => {
    const tools = request.tools.map((tool) => {
      const inputSchema = change(tool.inputSchema)
      if (inputSchema === tool.inputSchema) return tool
      const { schemaJson: _text, ...rest } = tool
      return { ...rest, inputSchema }
    })
    return tools.every((tool, at) => tool === request.tools[at]) ? request : { ...request, tools }
  }

/** A schema for any object: the form of JSON mode. */
export const isAnyObject = (schema: Schema): boolean =>
  schema["type"] === "object" &&
  Object.entries(schema).every(
    ([name, value]) => name === "type" || (name === "additionalProperties" && value === true),
  )

/** Adds an instruction that any JSON object is wanted: vendors take their JSON mode only if a thread says so. */
export const withJsonSaid = (request: VendorRequest): VendorRequest =>
  request.anyJson !== true ||
  request.thread.some(({ blocks }) => blocks.some((block) => block.t === "text" && /json/i.test(block.v)))
    ? request
    : withJsonAsked(request)

/** The same for models without such a mode, which follow instructions. */
export const withJsonAsked = (request: VendorRequest): VendorRequest => {
  const { anyJson, thread } = request
  if (anyJson !== true) return request
  const at = thread.findIndex(({ role }) => role !== "system")
  return { ...request, thread: thread.toSpliced(at === -1 ? thread.length : at, 0, jsonInstruction) }
}

const jsonInstruction: Message = {
  role: "system",
  blocks: [{ t: "text", v: "Answer with one JSON object and nothing else: no words around it, and no code fence." }],
}

/** The schema of a tool's input, which is an object. */
export const ofObject = (schema: Schema): Schema =>
  schema["type"] === "object" ? schema : { ...schema, type: "object" }

/** Objects have properties, and lists have items, at every depth. */
export const withProperties = (schema: Schema): Schema => {
  const inside = mapSchemas(schema, withProperties)
  const types = Array.isArray(schema["type"]) ? schema["type"] : [schema["type"]]
  const lacksItems = schema["items"] === undefined && schema["prefixItems"] === undefined
  const completed = types.includes("array") && lacksItems ? { ...inside, items: {} } : inside
  return types.includes("object") && !isObject(schema["properties"]) ? { ...completed, properties: {} } : completed
}

/** Asks for OpenAI's guaranteed form if the schema allows it; without it, a schema is followed too. */
export const strictIfPossible = (request: VendorRequest): VendorRequest => {
  const { output } = request
  return output?.strict !== true || isStrict(output.schema)
    ? request
    : { ...request, output: { ...output, strict: false } }
}

/** Whether a schema can be followed strictly: its objects are closed, and require all that they have. */
export const isStrict = (schema: Schema): boolean => {
  const properties = schema["properties"]
  if (schema["type"] === "object") {
    const required = new Set(requiredIn(schema))
    const names = isJsonObject(properties) ? Object.keys(properties) : []
    if (schema["additionalProperties"] !== false || names.some((name) => !required.has(name))) return false
  }
  let strict = true
  mapSchemas(schema, (inner) => {
    strict &&= isStrict(inner)
    return inner
  })
  return strict
}

const branches = ["anyOf", "oneOf", "allOf"] as const

/**
 * A schema without choices on top: the properties of all branches together. Only properties that `allOf` and the schema
 * itself require are required.
 */
export const withoutTopBranches = (schema: Schema): Schema => {
  if (!branches.some((name) => name in schema)) return schema
  const { anyOf, oneOf, allOf, ...rest } = schema
  const every = objectsAt({ allOf }, "allOf")
  const some = [...objectsAt({ anyOf }, "anyOf"), ...objectsAt({ oneOf }, "oneOf")]
  const properties = Object.assign({}, ...[...some, ...every, schema].map((each) => objectAt(each, "properties") ?? {}))
  const required = [...new Set([schema, ...every].flatMap(requiredIn))]
  return jsonOf({ ...rest, properties, ...(required.length > 0 && { required }) })
}

const requiredIn = ({ required }: JsonObject): ReadonlyArray<unknown> => (Array.isArray(required) ? required : [])

/** The same schema with other schemas inside; itself if none is changed. */
export const mapSchemas = (schema: Schema, change: (inner: Schema) => Schema): Schema => {
  const changed: Record<string, Schema[string]> = {}
  for (const [name, value] of Object.entries(schema)) {
    const inner = changedIn(name, value, change)
    if (inner !== value) changed[name] = inner
  }
  for (const _ in changed) return { ...schema, ...changed }
  return schema
}

/** Members of a schema that have schemas by name, in a list, or alone. */
const named = new Set(["properties", "$defs", "definitions", "patternProperties"])
const listed = new Set<string>([...branches, "prefixItems"])
const single = new Set(["items", "additionalProperties", "not"])

const changedIn = (name: string, value: Schema[string], change: (inner: Schema) => Schema): Schema[string] => {
  const changedOne = (each: Schema[string]) => (isJsonObject(each) ? change(each) : each)
  if (single.has(name)) return changedOne(value)
  if (listed.has(name) && Array.isArray(value)) {
    const list = value.map(changedOne)
    return list.some((each, at) => each !== value[at]) ? list : value
  }
  if (!named.has(name) || !isJsonObject(value)) return value
  const members = Object.entries(value).map(([key, each]) => [key, changedOne(each)] as const)
  return members.some(([key, each]) => each !== value[key]) ? Object.fromEntries(members) : value
}

export const isJsonObject = (value: Schema[string] | undefined): value is Schema => isObject(value)

/** A value as JSON, which was built from JSON. */
const jsonOf = (schema: JsonObject): Schema => JSON.parse(JSON.stringify(schema))
