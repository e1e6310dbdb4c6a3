/**
 * Entries of the lists of servers, as clients can read them. One entry of another form makes clients refuse a whole list, with the
 * entries of all other servers. Pure.
 * Source: https://modelcontextprotocol.io/specification/2026-07-28/schema
 */
import { Schema } from "effect"
import type { JsonObject } from "../protocol/mcp/message.ts"
import { isName } from "./tool-names.ts"

export type EntryList = "tools" | "prompts" | "resources" | "resourceTemplates"

const text = Schema.optionalKey(Schema.String)
const flag = Schema.optionalKey(Schema.Boolean)
const AnyObject = Schema.Record(Schema.String, Schema.Json)
const Texts = Schema.Array(Schema.String)

/** A schema of an object, as far as clients look at it. */
const ObjectSchema = Schema.Struct({
  type: Schema.Literal("object"),
  properties: Schema.optionalKey(Schema.Record(Schema.String, AnyObject)),
  required: Schema.optionalKey(Texts),
})

const Icon = Schema.Struct({
  src: Schema.String,
  mimeType: text,
  sizes: Schema.optionalKey(Texts),
  theme: Schema.optionalKey(Schema.Literals(["light", "dark"])),
})

const common = {
  name: Schema.String,
  title: text,
  description: text,
  icons: Schema.optionalKey(Schema.Array(Icon)),
  _meta: Schema.optionalKey(AnyObject),
}

const Annotations = Schema.Struct({
  audience: Schema.optionalKey(Schema.Array(Schema.Literals(["user", "assistant"]))),
  priority: Schema.optionalKey(Schema.Number.check(Schema.isBetween({ minimum: 0, maximum: 1 }))),
  lastModified: Schema.optionalKey(
    Schema.String.check(Schema.isPattern(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:Z|[+-]\d\d:\d\d)$/)),
  ),
})

const ofResources = { ...common, mimeType: text, annotations: Schema.optionalKey(Annotations) }

const forms = {
  tools: Schema.Struct({
    ...common,
    inputSchema: ObjectSchema,
    outputSchema: Schema.optionalKey(AnyObject),
    annotations: Schema.optionalKey(
      Schema.Struct({
        title: text,
        readOnlyHint: flag,
        destructiveHint: flag,
        idempotentHint: flag,
        openWorldHint: flag,
      }),
    ),
    execution: Schema.optionalKey(
      Schema.Struct({ taskSupport: Schema.optionalKey(Schema.Literals(["required", "optional", "forbidden"])) }),
    ),
  }),
  prompts: Schema.Struct({
    ...common,
    arguments: Schema.optionalKey(
      Schema.Array(Schema.Struct({ name: Schema.String, title: text, description: text, required: flag })),
    ),
  }),
  resources: Schema.Struct({ ...ofResources, uri: Schema.String, size: Schema.optionalKey(Schema.Number) }),
  resourceTemplates: Schema.Struct({ ...ofResources, uriTemplate: Schema.String }),
}

const hasForm = {
  tools: Schema.is(forms.tools),
  prompts: Schema.is(forms.prompts),
  resources: Schema.is(forms.resources),
  resourceTemplates: Schema.is(forms.resourceTemplates),
}

/** The longest address of a resource. */
export const mostUri = 8192

/** The member that names an entry in its list; undefined if it cannot name one. */
const nameIn = (list: EntryList, { name, uri, uriTemplate }: JsonObject): string | undefined => {
  if (list === "tools" || list === "prompts") return isName(name) ? name : undefined
  const given = list === "resources" ? uri : uriTemplate
  if (typeof given !== "string" || given.length > mostUri || !given.isWellFormed()) return undefined
  return /\p{C}/u.test(given) ? undefined : given
}

export interface UsableEntries {
  readonly entries: ReadonlyArray<JsonObject>
  /** The number of entries that clients could not read, or whose name another one has. */
  readonly leftOut: number
}

/** The entries of a list that clients can read. The first of several of one name counts. */
export const usableEntries = (list: EntryList, given: ReadonlyArray<JsonObject>): UsableEntries => {
  const found = new Map<string, JsonObject>()
  for (const entry of given) {
    const name = nameIn(list, entry)
    if (name !== undefined && !found.has(name) && hasForm[list](entry)) found.set(name, entry)
  }
  return { entries: [...found.values()], leftOut: given.length - found.size }
}

const isOldOutput = Schema.is(ObjectSchema)

/** A tool for clients of versions with sessions: they read no output that is not an object. */
export const forSessions = (tool: JsonObject): JsonObject => {
  const { outputSchema, ...others } = tool
  return outputSchema === undefined || isOldOutput(outputSchema) ? tool : others
}
