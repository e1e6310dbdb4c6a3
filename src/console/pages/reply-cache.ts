/** The reply cache: hits, waits, misses and the savings; clearing it. */
import { html } from "htm/preact"
import type { ClearedReplies, ReplyCacheReport } from "../../protocol/control/reply-cache.ts"
import { call, get } from "../api.ts"
import { useOrganisations } from "../choices.ts"
import { count, monies, share } from "../format.ts"
import { useLoad } from "../load.ts"
import type { PageProps } from "../page.ts"
import { fromOf, RangePicker, rangeOf } from "../range.ts"
import { linkTo, setQuery } from "../route.ts"
import { ActionButton, Filters, type Values } from "../ui/form.ts"
import { Card, Empty, ErrorBox, Head, Loading, Segments } from "../ui/parts.ts"
import { Table } from "../ui/table.ts"

const everyMs = 10_000

export const Page = ({ query }: PageProps) => {
  const range = rangeOf(query)
  const { org = "", by = "model" } = query
  const { data, error, reload } = useLoad(
    `reply cache ${range} ${by} ${org}`,
    (signal) => get<ReplyCacheReport>("v1/admin/reply-cache", { from: fromOf(range), by, org }, signal),
    everyMs,
  )
  const clear = async ({ org = "", model = "" }: Values) => {
    const path = `v1/admin/orgs/${encodeURIComponent(org)}/reply-cache`
    const { removed } = await call<ClearedReplies>("DELETE", path, { query: { model } })
    reload()
    return html`<p>Removed ${count(removed)} ${removed === 1 ? "reply" : "replies"}.</p>`
  }
  const organisations = useOrganisations()
  const fields = [
    { name: "org", label: "Organisation", value: org, suggestions: organisations },
    { name: "model", label: "Model", isOptional: true, hint: "All models if empty." },
  ]
  return html`
    <${Head} title="Reply cache">
      <${RangePicker} range=${range} />
      <${ActionButton} name="Empty" confirm="Empty the cache" title="Empty a reply cache?" tone="danger" explain="Equal requests call the vendor again, at the full price." fields=${fields} act=${clear} />
    <//>
    <${Card} title="Replies by" actions=${html`<${Segments} label="Replies by" options=${dimensions} value=${by} choose=${(value: string) => setQuery({ by: value })} />`}>
      <${Filters} fields=${fields.slice(0, 1)} apply=${(values: Values) => setQuery(values)} />
      <${ErrorBox} error=${error} retry=${reload} />
      ${
        data === undefined
          ? error === undefined && html`<${Loading} />`
          : html`<${Table} caption="Replies by ${by}" rows=${data.data} empty=${html`<${Empty} title="No cache lookups yet">Give a model or an organisation <code>replyCache</code> in the <a href=${linkTo(["catalogue"])}>catalogue</a>.<//>`} columns=${[
              { name: by === "org" ? "Organisation" : "Model", show: ({ group }: Row) => group },
              { name: "Hits", align: "right", show: ({ hits }: Row) => count(hits) },
              { name: "Waits", align: "right", show: ({ waits }: Row) => count(waits) },
              { name: "Misses", align: "right", show: ({ misses }: Row) => count(misses) },
              { name: "From the cache", align: "right", show: (row: Row) => share(row.hits + row.waits, askedOf(row)) },
              { name: "Tokens not made again", align: "right", show: ({ tokens }: Row) => count(tokens) },
              { name: "Saved", align: "right", show: ({ saved }: Row) => monies(saved) },
            ]} />`
      }
    <//>
  `
}

type Row = ReplyCacheReport["data"][number]

const askedOf = ({ hits, waits, misses }: Row): number => hits + waits + misses

const dimensions = [
  ["model", "Model"],
  ["org", "Organisation"],
] as const
