/** Cohere's chat as clients send it, by its API v1. Source: https://docs.cohere.com/v1/reference/chat */
import { Result } from "effect"
import type { ClientRequest } from "../client/client-api.ts"
import {
  all,
  carried,
  FieldReader,
  type FieldRefusal,
  type FieldTable,
  isAbsent,
  neutral,
  present,
  presentIfAny,
  refused,
  withoutEffect,
} from "../client/fields.ts"
import type { JsonObject } from "../parse/json.ts"
import { outputOf, paramsOf, sharedFields } from "./client-request.ts"
import { withDocuments } from "./documents.ts"
import { History } from "./v1-history.ts"

export const cohereV1Fields: FieldTable = {
  ...sharedFields,
  ...all(carried, "message", "chat_history", "preamble", "tool_results"),
  citation_quality: withoutEffect("citations are those that the vendor gives"),
  force_single_step: withoutEffect("a client decides itself whether it goes on"),
  prompt_truncation: neutral("OFF"),
  search_queries_only: neutral(false),
  conversation_id: refused("nothing is stored: send chat_history"),
  connectors: refused("a vendor's searches are not used: send documents or tools"),
  max_input_tokens: refused("a prompt is not cut"),
}

export const decodeCohereV1 = (body: JsonObject): Result.Result<ClientRequest, FieldRefusal> => {
  const reader = new FieldReader()
  reader.check(cohereV1Fields, body, "")
  const tools = reader.optionalList(body["tools"], "tools").map((tool, index) => toolOf(reader, tool, `tools.${index}`))
  const documents = reader
    .optionalList(body["documents"], "documents")
    .map((document, index) => shownOf(reader.object(document, `documents.${index}`)))
  const exchange = present({
    model: body["model"],
    thread: withDocuments(reader, threadOf(reader, body), documents),
    tools: tools.length === 0 ? undefined : tools,
    params: presentIfAny({ ...paramsOf(body), output: outputOf(reader, body["response_format"]) }),
    stream: body["stream"],
  })
  const context = { model: reader.string(body["model"], "model"), includesUsage: true, echo: historyOf(body) }
  return Result.flatMap(reader.result({ exchange, context }), (read) => reader.carriedResult(read))
}

/** Results follow the calls that wait for them, or the question that led to them. */
const threadOf = (reader: FieldReader, body: JsonObject): ReadonlyArray<JsonObject> => {
  const history = new History(reader)
  const results = reader.optionalList(body["tool_results"], "tool_results")
  history.say("system", body["preamble"], "preamble")
  reader.optionalList(body["chat_history"], "chat_history").forEach((entry, index) => {
    history.entry(entry, `chat_history.${index}`)
  })
  const { waits } = history
  if (waits) history.results(results, "")
  history.say("user", body["message"], "message")
  if (!waits) history.results(results, "")
  if (isAbsent(body["message"])) reader.refuse("message", "is required")
  return history.thread
}

/** The history that a client sends next, without the reply: a reply repeats it. */
export const historyOf = ({ chat_history: history, message, tool_results: results }: JsonObject): JsonObject => ({
  history: [
    ...(Array.isArray(history) ? history : []),
    ...(typeof message === "string" && message !== "" ? [{ role: "USER", message }] : []),
    ...(Array.isArray(results) && results.length > 0 ? [{ role: "TOOL", tool_results: results }] : []),
  ],
})

/** A document without the members that its client hides from the model. */
const shownOf = ({ _excludes: hidden, ...document }: JsonObject): JsonObject => {
  const names: ReadonlyArray<unknown> = Array.isArray(hidden) ? hidden : []
  return Object.fromEntries(Object.entries(document).filter(([name]) => !names.includes(name)))
}

const toolOf = (reader: FieldReader, value: unknown, path: string): JsonObject => {
  const fields = all(carried, "name", "description", "parameter_definitions")
  const { name, description, parameter_definitions: definitions } = reader.checked(fields, value, path)
  const at = `${path}.parameter_definitions`
  const defined = Object.entries(reader.optionalObject(definitions, at)).map(([parameter, value]) => {
    const definition = reader.checked(all(carried, "description", "type", "required"), value, `${at}.${parameter}`)
    return { parameter, definition, type: reader.string(definition["type"], `${at}.${parameter}.type`) }
  })
  return present({
    name,
    description,
    inputSchema: {
      type: "object",
      properties: Object.fromEntries(
        defined.map(({ parameter, definition, type }) => [
          parameter,
          present({ ...schemaOf(type), description: definition["description"] }),
        ]),
      ),
      required: defined.filter(({ definition }) => definition["required"] === true).map(({ parameter }) => parameter),
    },
  })
}

/** Types of JSON Schema by the names that Python has for them; the API accepts both. */
const types: Readonly<Record<string, string>> = {
  str: "string",
  string: "string",
  int: "integer",
  integer: "integer",
  float: "number",
  number: "number",
  bool: "boolean",
  boolean: "boolean",
  list: "array",
  array: "array",
  dict: "object",
  object: "object",
}

/** The maximum length of a type: each bracket in it is read. */
const longestType = 100

/** The schema of a type such as `List[str]`; any value for a type that has no name in JSON Schema. */
const schemaOf = (written: string): JsonObject => {
  if (written.length > longestType) return {}
  const [, name = "", inner = ""] = /^\s*(\w+)\s*(?:\[(.*)\])?\s*$/s.exec(written) ?? []
  const word = name.toLowerCase()
  const type = Object.hasOwn(types, word) ? types[word] : undefined
  if (word === "optional") return schemaOf(inner)
  if (type === undefined) return {}
  if (type !== "array") return { type }
  return { type, items: inner === "" ? {} : schemaOf(inner) }
}
