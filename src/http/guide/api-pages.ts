/** The API's pages of the guide, made from the OpenAPI document: one for each group of routes, and one for each schema. */
import { Schema } from "effect"
import { html } from "../pages/html.ts"
import { ApiDocument, type Route } from "./api-document.ts"
import { prose, routeSection, showRoute } from "./api-route.ts"
import { fieldsOf, typeOf } from "./api-schema.ts"
import type { Section } from "./markdown.ts"
import type { GuidePage } from "./pages.ts"

const apiPath = (tag: string): string => `api/${tag.toLowerCase().replaceAll(/[^a-z0-9]+/g, "-")}`
const schemaPath = (name: string): string => `api/schemas/${name}`

/** @param document the OpenAPI document of the gateway */
export const apiPages = (document: unknown): ReadonlyArray<GuidePage> => {
  const { tags = [], paths, components } = Schema.decodeUnknownSync(ApiDocument)(document)
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

/** Whether the page is in the menu. */
export const isGroupPage = ({ path }: GuidePage): boolean => path.startsWith("api/") && !path.startsWith("api/schemas/")

const groupPage = (tag: string, description: string | undefined, routes: ReadonlyArray<Route>): GuidePage => {
  const intro: Section = { id: "", title: tag, level: 1, text: description ?? "" }
  const body = html`<h1>${tag}</h1>
${description === undefined ? undefined : html`<p>${prose(description)}</p>`}
${routes.map(showRoute)}`
  return { path: apiPath(tag), title: tag, html: body.text, sections: [intro, ...routes.map(routeSection)] }
}

const schemaPage = (name: string, schema: Schema.Json): GuidePage => {
  const fields = fieldsOf(schema)
  const text = fields.map(({ name, description }) => `${name} ${description ?? ""}`).join(" ")
  const body = html`<h1>${name}</h1>
<p>${typeOf(schema)}</p>
${
  fields.length === 0
    ? undefined
    : html`<div class="wide" tabindex="0" role="region" aria-label="Members"><table><thead><tr><th>member</th><th>type</th><th>meaning</th></tr></thead><tbody>
${fields.map((field) => html`<tr><td><code>${field.name}</code>${field.isRequired ? " *" : ""}</td><td>${field.type}</td><td>${prose(field.description ?? "")}</td></tr>`)}
</tbody></table></div><p class="soft">* required</p>`
}`
  return { path: schemaPath(name), title: name, html: body.text, sections: [{ id: "", title: name, level: 1, text }] }
}
