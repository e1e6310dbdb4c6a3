/** The tools of a Gemini request, and the choice among them. */
import { type ClientToolChoice, noArguments } from "../client/client-parts.ts"
import { all, carried, type FieldTable, isAbsent, own, present, withoutEffect } from "../client/fields.ts"
import { isObject, type JsonObject } from "../parse/json.ts"
import { HostedTools } from "../vendor/hosted-tools.ts"
import { clientToolOf } from "../vendor/vendor-tools.ts"
import { type GenerateReader, nameIn } from "./client-reader.ts"

const choiceFields = all(carried, "mode", "allowedFunctionNames")

const toolConfigFields: FieldTable = {
  functionCallingConfig: carried,
  ...all(
    withoutEffect("it belongs to tools that its vendor runs"),
    "retrievalConfig",
    "includeServerSideToolInvocations",
  ),
}

/** Google's schemas are OpenAPI's, with types in capitals. */
export const jsonSchemaOf = (schema: unknown): unknown => {
  if (Array.isArray(schema)) return schema.map(jsonSchemaOf)
  if (!isObject(schema)) return schema
  const { nullable, type, ...rest } = schema
  const lower = typeof type === "string" ? type.toLowerCase() : type
  return {
    ...(lower !== undefined && { type: nullable === true ? [lower, "null"] : lower }),
    ...Object.fromEntries(
      Object.entries(rest)
        .filter(([name]) => name !== "propertyOrdering")
        .map(([name, value]) => [name, name === "enum" || name === "default" ? value : jsonSchemaOf(value)]),
    ),
  }
}

const declarationFields: FieldTable = {
  ...all(carried, "name", "description", "parameters", "parametersJsonSchema"),
  ...all(withoutEffect("results are the client's"), "response", "responseJsonSchema"),
  behavior: own("BLOCKING", "UNSPECIFIED"),
}

export const toolsOf = (reader: GenerateReader, value: unknown) => {
  const tools: Array<JsonObject> = []
  const hosted = new HostedTools(reader, undefined, { kinds: ["functionDeclarations"] })
  // One tool may come without its list.
  const listed = isObject(value) ? [value] : reader.optionalList(value, "tools")
  for (const [index, item] of listed.entries()) {
    const { functionDeclarations, ...others } = reader.fields(item, `tools.${index}`)
    const [first, ...more] = Object.entries(others)
    if (first !== undefined) {
      // A tool of one kind is taken out whole.
      const isAlone = more.length === 0 && isAbsent(functionDeclarations)
      for (const [type, options] of [first, ...more]) {
        const whole = isObject(value) ? ["tools"] : ["tools", index]
        const at = isAlone ? whole : [...whole, nameIn(item, type)]
        const own = clientToolOf("gemini", type, { [type]: options })
        if (own !== undefined) tools.push(own)
        else hosted.add(type, isObject(options) ? options : {}, at.join("."), at)
      }
    }
    const path = `tools.${index}.functionDeclarations`
    const place = `${isObject(value) ? "tools" : `tools.${index}`}.${nameIn(item, "functionDeclarations")}`
    const declared = reader.optionalList(functionDeclarations, path)
    for (const [at, declaration] of declared.entries()) {
      const tool = reader.fields(declaration, `${path}.${at}`)
      reader.check(declarationFields, tool, `${path}.${at}`)
      const { name, description, parameters, parametersJsonSchema } = tool
      const inputSchema = isAbsent(parametersJsonSchema)
        ? (jsonSchemaOf(parameters) ?? noArguments)
        : reader.exactly(parametersJsonSchema, `${place}.${at}.${nameIn(declaration, "parametersJsonSchema")}`)
      tools.push(present({ name, description, inputSchema }))
    }
  }
  return { tools, hosted }
}

export const toolChoiceOf = (reader: GenerateReader, value: unknown): ClientToolChoice => {
  if (isAbsent(value)) return { toolChoice: undefined }
  const config = reader.checkedFields(toolConfigFields, value, "toolConfig")["functionCallingConfig"]
  if (isAbsent(config)) return { toolChoice: undefined }
  const path = "toolConfig.functionCallingConfig"
  const { mode, allowedFunctionNames: allowed } = reader.checkedFields(choiceFields, config, path)
  const names = Array.isArray(allowed) ? allowed : []
  if (names.length === 1 && mode === "ANY") return { toolChoice: { name: names[0] } }
  const words = { AUTO: "auto", NONE: "none", ANY: "required", VALIDATED: "auto", MODE_UNSPECIFIED: "auto" }
  return { toolChoice: reader.word(words, mode, `${path}.mode`), ...(names.length > 0 && { allowed: names }) }
}
