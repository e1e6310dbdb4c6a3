/**
 * JSON Schemas (2020-12) of an OpenAPI document's schemas, for the input of tools.
 *
 * **Details**: references are replaced by their schemas. A schema that contains itself is kept in `$defs`; all are, if the result
 * would otherwise be too large. Read-only properties are left out. Keywords of OpenAPI 3.0 become those of JSON Schema; other
 * keywords that JSON Schema does not have are left out.
 */
import { isObject, type JsonObject } from "../../dialects/parse/json.ts"
import { jsonLength } from "./json-length.ts"
import { followed, valueAt } from "./references.ts"

export interface SchemaLimits {
  /** The JSON of a tool's schema. */
  readonly maxBytes: number
  readonly maxDepth: number
  /** The characters of a description. */
  readonly maxText: number
}

/** The rendering of references. */
type Form = "inline" | "defined"

/** Keywords whose values are copied. */
const copied = [
  "type",
  "enum",
  "const",
  "default",
  "format",
  "pattern",
  "minimum",
  "maximum",
  "exclusiveMinimum",
  "exclusiveMaximum",
  "multipleOf",
  "minLength",
  "maxLength",
  "minItems",
  "maxItems",
  "uniqueItems",
  "minProperties",
  "maxProperties",
  "dependentRequired",
  "contentEncoding",
  "contentMediaType",
  "deprecated",
  "writeOnly",
  "examples",
]
const schemaKeywords = [
  "additionalProperties",
  "unevaluatedProperties",
  "unevaluatedItems",
  "propertyNames",
  "items",
  "contains",
  "not",
  "if",
  "then",
  "else",
]
const listKeywords = ["allOf", "anyOf", "oneOf", "prefixItems"]
const mapKeywords = ["patternProperties", "dependentSchemas"]

/** The JSON of a property is at least this long. */
const leastProperty = 6

/** Schemas of one tool. Its budget is shared, so that a tool's input is bounded. */
export class SchemaReader {
  readonly #document: JsonObject
  readonly #limits: SchemaLimits
  readonly #form: Form
  /** Names in `$defs` by reference. */
  readonly #names = new Map<string, string>()
  readonly #definitions = new Map<string, JsonObject>()
  /** References whose schemas are being read. */
  readonly #open: Array<string> = []
  #bytes = 0

  constructor(document: JsonObject, limits: SchemaLimits, form: Form) {
    this.#document = document
    this.#limits = limits
    this.#form = form
  }

  /** Whether the schemas are larger than they may be; those that were read since are incomplete. */
  get isFull(): boolean {
    return this.#bytes > this.#limits.maxBytes
  }

  /** The schemas that others refer to. */
  definitions(): JsonObject {
    return Object.fromEntries(this.#definitions)
  }

  read(schema: unknown, depth = 0): JsonObject | boolean {
    if (typeof schema === "boolean") return schema
    if (!isObject(schema) || this.isFull || depth > this.#limits.maxDepth) return {}
    const { $ref } = schema
    return typeof $ref === "string" ? this.#reference($ref, schema, depth) : this.#read(schema, depth)
  }

  #reference(reference: string, schema: JsonObject, depth: number): JsonObject {
    const target = valueAt(this.#document, reference)
    // A reference that leads nowhere allows every value: the server checks it.
    if (!isObject(target)) return this.#described({}, schema)
    const isDefined = this.#form === "defined" || this.#open.includes(reference)
    const found = isDefined
      ? { $ref: `#/$defs/${this.#define(reference, target)}` }
      : this.#inlined(reference, target, depth)
    return this.#described(isNullable(schema) ? { anyOf: [found, { type: "null" }] } : found, schema)
  }

  #inlined(reference: string, target: JsonObject, depth: number): JsonObject {
    this.#open.push(reference)
    const found = this.read(target, depth + 1)
    this.#open.pop()
    return typeof found === "boolean" ? {} : found
  }

  /** @returns the name in `$defs` */
  #define(reference: string, target: JsonObject): string {
    const known = this.#names.get(reference)
    if (known !== undefined) return known
    const name = this.#nameOf(reference)
    this.#names.set(reference, name)
    const isOpen = this.#open.includes(reference)
    if (!isOpen) this.#open.push(reference)
    this.#definitions.set(name, this.#read(target, 1))
    if (!isOpen) this.#open.pop()
    return name
  }

  #nameOf(reference: string): string {
    const last = (reference.split("/").at(-1) ?? "").replace(/[^\w-]/g, "_") || "schema"
    const taken = new Set(this.#names.values())
    let name = last
    for (let number = 2; taken.has(name); number++) name = `${last}_${number}`
    return name
  }

  #described(found: JsonObject, { description, title }: JsonObject): JsonObject {
    return { ...found, ...this.#text("title", title), ...this.#text("description", description) }
  }

  #text(name: string, value: unknown): JsonObject {
    if (typeof value !== "string" || value === "") return {}
    const text = value.length > this.#limits.maxText ? `${value.slice(0, this.#limits.maxText).toWellFormed()}…` : value
    this.#bytes += text.length + 16
    return { [name]: text }
  }

  #read(schema: JsonObject, depth: number): JsonObject {
    const read: Record<string, unknown> = {}
    for (const name of copied) {
      const value = schema[name]
      if (value === undefined) continue
      this.#bytes += name.length + 4 + jsonLength(value, this.#limits.maxBytes)
      if (this.isFull) return read
      read[name] = value
    }
    for (const name of schemaKeywords) if (name in schema) read[name] = this.read(schema[name], depth + 1)
    for (const name of listKeywords) {
      const list = schema[name]
      if (Array.isArray(list)) read[name] = list.map((each: unknown) => this.read(each, depth + 1))
    }
    for (const name of mapKeywords) if (isObject(schema[name])) read[name] = this.#map(schema[name], depth)
    this.#readProperties(schema, read, depth)
    this.#bytes += 8
    return this.#described(ofNewerKeywords(schema, read), schema)
  }

  #readProperties({ properties, required }: JsonObject, read: Record<string, unknown>, depth: number): void {
    const left = new Set<unknown>()
    if (isObject(properties)) {
      this.#bytes += Object.keys(properties).length * leastProperty
      if (this.isFull) return
      const kept = Object.entries(properties).filter(([name, schema]) => {
        const isKept = followed(this.#document, schema)?.["readOnly"] !== true && !isReadOnly(schema)
        if (!isKept) left.add(name)
        return isKept
      })
      read["properties"] = this.#map(Object.fromEntries(kept), depth)
    }
    if (Array.isArray(required)) {
      const names = required.filter((name: unknown) => typeof name === "string" && !left.has(name))
      if (names.length > 0) read["required"] = names
    }
  }

  #map(schemas: JsonObject, depth: number): JsonObject {
    return Object.fromEntries(
      Object.entries(schemas).map(([name, schema]) => {
        this.#bytes += name.length + 4
        return [name, this.read(schema, depth + 1)]
      }),
    )
  }
}

const isReadOnly = (schema: unknown): boolean => isObject(schema) && schema["readOnly"] === true

const isNullable = (schema: JsonObject): boolean => schema["nullable"] === true

/** Replaces keywords of OpenAPI 3.0: `nullable`, and limits that are exclusive by a boolean. */
const ofNewerKeywords = (schema: JsonObject, read: JsonObject): JsonObject => {
  const newer: Record<string, unknown> = { ...read }
  for (const [exclusive, limit] of exclusives) {
    if (typeof newer[exclusive] !== "boolean") continue
    if (newer[exclusive] === true && newer[limit] !== undefined) {
      newer[exclusive] = newer[limit]
      delete newer[limit]
    } else delete newer[exclusive]
  }
  if (!isNullable(schema)) return newer
  const { type } = newer
  if (typeof type !== "string") return Object.keys(newer).length === 0 ? newer : { anyOf: [newer, { type: "null" }] }
  const list: unknown = newer["enum"]
  return {
    ...newer,
    type: [type, "null"],
    ...(Array.isArray(list) && !list.includes(null) && { enum: [...list, null] }),
  }
}

const exclusives = [
  ["exclusiveMinimum", "minimum"],
  ["exclusiveMaximum", "maximum"],
] as const
