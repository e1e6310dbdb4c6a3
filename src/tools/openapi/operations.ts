/**
 * The operations of an OpenAPI document (3.0, 3.1 and 3.2) as tools.
 *
 * **Details**: an operation that cannot be called, and one whose schema is too large, is left out with the reason. The order is the
 * document's.
 */
import { isObject, type JsonObject, objectAt, stringAt } from "../../dialects/parse/json.ts"
import { bodyOf } from "./body.ts"
import { toolNameOf } from "./names.ts"
import type { OperationMethod, ToolAnnotations, ToolOperation } from "./operation.ts"
import { type Arguments, isUnsupported, parametersOf, type Unsupported } from "./parameters.ts"
import { followed } from "./references.ts"
import { SchemaReader } from "./schemas.ts"
import { serverUrlOf } from "./servers.ts"

export interface OpenApiOptions {
  /** The server's URL; the document's if absent. */
  readonly baseUrl?: string | undefined
  /** The document's own URL, against which its servers are resolved. */
  readonly documentUrl?: string | undefined
  /** Operations with one of these tags; all if neither this nor `operations` is present. */
  readonly tags?: ReadonlyArray<string> | undefined
  /** Operations with one of these ids. */
  readonly operations?: ReadonlyArray<string> | undefined
  readonly maxTools?: number | undefined
  /** Whether no more time may be spent; never if absent. */
  readonly isOver?: (() => boolean) | undefined
  readonly maxNameLength?: number | undefined
}

/** The reason why an operation, or the document, is not among the tools. */
export interface OpenApiProblem {
  /** The method and path; `document` for the whole. */
  readonly place: string
  readonly message: string
}

export interface OpenApiTools {
  readonly operations: ReadonlyArray<ToolOperation>
  readonly problems: ReadonlyArray<OpenApiProblem>
}

export const defaultMaxTools = 1000
/** The longest name that the APIs of models allow. */
const defaultMaxName = 64
/** The JSON of all tools. */
const maxTotalBytes = 8 * 1024 * 1024
const maxDescription = 4000

/** Attempts to read a schema, each smaller than the one before. */
const attempts = [
  { form: "inline", maxBytes: 16 * 1024, maxDepth: 24, maxText: 1000 },
  { form: "defined", maxBytes: 64 * 1024, maxDepth: 64, maxText: 500 },
  { form: "defined", maxBytes: 64 * 1024, maxDepth: 64, maxText: 0 },
] as const

const methods: ReadonlyArray<readonly [name: string, method: OperationMethod]> = [
  ["get", "GET"],
  ["post", "POST"],
  ["put", "PUT"],
  ["patch", "PATCH"],
  ["delete", "DELETE"],
]

const withBody: ReadonlySet<OperationMethod> = new Set(["POST", "PUT", "PATCH"])

/** @param document already parsed */
export const toolsOf = (document: unknown, options: OpenApiOptions = {}): OpenApiTools => {
  if (!isObject(document)) return onlyProblem("it is no object")
  if (!/^3\.[012](\.|$)/.test(stringAt(document, "openapi") ?? "")) {
    return onlyProblem("it is not of OpenAPI 3.0, 3.1 or 3.2")
  }
  const { maxTools = defaultMaxTools, isOver = never } = options
  const operations: Array<ToolOperation> = []
  const problems: Array<OpenApiProblem> = []
  const names = new Set<string>()
  let bytes = 0
  for (const found of operationsIn(document)) {
    if (!isAllowed(found, options)) continue
    const place = `${found.method} ${found.path}`
    if (isOver()) {
      problems.push({ place, message: "the document takes too long to be read" })
      break
    }
    const operation = operations.length < maxTools ? operationOf(document, found, names, options) : tooMany
    if (isUnsupported(operation)) {
      problems.push({ place, message: operation.problem })
      continue
    }
    bytes += JSON.stringify(operation.tool).length
    if (bytes > maxTotalBytes) {
      problems.push({ place, message: "the document's tools are too large together" })
      break
    }
    names.add(operation.tool.name)
    operations.push(operation)
  }
  return { operations, problems: [...problems, ...unknownIn(document, options)] }
}

const never = () => false

const onlyProblem = (message: string): OpenApiTools => ({ operations: [], problems: [{ place: "document", message }] })

const tooMany: Unsupported = { problem: "the document has too many operations" }

interface FoundOperation {
  readonly method: OperationMethod
  readonly path: string
  readonly pathItem: JsonObject
  readonly operation: JsonObject
}

function* operationsIn(document: JsonObject): Iterable<FoundOperation> {
  for (const [path, item] of Object.entries(objectAt(document, "paths") ?? {})) {
    const pathItem = followed(document, item)
    if (pathItem === undefined || !path.startsWith("/")) continue
    for (const [name, method] of methods) {
      const operation = pathItem[name]
      if (isObject(operation)) yield { method, path, pathItem, operation }
    }
  }
}

const tagsOf = (operation: JsonObject): ReadonlyArray<string> => {
  const { tags } = operation
  return Array.isArray(tags) ? tags.filter((tag: unknown) => typeof tag === "string") : []
}

const isAllowed = ({ operation }: FoundOperation, { tags, operations }: OpenApiOptions): boolean => {
  if (tags === undefined && operations === undefined) return true
  const id = stringAt(operation, "operationId")
  return (id !== undefined && operations?.includes(id) === true) || tagsOf(operation).some((tag) => tags?.includes(tag))
}

/** Names of the options that the document does not have. */
const unknownIn = (document: JsonObject, { tags, operations }: OpenApiOptions): ReadonlyArray<OpenApiProblem> => {
  if (tags === undefined && operations === undefined) return []
  const all = [...operationsIn(document)].map(({ operation }) => operation)
  const ids = new Set(all.map((operation) => operation["operationId"]))
  const known = new Set(all.flatMap(tagsOf))
  return [
    ...(operations ?? []).filter((id) => !ids.has(id)).map((id) => `it has no operation ${id}`),
    ...(tags ?? []).filter((tag) => !known.has(tag)).map((tag) => `it has no operation with the tag ${tag}`),
  ].map((message) => ({ place: "document", message }))
}

const operationOf = (
  document: JsonObject,
  found: FoundOperation,
  names: ReadonlySet<string>,
  options: OpenApiOptions,
): ToolOperation | Unsupported => {
  const { method, path, pathItem, operation } = found
  if (!isPath(path)) return { problem: "its path has a segment `.` or `..`, a query or a fragment" }
  for (const { form, ...limits } of attempts) {
    const reader = new SchemaReader(document, limits, form)
    const collected: Arguments = { properties: new Map(), required: [] }
    const parameters = parametersOf(document, pathItem, operation, reader, collected)
    if (isUnsupported(parameters)) return parameters
    const missing = templatesOf(path).find(
      (name) => !parameters.some((one) => one.place === "path" && one.name === name),
    )
    if (missing !== undefined) return { problem: `its path has a parameter that is not described: ${missing}` }
    const body = bodyOf(document, operation, reader, collected)
    if (isUnsupported(body)) return body
    if (body?.isRequired === true && !withBody.has(method))
      return { problem: `it needs a body, which ${method} has not` }
    if (reader.isFull) continue
    const definitions = reader.definitions()
    const operationId = stringAt(operation, "operationId")
    return {
      tool: {
        name: toolNameOf({ operationId, method, path }, names, options.maxNameLength ?? defaultMaxName),
        description: descriptionOf(found),
        inputSchema: {
          type: "object",
          properties: Object.fromEntries(collected.properties.entries().map(asObject)),
          ...(collected.required.length > 0 && { required: collected.required }),
          additionalProperties: false,
          ...(Object.keys(definitions).length > 0 && { $defs: definitions }),
        },
        annotations: annotationsOf(method, stringAt(operation, "summary")),
      },
      method,
      path,
      baseUrl: options.baseUrl ?? serverUrlOf([operation, pathItem, document], options.documentUrl),
      operationId,
      tags: tagsOf(operation),
      parameters,
      body,
    }
  }
  return { problem: "its schema is too large" }
}

/** Clients of the first generation take no boolean for a schema. */
const asObject = ([name, schema]: [string, JsonObject | boolean]): [string, JsonObject] => [
  name,
  typeof schema === "boolean" ? (schema ? {} : { not: {} }) : schema,
]

const isPath = (path: string): boolean =>
  !/[?#\\]/.test(path) && path.split("/").every((segment) => !/^(\.|%2e){1,2}$/i.test(segment))

/** The names of a path's parameters. */
const templatesOf = (path: string): ReadonlyArray<string> =>
  [...path.matchAll(/\{([^{}]+)\}/g)].map(([, name = ""]) => name)

const descriptionOf = ({ method, path, operation }: FoundOperation): string => {
  const texts = [stringAt(operation, "summary"), stringAt(operation, "description")]
  const text = [...new Set(texts)].filter((each) => each !== undefined && each.trim() !== "").join("\n\n")
  const note = operation["deprecated"] === true ? "\n\nDeprecated." : ""
  const own = text === "" ? `${method} ${path}` : text
  return `${own.length > maxDescription ? `${own.slice(0, maxDescription).toWellFormed()}…` : own}${note}`
}

const annotationsOf = (method: OperationMethod, title: string | undefined): ToolAnnotations => ({
  ...(title !== undefined && { title: title.slice(0, 200) }),
  readOnlyHint: method === "GET",
  destructiveHint: method === "DELETE" || method === "PUT",
  idempotentHint: method !== "POST" && method !== "PATCH",
  openWorldHint: true,
})
