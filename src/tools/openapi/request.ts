/** The HTTP request of a call to an operation. */
import { Result } from "effect"
import { isObject, type JsonObject } from "../../dialects/parse/json.ts"
import type { OperationMethod, OperationParameter, ToolOperation } from "./operation.ts"
import { encoded, headerValueOf, own, pairsOf, pathValueOf, textOf } from "./values.ts"
import { type ArgumentProblem, writeBody } from "./written-body.ts"

export type { ArgumentProblem } from "./written-body.ts"

export interface OperationRequest {
  readonly method: OperationMethod
  /** The path and query, to be added to the base URL. */
  readonly path: string
  /** Lower-case names. Credentials of the gateway replace those with the same name. */
  readonly headers: Readonly<Record<string, string>>
  /** Empty if there is none. */
  readonly body: string | Uint8Array
}

/** The longest path with its query that servers accept is about this. */
const maxPathLength = 16 * 1024

/** The request of a call, or the faults of its arguments. */
export const requestOf = (
  operation: ToolOperation,
  args: unknown = {},
): Result.Result<OperationRequest, ReadonlyArray<ArgumentProblem>> => {
  if (!isObject(args)) return Result.fail([{ argument: "", message: "the arguments are no object" }])
  const problems: Array<ArgumentProblem> = [...unknownIn(operation, args)]
  const valueFor = (parameter: OperationParameter): unknown => {
    const value = own(args, parameter.argument) ?? (parameter.isRequired ? parameter.default : undefined)
    if (parameter.isRequired && (value === undefined || value === null))
      problems.push({ argument: parameter.argument, message: "it is missing" })
    return value === undefined || value === null ? undefined : parameter.isJson ? JSON.stringify(value) : value
  }
  let { path } = operation
  const query: Array<string> = []
  const headers: Record<string, string> = {}
  for (const parameter of operation.parameters) {
    const value = valueFor(parameter)
    if (value === undefined) continue
    const { argument, name, place } = parameter
    if (place === "query") query.push(...pairsOf(name, parameter, value, parameter.allowsReserved))
    else if (place === "header") {
      const text = headerValueOf(parameter, value)
      if (headerText.test(text)) headers[name.toLowerCase()] = text
      else problems.push({ argument, message: "it has characters that no header has" })
    } else {
      const written = pathValueOf(parameter, value)
      const message = pathProblem(value, written)
      if (message !== undefined) problems.push({ argument, message })
      path = path.replaceAll(`{${name}}`, () => written)
    }
  }
  const body = writeBody(operation.body, args, problems)
  const whole = `${written(path)}${query.length > 0 ? `?${query.join("&")}` : ""}`
  if (whole.length > maxPathLength) problems.push({ argument: "", message: "the path and query are too long" })
  if (problems.length > 0) return Result.fail(problems)
  return Result.succeed({
    method: operation.method,
    path: whole,
    headers: {
      accept: "application/json, text/*;q=0.9, */*;q=0.8",
      ...headers,
      ...(body !== undefined && { "content-type": body.contentType }),
    },
    body: body?.content ?? "",
  })
}

const unknownIn = ({ parameters, body }: ToolOperation, args: JsonObject): ReadonlyArray<ArgumentProblem> => {
  const known = new Set([
    ...parameters.map(({ argument }) => argument),
    ...(body === undefined ? [] : body.argument === undefined ? body.properties : [body.argument]),
  ])
  return Object.keys(args)
    .filter((name) => !known.has(name))
    .map((argument) => ({ argument, message: "the operation has no such argument" }))
}

/** Visible characters, spaces and tabs. */
const headerText = /^[\t\x20-\x7e\x80-\xff]*$/

/** Dots that leave the path, also if a server decodes the value, once or twice, before it reads the path. */
const pathProblem = (value: unknown, written: string): string | undefined => {
  const texts = isObject(value) ? Object.entries(value).flat() : Array.isArray(value) ? value : [value]
  // Members that are null are not written.
  const isEmpty = written === "" || texts.length === 0 || texts.every((text) => textOf(text) === "")
  if (isEmpty) return "it is empty, which would be another path"
  for (const text of [written, ...texts.map(textOf)]) {
    for (const form of [text, decodedOnce(text), decodedOnce(decodedOnce(text))]) {
      if (form.split(/[/\\]/).some((segment) => segment === "." || segment === ".."))
        return "it has a segment `.` or `..`, which would be another path"
    }
  }
  return undefined
}

const decodedOnce = (text: string): string =>
  text.replace(/%(2e|2f|5c|25)/gi, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16)))

/** The path of a document may have characters that a URL has not. */
const written = (path: string): string => path.replace(/[^\w\-.~!$&'()*+,;=:@/%]+/g, (part) => encoded(part))
