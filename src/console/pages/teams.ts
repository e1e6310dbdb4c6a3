/** Teams of all organisations. They are changed on the page of their organisation. */
import { html } from "htm/preact"
import { get } from "../api.ts"
import { type Team, useOrganisations } from "../choices.ts"
import { count } from "../format.ts"
import { type Page as Rows, usePages } from "../load.ts"
import type { PageProps } from "../page.ts"
import { linkTo, setQuery } from "../route.ts"
import { Filters, type Values } from "../ui/form.ts"
import { Named } from "../ui/identifier.ts"
import { Card, Empty, Head, Tag } from "../ui/parts.ts"
import { PagedTable } from "../ui/table.ts"
import { Time } from "../ui/time.ts"

export const Page = ({ query: { search = "", org = "" } }: PageProps) => {
  const pages = usePages(`teams ${search} ${org}`, (cursor, signal) =>
    get<Rows<Team>>("v1/admin/teams", { search, org, cursor }, signal),
  )
  const organisations = useOrganisations()
  return html`
    <${Head} title="Teams" />
    <${Card}>
      <${Filters} apply=${(values: Values) => setQuery(values)} fields=${[
        { name: "search", label: "Id or name begins with", value: search },
        { name: "org", label: "Organisation", value: org, suggestions: organisations },
      ]} />
      <${PagedTable} caption="Teams" pages=${pages} empty=${html`<${Empty} title="No teams match">Teams are created on the page of their <a href=${linkTo(["organisations"])}>organisation</a>.<//>`} columns=${[
        { name: "Team", show: ({ id, name }: Team) => html`<${Named} id=${id} name=${name} />` },
        {
          name: "Organisation",
          show: ({ org }: Team) => html`<a href=${linkTo(["organisations", org])}>${org}</a>`,
        },
        { name: "Members", align: "right", show: ({ members }: Team) => count(members.length) },
        {
          name: "Status",
          show: ({ status }: Team) => html`<${Tag} tone=${status === "active" ? "good" : "bad"}>${status}<//>`,
        },
        { name: "Created", align: "nowrap", show: ({ createdAt }: Team) => html`<${Time} at=${createdAt} />` },
      ]} />
    <//>
  `
}
