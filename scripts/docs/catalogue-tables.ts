/** The page of the catalogue's members, from its schema and from the comments in src/protocol/catalogue. */
import { readFileSync } from "node:fs"
import { Schema } from "effect"
import { CatalogueDocument } from "../../src/protocol/catalogue/document.ts"
import { isJsonObject, type Json, type JsonObject, listOf } from "../../src/protocol/json/json-value.ts"

/** The lists of a catalogue, the files with the comments of their members, and a sentence about each. */
const parts: ReadonlyArray<readonly [name: string, file: string, about: string]> = [
  [
    "timeouts",
    "timeouts",
    "Timeouts of the platform: durations by tier, and by tier below the name of an environment.",
  ],
  ["vendors", "vendor", "Vendors, their APIs, and their credentials."],
  ["models", "model", "Models by the handles that callers use, each with its targets in the order of failover."],
  ["prices", "price", "Prices by model. The newest whose `from` has passed is in force."],
  ["searchProviders", "search-provider", "Vendors of web searches."],
  ["plans", "plan", "Limits that organisations share."],
  ["policies", "policy", "Content policies; an organisation names those that hold for it."],
  ["orgs", "tenant", "Organisations."],
  ["users", "tenant", "People."],
  ["teams", "tenant", "Teams."],
  ["apps", "tenant", "Applications."],
  ["keys", "tenant", "Keys of applications."],
  ["budgets", "budget", "Limits of what a subject may spend in a period."],
  ["webhooks", "webhook", "Receivers of events."],
  ["files", "files", "The place of the files that clients keep; [Files](../how-to/files.md) shows it."],
  ["exports", "export", "Records that are written to files elsewhere."],
  [
    "passThrough",
    "pass-through",
    "Routes of vendors that have no dialect; [Pass routes through](../how-to/pass-through.md) shows them.",
  ],
  [
    "toolServers",
    "tool-server",
    "Servers of tools; [Tools](../how-to/tools.md) shows them. Names of `headers` are lower-case.",
  ],
  ["topups", "document", "Credits of organisations, each once by its id."],
]

const schemas = Schema.toJsonSchemaDocument(CatalogueDocument)
const definitions: JsonObject = Schema.decodeUnknownSync(Schema.JsonObject)(schemas.definitions)

const resolved = (schema: Json | undefined): Json | undefined => {
  if (!isJsonObject(schema) || typeof schema["$ref"] !== "string") return schema
  return resolved(definitions[schema["$ref"].slice(schema["$ref"].lastIndexOf("/") + 1)])
}

/** The members of an object, also of one with checks. */
const propertiesOf = (schema: Json | undefined): JsonObject | undefined => {
  const object = resolved(schema)
  if (!isJsonObject(object)) return undefined
  const all = [object, ...listOf(object["allOf"]).filter(isJsonObject)]
  return all.map((part) => part["properties"]).find(isJsonObject)
}

const typeOf = (schema: Json | undefined): string => {
  const it = resolved(schema)
  if (!isJsonObject(it)) return "any"
  const choices = listOf(it["enum"])
  if (choices.length > 12) return `one of ${choices.length} names`
  if (choices.length > 0) return choices.map((choice) => `\`${String(choice)}\``).join(", ")
  const variants = [...listOf(it["anyOf"]), ...listOf(it["oneOf"])]
  if (variants.length > 0) return [...new Set(variants.map(typeOf))].join(" or ")
  if (it["type"] === "array") {
    const item = typeOf(it["items"])
    return item.startsWith("list") ? "list of lists" : `list of ${item === "object" ? "objects" : item}`
  }
  return typeof it["type"] === "string" ? it["type"] : "any"
}

const comment = /\/\*\*((?:(?!\*\/)[\s\S])*)\*\/\s*\n\s*(\w+)[:,]/g

/** Meanings of members that many lists have. */
const shared: ReadonlyArray<readonly [string, string]> = [
  ["id", "The id, unique in its list."],
  ["org", "The id of the organisation."],
  ["disabled", "Whether it is refused."],
  ["timeouts", "Timeouts by tier, and by tier below the name of an environment."],
  ["tls", "Certificates of the connection."],
  ["baseUrl", "The address of the API."],
  ["credential", "A reference to the API key."],
  ["rpm", "Calls a minute."],
  ["amount", "The amount in the organisation's currency."],
  ["ttl", "The time for which replies are kept, at most `24h`."],
  ["share", "Who shares kept replies."],
]

/** Members whose own members their meaning describes. */
const closed = new Set(["params", "above"])

/** The comments of members in a file, by the members' names. */
const commentsIn = (file: string): ReadonlyMap<string, string> => {
  const source = readFileSync(new URL(`../../src/protocol/catalogue/${file}.ts`, import.meta.url), "utf8")
  return new Map(
    [...source.matchAll(comment)]
      .reverse()
      .map(([, text = "", name = ""]) => [name, text.replaceAll(/\s*\n\s*\*?\s*/g, " ").trim()] as const),
  )
}

const rowsOf = (
  schema: Json | undefined,
  comments: ReadonlyMap<string, string>,
  place: string,
): ReadonlyArray<string> => {
  const object = resolved(schema)
  const required = isJsonObject(object) ? listOf(object["required"]) : []
  return Object.entries(propertiesOf(schema) ?? {}).flatMap(([name, member]) => {
    const path = `${place}${name}`
    const meaning = (comments.get(name) ?? "").replaceAll("|", "\\|")
    const item = resolved(member)
    const inner = isJsonObject(item) && item["type"] === "array" ? item["items"] : member
    const nested = closed.has(name) || propertiesOf(inner) === undefined ? [] : rowsOf(inner, comments, `${path}.`)
    return [`| \`${path}\`${required.includes(name) ? " *" : ""} | ${typeOf(member)} | ${meaning} |`, ...nested]
  })
}

/** Members that are not lists of entries. */
const others: ReadonlySet<string> = new Set(["version", "deliverableSettings", "defaultSearchProvider"])

export const cataloguePage = (): string => {
  const document = propertiesOf(Schema.decodeUnknownSync(Schema.Json)(schemas.schema)) ?? {}
  const missing = Object.keys(document).filter((name) => !others.has(name) && !parts.some(([part]) => part === name))
  if (missing.length > 0) throw new Error(`The page of the catalogue lacks ${missing.join(", ")}`)
  return [
    "# Members of the catalogue",
    "",
    "[The catalogue](../how-to/catalogue.md) shows an example and how it is applied. `*` marks members that are required. Durations are texts such",
    "as `60s` or `250ms`; amounts and prices are decimal texts; credentials are references such as `env:OPENAI_API_KEY`. `version: 1` is the",
    "first line of every catalogue.",
    ...parts.flatMap(([name, file, about]) => {
      const list = resolved(document[name])
      const item = isJsonObject(list) && list["type"] === "array" ? list["items"] : list
      const rows = rowsOf(
        item,
        new Map([
          ...shared,
          ...commentsIn("network"),
          ...commentsIn("sso-provider"),
          ...commentsIn("limits"),
          ...commentsIn(file),
        ]),
        "",
      )
      const table = rows.length === 0 ? [] : ["", "| member | type | meaning |", "| --- | --- | --- |", ...rows]
      return ["", `## ${name}`, "", about, ...table]
    }),
    "",
    "## Others",
    "",
    "`deliverableSettings` lists key paths of [settings](../how-to/settings.md) that clients consume, also as `prefix.*`;",
    "`defaultSearchProvider` is the id of the search vendor for applications that choose none.",
    "",
  ].join("\n")
}
