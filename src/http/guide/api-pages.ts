/** The API's pages of the guide, made from the OpenAPI document: one for each group of routes, and one for each schema. */
import { Schema } from "effect"
import { type Html, html } from "../pages/html.ts"
import { fieldsOf, typeOf } from "./api-schema.ts"
import type { Section } from "./markdown.ts"
import type { GuidePage } from "./pages.ts"

const Media = Schema.Struct({ schema: Schema.optionalKey(Schema.Json) })
const Content = Schema.optionalKey(Schema.Record(Schema.String, Media))
const Parameter = Schema.Struct({
  name: Schema.String,
  in: Schema.String,
  required: Schema.optionalKey(Schema.Boolean),
  description: Schema.optionalKey(Schema.String),
  schema: Schema.optionalKey(Schema.Json),
})
const Operation = Schema.Struct({
  tags: Schema.optionalKey(Schema.Array(Schema.String)),
  summary: Schema.optionalKey(Schema.String),
  description: Schema.optionalKey(Schema.String),
  operationId: Schema.String,
  parameters: Schema.optionalKey(Schema.Array(Parameter)),
  requestBody: Schema.optionalKey(Schema.Struct({ content: Content })),
  responses: Schema.Record(
    Schema.String,
    Schema.Struct({ description: Schema.optionalKey(Schema.String), content: Content }),
  ),
})
type Operation = typeof Operation.Type

/** The members of the OpenAPI document that its pages show. */
const Document = Schema.Struct({
  tags: Schema.optionalKey(
    Schema.Array(Schema.Struct({ name: Schema.String, description: Schema.optionalKey(Schema.String) })),
  ),
  paths: Schema.Record(Schema.String, Schema.Record(Schema.String, Operation)),
  components: Schema.Struct({ schemas: Schema.Record(Schema.String, Schema.Json) }),
})

interface Route {
  readonly method: string
  readonly path: string
  readonly operation: Operation
}

const apiPath = (tag: string): string => `api/${tag.toLowerCase().replaceAll(/[^a-z0-9]+/g, "-")}`
const schemaPath = (name: string): string => `api/schemas/${name}`

/** @param document the OpenAPI document of the gateway */
export const apiPages = (document: unknown): ReadonlyArray<GuidePage> => {
  const { tags = [], paths, components } = Schema.decodeUnknownSync(Document)(document)
  const routes = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]): Route => ({ method: method.toUpperCase(), path, operation })),
  )
  const groups = Map.groupBy(routes, ({ operation }) => operation.tags?.[0] ?? "Other")
  const described = new Map(tags.map(({ name, description }) => [name, description]))
  return [
    ...[...groups].map(([tag, members]) => groupPage(tag, described.get(tag), members)),
    ...Object.entries(components.schemas).map(([name, schema]) => schemaPage(name, schema)),
  ]
}

/** The paths of the pages of groups, with their titles, for the menu. */
export const isGroupPage = ({ path }: GuidePage): boolean => path.startsWith("api/") && !path.startsWith("api/schemas/")

const groupPage = (tag: string, description: string | undefined, routes: ReadonlyArray<Route>): GuidePage => {
  const sections = routes.map(({ method, path, operation }): Section => {
    const { summary, description = "", operationId } = operation
    return {
      id: operationId,
      title: summary ?? `${method} ${path}`,
      level: 2,
      text: `${method} ${path} ${description}`,
    }
  })
  const intro: Section = { id: "", title: tag, level: 1, text: description ?? "" }
  const body = html`<h1>${tag}</h1>${description === undefined ? undefined : html`<p>${description}</p>`}${routes.map(showRoute)}`
  return { path: apiPath(tag), title: tag, html: body.text, sections: [intro, ...sections] }
}

const showRoute = ({ method, path, operation }: Route): Html => {
  const { operationId, summary, description, parameters = [], requestBody, responses } = operation
  const errors = Object.entries(responses).filter(([status]) => Number(status) >= 400)
  const replies = Object.entries(responses).filter(([status]) => !(Number(status) >= 400))
  return html`<h2 id="${operationId}">${summary ?? operationId}</h2>
<p><code>${method} ${path}</code></p>
${description === undefined ? undefined : html`<p>${description}</p>`}
${
  parameters.length === 0
    ? undefined
    : html`<div class="wide" tabindex="0" role="region" aria-label="Parameters"><table><thead><tr><th>parameter</th><th>in</th><th>type</th><th>meaning</th></tr></thead><tbody>
${parameters.map((it) => html`<tr><td><code>${it.name}</code>${it.required === true ? " *" : ""}</td><td>${it.in}</td><td>${typeOf(it.schema)}</td><td>${it.description}</td></tr>`)}
</tbody></table></div>`
}
${requestBody === undefined ? undefined : html`<p>Body: ${bodies(requestBody.content)}</p>`}
<ul>${replies.map(([status, { description, content }]) => html`<li>${status}: ${content === undefined ? description : bodies(content)}</li>`)}
${errors.map(([status, { description }]) => html`<li>${status}: ${description}</li>`)}</ul>`
}

const bodies = (content: (typeof Operation.Type)["responses"][string]["content"]): ReadonlyArray<Html> =>
  Object.entries(content ?? {}).map(
    ([type, { schema }], at) => html`${at > 0 ? ", or " : ""}${typeOf(schema)} <span class="soft">(${type})</span>`,
  )

const schemaPage = (name: string, schema: Schema.Json): GuidePage => {
  const fields = fieldsOf(schema)
  const text = fields.map(({ name, description }) => `${name} ${description ?? ""}`).join(" ")
  const body = html`<h1>${name}</h1>
<p>${typeOf(schema)}</p>
${
  fields.length === 0
    ? undefined
    : html`<div class="wide" tabindex="0" role="region" aria-label="Members"><table><thead><tr><th>member</th><th>type</th><th>meaning</th></tr></thead><tbody>
${fields.map((field) => html`<tr><td><code>${field.name}</code>${field.isRequired ? " *" : ""}</td><td>${field.type}</td><td>${field.description}</td></tr>`)}
</tbody></table></div><p class="soft">* required</p>`
}`
  return { path: schemaPath(name), title: name, html: body.text, sections: [{ id: "", title: name, level: 1, text }] }
}
