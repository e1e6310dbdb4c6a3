/** A JSON Schema of the OpenAPI document in words: its type, and its members. Source: OpenAPI 3.1, "Schema Object". */

import { isJsonObject, type Json, type JsonObject, listOf } from "../../protocol/json/json-value.ts"
import { Html, html } from "../pages/html.ts"

export interface Field {
  readonly name: string
  readonly type: Html
  readonly isRequired: boolean
  readonly description: string | undefined
}

const joined = (parts: ReadonlyArray<Html>, between: string): Html =>
  new Html(parts.map(({ text }) => text).join(between))

/** A type in a line: names of schemas are links, objects without a name are their members in braces. */
export const typeOf = (schema: Json | undefined): Html => {
  if (!isJsonObject(schema)) return html`any`
  const { $ref, type, items, properties } = schema
  if (typeof $ref === "string") {
    const name = $ref.slice($ref.lastIndexOf("/") + 1)
    return html`<a href="/docs/api/schemas/${name}">${name}</a>`
  }
  const choices = listOf(schema["enum"])
  if (choices.length > 0)
    return joined(
      choices.map((choice) => html`<code>${JSON.stringify(choice)}</code>`),
      " | ",
    )
  const variants = [...listOf(schema["anyOf"]), ...listOf(schema["oneOf"])]
  if (variants.length > 0) return joined(variants.map(typeOf), " | ")
  if (type === "array") return html`list of ${typeOf(items)}`
  if (type === "object" && isJsonObject(properties) && Object.keys(properties).length > 0) {
    const members = Object.entries(properties).map(([name, member]) => html`<code>${name}</code>: ${typeOf(member)}`)
    return html`{ ${joined(members, ", ")} }`
  }
  return html`${typeof type === "string" ? type : "any"}${bounds(schema)}`
}

/** Limits in words; undefined if there are none. */
const bounds = (schema: JsonObject): string | undefined => {
  const all = [schema, ...listOf(schema["allOf"]).filter(isJsonObject)]
  const first = (key: string) => all.map((part) => part[key]).find((value) => value !== undefined)
  const [from, to] = [first("minimum"), first("maximum")]
  const [shortest, longest] = [first("minLength"), first("maxLength")]
  const words = [
    ...(from !== undefined && to !== undefined ? [`${from} to ${to}`] : from !== undefined ? [`at least ${from}`] : []),
    ...(longest !== undefined ? [`${shortest ?? 0} to ${longest} characters`] : []),
  ]
  return words.length === 0 ? undefined : `, ${words.join(", ")}`
}

/** The members of an object, or of each variant of a union of objects. */
export const fieldsOf = (schema: Json): ReadonlyArray<Field> => {
  if (!isJsonObject(schema)) return []
  const variants = [...listOf(schema["anyOf"]), ...listOf(schema["oneOf"])]
  if (variants.length > 0) return variants.flatMap(fieldsOf)
  const required = listOf(schema["required"])
  return Object.entries(isJsonObject(schema["properties"]) ? schema["properties"] : {}).map(([name, member]) => ({
    name,
    type: typeOf(member),
    isRequired: required.includes(name),
    description: isJsonObject(member) && typeof member["description"] === "string" ? member["description"] : undefined,
  }))
}
