/** The search of the header: finds organisations, applications, keys and exchanges by their ids and names. */
import { html } from "htm/preact"
import { useEffect, useState } from "preact/hooks"
import type { SearchResults } from "../protocol/control/search.ts"
import { get } from "./api.ts"
import { instant } from "./format.ts"
import { useLoad } from "./load.ts"
import { linkTo } from "./route.ts"
import { ErrorBox } from "./ui/parts.ts"

/** The pause in typing after which the gateway is asked. */
const pauseMs = 200

const nothing: SearchResults = { organisations: [], applications: [], keys: [], exchanges: [] }

export const Search = () => {
  const [text, setText] = useState("")
  const [asked, setAsked] = useState("")
  useEffect(() => {
    const later = setTimeout(() => setAsked(text.trim()), pauseMs)
    return () => clearTimeout(later)
  }, [text])
  const { data, error, isLoading, reload } = useLoad(`search ${asked}`, async (signal) =>
    asked === "" ? nothing : get<SearchResults>("v1/admin/search", { search: asked }, signal),
  )
  const close = () => setText("")
  const found = data === undefined ? [] : resultsOf(data)
  const openFirst = (event: Event) => {
    event.preventDefault()
    const [first] = found
    if (first === undefined || isLoading || asked !== text.trim()) return
    location.hash = first.link
    close()
  }
  return html`<search class="search" onKeyDown=${({ key }: KeyboardEvent) => key === "Escape" && close()}>
    <form onSubmit=${openFirst}>
      <input type="search" aria-label="Search" placeholder="Search" autocomplete="off" maxlength="256" title="An organisation, application or key by the beginning of its id or name; an exchange by its id" value=${text} onInput=${({ currentTarget }: { currentTarget: HTMLInputElement }) => setText(currentTarget.value)} />
    </form>
    ${
      asked !== "" &&
      text !== "" &&
      html`<div class="results">
        <${ErrorBox} error=${error} retry=${reload} />
        <p class="soft small" role="status">${isLoading ? "Searching…" : found.length > 0 ? `${found.length} found` : html`Nothing begins with it. Exchanges older than a week are <a href=${linkTo(["exchanges"], { request: asked, range: "90d" })} onClick=${close}>among the exchanges</a>.`}</p>
        <ul>${found.map(({ kind, name, id, link }) => html`<li key=${link}><a href=${link} onClick=${close}><span class="wrap">${name}</span> <small class="soft">${kind}${id !== name && html` <code class="wrap">${id}</code>`}</small></a></li>`)}</ul>
      </div>`
    }
  </search>`
}

interface Result {
  readonly kind: string
  readonly name: string
  readonly id: string
  readonly link: string
}

const resultsOf = ({ organisations, applications, keys, exchanges }: SearchResults): ReadonlyArray<Result> => [
  ...organisations.map(({ id, name = id }) => ({
    kind: "organisation",
    id,
    name,
    link: linkTo(["organisations", id]),
  })),
  ...applications.map(({ id, name = id, orgId = "" }) => ({
    kind: "application",
    id,
    name,
    link: linkTo(["organisations", orgId], { app: id }),
  })),
  ...keys.map(({ id, name = id }) => ({ kind: "key", id, name, link: linkTo(["keys"], { search: id }) })),
  ...exchanges.map(({ id, orgId, model, at }) => ({
    kind: "exchange",
    id,
    name: `${model}, ${instant(at)}`,
    link: linkTo(["exchanges", orgId, id], { at }),
  })),
]
