/** One route in the reference of the API: credentials, parameters, bodies with examples, replies and errors. */
import { Html, html } from "../pages/html.ts"
import type { Content, Operation, Route } from "./api-document.ts"
import { typeOf } from "./api-schema.ts"
import type { Section } from "./markdown.ts"

/** The first sentence is the title. */
const titleOf = ({ summary, operationId }: Operation): readonly [title: string, rest: string] => {
  const [title = operationId, ...rest] = (summary ?? operationId).split(/(?<=\.) /)
  return [title.replace(/\.$/, ""), rest.join(" ")]
}

export const routeSection = ({ method, path, operation }: Route): Section => {
  const [title, rest] = titleOf(operation)
  const text = `${method} ${path} ${rest} ${operation.description ?? ""}`
  return { id: operation.operationId, title, level: 2, text }
}

/** Headers of the ways to sign in, which most routes share. */
const credentials = /^(x-svc-(key-id|key|ts|nonce|sign|app-token|admin-key)|authorization)$/

export const showRoute = ({ method, path, operation }: Route): Html => {
  const { operationId, description, parameters = [], requestBody, responses } = operation
  const [title, rest] = titleOf(operation)
  const signs = parameters.filter(({ name, in: place }) => place === "header" && credentials.test(name))
  const others = parameters.filter((parameter) => !signs.includes(parameter))
  const all = Object.entries(responses)
  const replies = all.filter(([status]) => !(Number(status) >= 400))
  const errors = all.filter(([status]) => Number(status) >= 400)
  return html`<h2 id="${operationId}">${title}</h2>
<p><code>${method} ${path}</code></p>
${rest === "" ? undefined : html`<p>${prose(rest)}</p>`}
${description === undefined ? undefined : html`<p>${prose(description)}</p>`}
${signs.length === 0 ? undefined : html`<p class="soft">Credentials: ${list(signs.map(({ name }) => html`<code>${name}</code>`))}</p>`}
${others.length === 0 ? undefined : parameterTable(others)}
${requestBody === undefined ? undefined : html`<p>Body: ${bodies(requestBody.content)}</p>${example(requestBody.content)}`}
<ul>${replies.map(([status, { description = "", content }]) => html`<li>${status}: ${content === undefined ? prose(description) : bodies(content)}${example(content)}</li>`)}
${errors.map(([status, { description = "" }]) => html`<li>${status}: ${errorLinks(description)}</li>`)}</ul>`
}

const list = (parts: ReadonlyArray<Html>): Html => new Html(parts.map(({ text }) => text).join(", "))

/** Text with code between backticks. */
export const prose = (text: string): Html =>
  new Html(
    text
      .split("`")
      .map((part, at) => (at % 2 === 0 ? html`${part}` : html`<code>${part}</code>`).text)
      .join(""),
  )

const parameterTable = (parameters: NonNullable<Operation["parameters"]>): Html =>
  html`<div class="wide" tabindex="0" role="region" aria-label="Parameters"><table><thead><tr><th>parameter</th><th>in</th><th>type</th><th>meaning</th></tr></thead><tbody>
${parameters.map((it) => html`<tr><td><code>${it.name}</code>${it.required === true ? " *" : ""}</td><td>${it.in}</td><td>${typeOf(it.schema)}</td><td>${prose(it.description ?? "")}</td></tr>`)}
</tbody></table></div>`

const bodies = (content: Content): Html =>
  new Html(
    Object.entries(content ?? {})
      .map(([type, { schema }]) => html`${typeOf(schema)} <span class="soft">(${type})</span>`.text)
      .join(", or "),
  )

/** The example of a body in JSON; undefined if it has none. */
const example = (content: Content): Html | undefined => {
  const found = content?.["application/json"]?.example
  return found === undefined
    ? undefined
    : html`<details><summary>Example</summary><pre tabindex="0"><code>${JSON.stringify(found, null, 2)}</code></pre></details>`
}

/** Codes of errors, each with a link to its cause. */
const errorLinks = (description: string): Html =>
  /^[a-z_]+(, [a-z_]+)*$/.test(description)
    ? list(description.split(", ").map((code) => html`<a href="/docs/reference/errors"><code>${code}</code></a>`))
    : prose(description)
