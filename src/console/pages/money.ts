/** Money: balances, allotments by node, entries, top-ups, budgets, and the check of the books. */

import { html } from "htm/preact"
import { useState } from "preact/hooks"
import type { DoctorResponse, LedgerResponse, TopupResponse } from "../../protocol/control/admin.ts"
import type { OrgList } from "../../protocol/control/admin-directory.ts"
import type { LedgerStatement } from "../../protocol/control/statement.ts"
import { call, get } from "../api.ts"
import { count, money, since } from "../format.ts"
import { useAction, useLoad, usePages } from "../load.ts"
import type { PageProps } from "../page.ts"
import { linkTo, setQuery, useRoute } from "../route.ts"
import { ActionButton, Filters, type Values } from "../ui/form.ts"
import { Card, Empty, ErrorBox, Figures, Head, Loading, Tag } from "../ui/parts.ts"
import { PagedTable, Table } from "../ui/table.ts"
import { Time } from "../ui/time.ts"
import { useViewer } from "../viewer.ts"
import { CsvExport } from "./csv-export.ts"
import { BudgetsPanel } from "./organisation/budgets-panel.ts"
import { tenantPlace } from "./organisation/tenant-urls.ts"

export const Page = ({ parts: [org] }: PageProps) => {
  const viewer = useViewer()
  if (viewer.kind === "person") return html`<${OwnMoney} />`
  return org === undefined ? html`<${AllMoney} />` : html`<${OrgMoney} org=${org} />`
}

/** The money of the whole gateway. */
const AllMoney = () => {
  const { query } = useRoute()
  const { search = "" } = query
  const pages = usePages(`balances ${search}`, (cursor, signal) =>
    get<OrgList>("v1/admin/orgs", { search, cursor }, signal),
  )
  return html`
    <${Head} title="Money" />
    <${Card} title="Balances">
      <${Filters} fields=${[{ name: "search", label: "Organisation begins with", value: search }]} apply=${(values: Values) => setQuery(values)} />
      <${PagedTable} caption="Balances" pages=${pages} empty=${html`<${Empty} title="No organisations match"><a href=${linkTo(["organisations"])}>Create one</a>.<//>`} columns=${[
        {
          name: "Organisation",
          show: ({ id, name }: Org) =>
            html`<a href=${linkTo(["money", id])}>${name}</a> <small class="soft wrap">${id}</small>`,
        },
        { name: "Available", align: "right", show: ({ available, currency }: Org) => money(available, currency) },
        { name: "Held", align: "right", show: ({ held, currency }: Org) => money(held, currency) },
        { name: "Allotted", align: "right", show: ({ allotted, currency }: Org) => money(allotted, currency) },
      ]} />
    <//>
    <${Books} />
    <p class="soft">Prices are on the page <a href=${linkTo(["models"])}>Models</a>.</p>
  `
}

type Org = OrgList["data"][number]

const OrgMoney = ({ org }: { readonly org: string }) => {
  const viewer = useViewer()
  const path = `v1/admin/ledger/${encodeURIComponent(org)}`
  const { data, error, reload } = useLoad(
    `ledger ${org}`,
    (signal) => get<LedgerResponse>(path, undefined, signal),
    10_000,
  )
  const topUp = async ({ id = "", amount = "" }: Values) => {
    const { credited, balance, currency } = await call<TopupResponse>("POST", "v1/admin/topups", {
      body: { id, org, amount },
    })
    reload()
    return html`<h2>${credited ? "Credited" : "Nothing changed"}</h2>
      <p>${credited ? "" : `The id ${id} was credited before. `}The balance is ${money(balance, currency)}.</p>`
  }
  return html`
    <${Head} title="Money of ${org}">
      <${ActionButton} name="Top up" act=${topUp} fields=${[
        {
          name: "id",
          label: "Id",
          value: `console-${Date.now()}`,
          hint: "The same id is credited once, however often it is sent.",
        },
        { name: "amount", label: "Amount" },
      ]} />
      <${CsvExport} path=${`v1/admin/orgs/${encodeURIComponent(org)}/usage.csv`} />
    <//>
    <${ErrorBox} error=${error} retry=${reload} />
    ${data === undefined ? !error && html`<${Loading} />` : html`<${Balances} ledger=${data} />`}
    <${BudgetsPanel} place=${tenantPlace(viewer, org)} currency=${data?.balances[0]?.currency} />
    ${data !== undefined && html`<${Ledger} ledger=${data} />`}
  `
}

type Allotment = LedgerResponse["allotments"][number]
type Entry = LedgerResponse["entries"][number]

const Balances = ({ ledger: { balances } }: { readonly ledger: LedgerResponse }) => html`
  <${Figures} figures=${balances.flatMap(({ currency, available, held, allotted, spent }) => [
    { name: `Available, ${currency}`, value: money(available), note: "paid in, less spent and held" },
    { name: `Held, ${currency}`, value: money(held), note: "by exchanges longer than a second" },
    { name: `Allotted, ${currency}`, value: money(allotted), note: "part of available and held" },
    { name: `Spent, ${currency}`, value: money(spent) },
  ])} />
`

/** Entries that are shown at first. */
const firstEntries = 20

const Ledger = ({ ledger: { allotments, entries } }: { readonly ledger: LedgerResponse }) => {
  const [isWhole, setWhole] = useState(false)
  return html`
  <${Card} title="Allotments by node">
    <${Table} caption="Allotments by node" rows=${allotments} empty=${html`<${Empty} title="No node holds money now">It is moved to a node with the first exchange.<//>`} columns=${[
      { name: "Node", show: ({ node }: Allotment) => html`<code>${node}</code>` },
      { name: "Amount", align: "right", show: (row: Allotment) => money(row.amount, row.currency) },
      { name: "Since", align: "nowrap", show: (row: Allotment) => html`<${Time} at=${row.since} />` },
      {
        name: "Node is",
        show: ({ isAlive }: Allotment) =>
          html`<${Tag} tone=${isAlive ? "good" : "bad"}>${isAlive ? "alive" : "gone: taken back soon"}<//>`,
      },
    ]} />
  <//>
  <${Card} title="Newest entries">
    <${Table} caption="Newest entries" rows=${isWhole ? entries : entries.slice(0, firstEntries)} empty=${html`<${Empty} title="No money has moved yet">Top up to begin.<//>`} columns=${entryColumns} />
    ${!isWhole && entries.length > firstEntries && html`<div><button type="button" class="quiet" onClick=${() => setWhole(true)}>Show ${count(entries.length - firstEntries)} more</button></div>`}
  <//>
`
}

const entryColumns = [
  { name: "Time", align: "nowrap" as const, show: ({ at }: Pick<Entry, "at">) => html`<${Time} at=${at} />` },
  { name: "Kind", show: ({ kind }: Pick<Entry, "kind">) => kind },
  { name: "Account", show: ({ account }: Pick<Entry, "account">) => account },
  {
    name: "Amount",
    align: "right" as const,
    show: (row: Pick<Entry, "amount" | "currency">) => money(row.amount, row.currency),
  },
  { name: "Request or top-up", show: ({ ref }: Pick<Entry, "ref">) => html`<code class="wrap">${ref}</code>` },
]

/** The money of a person's organisation. */
const OwnMoney = () => {
  const viewer = useViewer()
  const pages = usePages("own ledger", (cursor, signal) => get<LedgerStatement>("v1/ledger", { cursor }, signal))
  if (viewer.kind === "operator") return null
  return html`
    <${Head} title="Money"><${CsvExport} path="v1/usage.csv" query=${{ org: viewer.org }} /><//>
    <${BudgetsPanel} place=${tenantPlace(viewer, viewer.org)} />
    <${Card} title="Ledger entries">
      <${PagedTable} caption="Ledger entries" pages=${pages} empty=${html`<${Empty} title="No money has moved yet">The operator of this gateway tops organisations up.<//>`} columns=${entryColumns} />
    <//>
  `
}

type Finding = DoctorResponse["findings"][number]
type Shard = DoctorResponse["shards"][number]

/** Walks all books; each reply has the progress. */
const Books = () => {
  const first = useLoad("books", () => get<DoctorResponse>("v1/admin/doctor"))
  const [report, setReport] = useState<DoctorResponse>()
  const { run, isRunning, error } = useAction(async () => {
    let part: DoctorResponse
    do {
      part = await get<DoctorResponse>("v1/admin/doctor")
      setReport(part)
    } while (!part.isComplete)
  })
  const data = report ?? first.data
  return html`<${Card} title="Books" actions=${html`<button type="button" class="quiet" disabled=${isRunning} onClick=${() => run()}>${isRunning ? "Checking…" : "Check now"}</button>`}>
    <${ErrorBox} error=${error ?? first.error} />
    ${
      data !== undefined &&
      html`<p role="status">${data.isComplete ? "Checked" : "Checked so far:"} ${count(data.checked)} organisations, ${
        data.findings.length === 0
          ? html`<${Tag} tone="good">consistent<//>`
          : html`<${Tag} tone="bad">${data.findings.length} findings<//>`
      }. ${data.nodes.length === 0 ? "No node has" : data.nodes.length === 1 ? "1 node has" : `${data.nodes.length} nodes have`} allotments${data.nodes.map(({ node, since: from }) => `, ${node} for ${since(from)}`)}.</p>
      ${
        data.findings.length > 0 &&
        html`<${Table} caption="Findings" rows=${data.findings} empty=${null} columns=${[
          { name: "Finding", show: ({ finding }: Finding) => finding },
          { name: "Of", show: ({ id }: Finding) => html`<code class="wrap">${id}</code>` },
        ]} />`
      }
      ${
        data.shards.length > 1 &&
        html`<${Table} caption="Shards" rows=${data.shards} empty=${null} columns=${[
          { name: "Shard", show: ({ shard }: Shard) => html`<code>${shard}</code>` },
          { name: "Server", show: ({ server }: Shard) => html`<code>${server}</code>` },
          {
            name: "State",
            show: ({ answers }: Shard) => (answers ? "answers" : html`<${Tag} tone="bad">does not answer<//>`),
          },
          { name: "Organisations", show: ({ organisations }: Shard) => count(organisations) },
          { name: "MiB", show: ({ bytes }: Shard) => count(Math.round(bytes / 2 ** 20)) },
        ]} />`
      }`
    }
  <//>`
}
