/** Keys of all organisations: search, use in the last 30 days, revoke. */
import { html } from "htm/preact"
import type { KeyList } from "../../protocol/control/admin-directory.ts"
import type { UsageSummary } from "../../protocol/control/usage-summary.ts"
import { get } from "../api.ts"
import { useOrganisations } from "../choices.ts"
import { count } from "../format.ts"
import { useLoad, usePages } from "../load.ts"
import type { PageProps } from "../page.ts"
import { fromOf } from "../range.ts"
import { linkTo, setQuery } from "../route.ts"
import { Filters, type Values } from "../ui/form.ts"
import { Card, Empty, Head } from "../ui/parts.ts"
import { PagedTable } from "../ui/table.ts"
import { type Key, keyActs, keyColumns } from "./organisation/key-columns.ts"
import { useKeyLimits } from "./organisation/key-limits.ts"

export const Page = ({ query: { search = "", org = "" } }: PageProps) => {
  const pages = usePages(`keys ${search} ${org}`, (cursor, signal) =>
    get<KeyList>("v1/admin/keys", { search, org, cursor }, signal),
  )
  const usage = useLoad("usage by key", (signal) =>
    get<UsageSummary>("v1/admin/usage-summary", { by: "key", from: fromOf("30d") }, signal),
  )
  const calls = new Map(usage.data?.groups.map(({ group, exchanges }) => [group, exchanges]))
  const organisations = useOrganisations()
  const limits = useKeyLimits(
    (id) => `v1/admin/orgs/${encodeURIComponent(id)}/budgets`,
    (pages.data ?? []).flatMap(({ orgId }) => orgId ?? []),
  )
  return html`
    <${Head} title="Keys" />
    <${Card}>
      <${Filters} apply=${(values: Values) => setQuery(values)} fields=${[
        { name: "search", label: "Key or application begins with", value: search },
        { name: "org", label: "Organisation", value: org, suggestions: organisations },
      ]} />
      <${PagedTable} caption="Keys" pages=${pages} empty=${html`<${Empty} title="No keys match">Keys are created on the page of their <a href=${linkTo(["organisations"])}>organisation</a>.<//>`} columns=${[
        keyColumns.key,
        {
          name: "Application",
          show: ({ appId, appName, orgId }: Key) =>
            html`<span class="wrap">${appName ?? appId}</span>${orgId !== undefined && html`<br /><small>of <a href=${linkTo(["organisations", orgId])}>${orgId}</a></small>`}`,
        },
        keyColumns.status,
        {
          name: "Calls, 30 d",
          align: "right",
          show: ({ id }: Key) =>
            html`<a href=${linkTo(["exchanges"], { key: id, range: "30d" })}>${count(calls.get(id) ?? 0)}</a>`,
        },
        keyColumns.created,
        keyColumns.lastUsed,
        limits,
        keyColumns.actions(keyActs("v1/admin/keys", pages.reload)),
      ]} />
    <//>
  `
}
