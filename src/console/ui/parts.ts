/** The parts of every page: headings, cards, figures, states, errors. */

import { html } from "htm/preact"
import type { ComponentChildren } from "preact"
import { useEffect } from "preact/hooks"
import type { ApiError } from "../api.ts"

type Children = ComponentChildren

/** The head of a page; its heading gets the focus when the page is opened. */
export const Head = ({ title, children }: { readonly title: string; readonly children?: Children }) => {
  useEffect(() => {
    document.title = `${title} · Weir console`
    document.querySelector("h1")?.focus()
  }, [title])
  return html`<div class="head"><h1 tabindex="-1">${title}</h1><div class="row">${children}</div></div>`
}

export const Card = ({
  title,
  actions,
  children,
}: {
  readonly title?: string
  readonly actions?: Children
  readonly children?: Children
}) =>
  html`<section class="card" aria-label=${title}>
    ${(title !== undefined || actions !== undefined) && html`<div class="head"><h2>${title}</h2><div class="row">${actions}</div></div>`}
    ${children}
  </section>`

export interface Figure {
  readonly name: string
  readonly value: Children
  readonly note?: Children
}

export const Figures = ({ figures }: { readonly figures: ReadonlyArray<Figure> }) =>
  html`<dl class="figures">
    ${figures.map(({ name, value, note }) => html`<div class="figure"><dt>${name}</dt><dd>${value}${note !== undefined && html`<small>${note}</small>`}</dd></div>`)}
  </dl>`

/** Names and values. */
export const Facts = ({ facts }: { readonly facts: ReadonlyArray<readonly [string, Children]> }) =>
  html`<dl class="facts">${facts.map(([name, value]) => html`<dt>${name}</dt><dd>${value}</dd>`)}</dl>`

/** An error, its remedy, and the id to quote. */
export const ErrorBox = ({ error, retry }: { readonly error: ApiError | undefined; readonly retry?: () => void }) => {
  if (error === undefined) return null
  return html`<div class="error" role="alert">
    <strong>${error.issues.length > 0 ? "The input was not accepted" : error.message}</strong>
    ${error.issues.length > 0 && html`<ul>${error.issues.map(({ path, line, message }) => html`<li>${line !== undefined && `Line ${line}: `}${path !== "" && html`<code>${path}</code> `}${message}</li>`)}</ul>`}
    <span class="small">${adviceOf(error)}${error.requestId !== undefined && html` Request id <code>${error.requestId}</code>.`}</span>
    ${retry !== undefined && html`<div><button class="quiet" type="button" onClick=${retry}>Try again</button></div>`}
  </div>`
}

const adviceOf = ({ status, code }: ApiError): string => {
  if (code in adviceByCode) return adviceByCode[code] ?? ""
  if (status === 401) return "Sign in again."
  if (status === 403) return "Your role does not allow it: ask an owner of the organisation, or the operator."
  if (status === 404) return "Somebody may have removed it: reload the page."
  if (status === 0 || status >= 500) return "Try again in a moment; what was shown before is kept."
  return "Correct it, and try again."
}

/** Advice for codes whose status alone suggests the wrong cause. */
const adviceByCode: Readonly<Record<string, string>> = {
  org_byok_not_available: "The operator of this gateway can set it; your role is not the reason.",
  conflict: "Reload the page to see the present state, and try again.",
  rate_limited: "Wait a moment, and try again.",
}

/** An empty page shows the first step. */
export const Empty = ({ title, children }: { readonly title: string; readonly children?: Children }) =>
  html`<div class="empty"><strong>${title}</strong><div>${children}</div></div>`

export const Loading = () => html`<p class="soft" role="status">Loading…</p>`

type Tone = "good" | "bad" | "warn" | "soft"

export const Tag = ({ tone = "soft", children }: { readonly tone?: Tone; readonly children?: Children }) =>
  html`<span class="tag ${tone}">${children}</span>`

/** Buttons of which one is chosen. */
export const Segments = ({
  label,
  options,
  value,
  choose,
}: {
  readonly label: string
  readonly options: ReadonlyArray<readonly [value: string, name: string]>
  readonly value: string
  readonly choose: (value: string) => void
}) =>
  html`<div class="segments" role="group" aria-label=${label}>
    ${options.map(([each, name]) => html`<button type="button" aria-pressed=${each === value} onClick=${() => choose(each)}>${name}</button>`)}
  </div>`
