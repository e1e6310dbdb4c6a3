/** Exchanges: those that run now, those that ended, and one from end to end. */
import { html } from "htm/preact"
import type { ExchangeLogPage, LoggedExchange, OpenExchanges } from "../../protocol/control/exchange-log.ts"
import { get } from "../api.ts"
import { useModels, useOrganisationsOf, vendorsOf } from "../choices.ts"
import { bytes, count, instant, millis, money, since } from "../format.ts"
import { useLoad, usePages } from "../load.ts"
import type { PageProps } from "../page.ts"
import { fromOf, RangePicker, rangeOf } from "../range.ts"
import { linkTo, setQuery } from "../route.ts"
import { type Field, Filters, type Values } from "../ui/form.ts"
import { Card, Empty, ErrorBox, Head, Tag } from "../ui/parts.ts"
import { PagedTable, Table } from "../ui/table.ts"
import { routeFor, useViewer } from "../viewer.ts"
import { OneExchange, sessionLink } from "./exchange.ts"
import { Result } from "./result.ts"

export const Page = ({ parts, query }: PageProps) => {
  const [org, id] = parts
  return org !== undefined && id !== undefined
    ? html`<${OneExchange} org=${org} id=${id} at=${query["at"] ?? ""} />`
    : html`<${Lists} query=${query} />`
}

const filterNames = ["model", "vendor", "stop", "code", "app", "key", "purpose", "session", "request"] as const

const Lists = ({ query }: Pick<PageProps, "query">) => {
  const viewer = useViewer()
  const range = rangeOf(query)
  const names = viewer.kind === "operator" ? (["org", ...filterNames] as const) : filterNames
  const chosen = Object.fromEntries([...names, "estimated"].map((name) => [name, query[name] ?? ""]))
  const path = routeFor(viewer, "v1/admin/exchanges", "v1/exchanges")
  const pages = usePages(`${range} ${JSON.stringify(chosen)}`, (cursor, signal) =>
    get<ExchangeLogPage>(path, { ...chosen, from: fromOf(range), cursor }, signal),
  )
  const models = useModels(viewer)
  const organisations = useOrganisationsOf(viewer)
  const suggested: Readonly<Record<string, Field["suggestions"]>> = {
    org: organisations,
    model: models.map(({ handle }) => handle),
    vendor: vendorsOf(models),
    code: errorCodes,
  }
  const field = (name: (typeof names)[number]) => {
    const suggestions = suggested[name]
    const base = { name, label: labels[name], value: chosen[name] ?? "" }
    return suggestions === undefined ? base : { ...base, suggestions }
  }
  const often = names.filter((name) => firstFilters.includes(name)).map(field)
  const seldom = [
    ...names.filter((name) => !firstFilters.includes(name)).map(field),
    { name: "estimated", label: "Usage", value: chosen["estimated"] ?? "", options: estimates },
  ]
  return html`
    <${Head} title="Exchanges"><${RangePicker} range=${range} /><//>
    <${OpenNow} org=${chosen["org"]} />
    <${Card} title="Ended">
      <${Filters} fields=${often} more=${seldom} apply=${(values: Values) => setQuery(values)} />
      <${PagedTable} caption="Exchanges that have ended" pages=${pages} empty=${html`<${Empty} title="No exchanges match">Choose a longer range, or remove a filter.<//>`} columns=${[
        {
          name: "Ended",
          align: "nowrap",
          show: (row: LoggedExchange) =>
            html`<a href=${linkTo(["exchanges", row.org, row.id], { at: row.at })}>${instant(row.at)}</a>`,
        },
        ...(viewer.kind === "operator" ? [{ name: "Organisation", show: ({ org }: LoggedExchange) => org }] : []),
        {
          name: "Model",
          show: ({ model, vendor, code }: LoggedExchange) =>
            html`<span class="wrap">${model}</span>${vendor !== "" && html`<br /><small class="soft">${code === undefined ? "" : "tried "}${vendor}</small>`}`,
        },
        { name: "Result", show: (row: LoggedExchange) => html`<${Result} exchange=${row} />` },
        {
          name: "Tokens",
          align: "right",
          show: (row: LoggedExchange) =>
            `${count(row.inTokens + row.cacheReadTokens + row.cacheWriteTokens)} / ${count(row.outTokens)}`,
        },
        { name: "First frame", align: "right", show: (row: LoggedExchange) => millis(row.firstFrameMs) },
        { name: "Took", align: "right", show: (row: LoggedExchange) => millis(row.tookMs) },
        {
          name: "Cost",
          align: "right",
          show: (row: LoggedExchange) => (row.isBilled ? money(row.cost, row.currency) : "not billed"),
        },
      ]} />
    <//>
  `
}

/** The filters that are always shown. */
const firstFilters: ReadonlyArray<string> = ["org", "model", "vendor", "code"]

/** Codes with which calls of models fail most. */
const errorCodes = [
  "bad_request",
  "content_blocked",
  "insufficient_balance",
  "model_not_authorized",
  "org_ceiling_exceeded",
  "quota_exceeded",
  "upstream_connect_timeout",
  "upstream_disconnected",
  "upstream_error",
  "upstream_idle_timeout",
  "upstream_total_timeout",
  "upstream_ttfb_timeout",
]

const labels: Readonly<Record<(typeof filterNames)[number] | "org", string>> = {
  org: "Organisation",
  model: "Model",
  vendor: "Vendor",
  stop: "Stop",
  code: "Error code",
  app: "Application",
  key: "Key",
  purpose: "Purpose",
  session: "Session",
  request: "Request id",
}
const estimates = [
  ["", "reported or estimated"],
  ["false", "reported"],
  ["true", "estimated"],
] as const

type Open = OpenExchanges["data"][number]
type Session = OpenExchanges["sessions"][number]

const OpenNow = ({ org }: { readonly org: string | undefined }) => {
  const viewer = useViewer()
  const path = routeFor(viewer, "v1/admin/open-exchanges", "v1/open-exchanges")
  const { data, error, reload } = useLoad(`open ${org}`, (signal) => get<OpenExchanges>(path, { org }, signal), 3000)
  return html`<${Card} title=${data === undefined ? "Open now" : `Open now: ${count(data.open)}`}>
    <${ErrorBox} error=${error} retry=${reload} />
    ${
      data !== undefined &&
      html`<${Table} caption="Exchanges that run now" rows=${data.data} empty=${html`<p class="soft">No exchange runs at this moment.</p>`} columns=${[
        { name: "Age", align: "right", show: ({ startedAt }: Open) => since(startedAt) },
        { name: "Model", show: ({ model }: Open) => model },
        { name: "Target", show: ({ target }: Open) => target ?? "–" },
        {
          name: "State",
          show: ({ state, failedCalls }: Open) =>
            html`<${Tag} tone=${state === "streaming" ? "good" : "soft"}>${state}<//>${failedCalls > 0 && ` after ${failedCalls} failed`}`,
        },
        { name: "Answer", align: "right", show: (row: Open) => bytes(row.bytes) },
        ...(viewer.kind === "operator" ? [{ name: "Organisation", show: (row: Open) => row.org }] : []),
        { name: "Key", show: ({ key }: Open) => html`<span class="wrap">${key}</span>` },
        { name: "Request id", show: ({ id }: Open) => html`<code>${id}</code>` },
      ]} />`
    }
    ${
      data !== undefined &&
      data.sessions.length > 0 &&
      html`<${Table} caption="Realtime sessions that are open" rows=${data.sessions} columns=${[
        { name: "Age", align: "right", show: ({ startedAt }: Session) => since(startedAt) },
        { name: "Model", show: ({ model }: Session) => model },
        { name: "Target", show: ({ target }: Session) => target },
        { name: "Responses", align: "right", show: ({ responses }: Session) => count(responses) },
        { name: "Sound in / out", align: "right", show: (row: Session) => `${row.secondsIn} s / ${row.secondsOut} s` },
        ...(viewer.kind === "operator" ? [{ name: "Organisation", show: (row: Session) => row.org }] : []),
        { name: "Key", show: ({ key }: Session) => html`<span class="wrap">${key}</span>` },
        {
          name: "Session",
          show: ({ id }: Session) => sessionLink(id),
        },
      ]} />`
    }
  <//>`
}
