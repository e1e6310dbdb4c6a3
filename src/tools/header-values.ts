/**
 * Values of messages in headers, for intermediaries. Pure.
 * Source: https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http#request-metadata
 */

const prefix = "=?base64?"
const suffix = "?="

/** A value as a header has it: in Base64 if it is no visible ASCII, or looks like Base64 already. */
export const headerText = (value: string): string =>
  /^[\x21-\x7e](?:[\x20-\x7e\t]*[\x21-\x7e])?$/.test(value) && !(value.startsWith(prefix) && value.endsWith(suffix))
    ? value
    : `${prefix}${Buffer.from(value).toString("base64")}${suffix}`

/** The value of a header; undefined if it is malformed. */
export const valueOfHeader = (text: string): string | undefined => {
  if (!/^[\x20-\x7e\t]*$/.test(text)) return undefined
  if (!(text.startsWith(prefix) && text.endsWith(suffix))) return text
  const encoded = text.slice(prefix.length, -suffix.length)
  if (!/^[A-Za-z0-9+/]*={0,2}$/.test(encoded) || encoded.length % 4 !== 0) return undefined
  return new TextDecoder().decode(Buffer.from(encoded, "base64"))
}

/** A parameter of a tool that is sent in a header too. */
export interface HeaderParameter {
  /** Its header in lower case, as `mcp-param-region`. */
  readonly header: string
  /** The members that lead to it in the arguments. */
  readonly path: ReadonlyArray<string>
  readonly type: string
}

const isObject = (json: unknown): json is Readonly<Record<string, unknown>> =>
  typeof json === "object" && json !== null && !Array.isArray(json)

const member = (json: unknown, name: string): unknown =>
  isObject(json) && Object.hasOwn(json, name) ? json[name] : undefined

/** Levels of a schema that are read. */
const deepest = 16

/** The parameters that a schema sends in headers; undefined if an annotation is not valid: then the tool is not either. */
export const headerParameters = (schema: unknown): ReadonlyArray<HeaderParameter> | undefined => {
  const found: Array<HeaderParameter> = []
  let isValid = true
  const look = (at: unknown, path: ReadonlyArray<string>, isReachable: boolean, depth: number): void => {
    if (depth > deepest) return
    if (Array.isArray(at)) {
      for (const each of at) look(each, path, false, depth + 1)
      return
    }
    if (!isObject(at)) return
    for (const [name, value] of Object.entries(at)) {
      if (name === "x-mcp-header") {
        const type = at["type"]
        const isGood =
          isReachable &&
          path.length > 0 &&
          typeof value === "string" &&
          /^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,128}$/.test(value) &&
          (type === "string" || type === "integer" || type === "boolean")
        if (isGood) found.push({ header: `mcp-param-${value.toLowerCase()}`, path, type })
        else isValid = false
      } else if (name === "properties" && isObject(value)) {
        for (const [property, inner] of Object.entries(value)) look(inner, [...path, property], isReachable, depth + 1)
      } else if (!dataMembers.has(name)) look(value, path, false, depth + 1)
    }
  }
  look(schema, [], true, 0)
  const names = new Set(found.map(({ header }) => header))
  return isValid && names.size === found.length ? found : undefined
}

/** Members of a schema that hold values, and no schemas. */
const dataMembers: ReadonlySet<string> = new Set(["const", "enum", "default", "examples", "required", "description"])

/** The text of an argument for its header; undefined if it is absent or null. */
const argumentText = (parameter: HeaderParameter, given: unknown): string | undefined => {
  const value = parameter.path.reduce(member, given)
  if (typeof value === "string") return value
  return typeof value === "number" || typeof value === "boolean" ? String(value) : undefined
}

/** The headers of a call. */
export const headersOfArguments = (
  parameters: ReadonlyArray<HeaderParameter>,
  given: unknown,
): Readonly<Record<string, string>> =>
  Object.fromEntries(
    parameters.flatMap((parameter) => {
      const text = argumentText(parameter, given)
      return text === undefined ? [] : [[parameter.header, headerText(text)]]
    }),
  )

/** The header that does not agree with the arguments; undefined if all do. */
export const unlikeArguments = (
  parameters: ReadonlyArray<HeaderParameter>,
  given: unknown,
  headers: Readonly<Record<string, string | undefined>>,
): string | undefined =>
  parameters.find((parameter) => {
    const expected = argumentText(parameter, given)
    const sent = headers[parameter.header]
    if (expected === undefined || sent === undefined) return expected !== sent
    const value = valueOfHeader(sent)
    if (value === undefined) return true
    return parameter.type === "integer" ? Number(value) !== Number(expected) || value.trim() === "" : value !== expected
  })?.header
