/** Organisations for operators: list, search, create, disable, and everything of one. */
import { html } from "htm/preact"
import type { OrgList } from "../../protocol/control/admin-directory.ts"
import type { OrgRecord } from "../../protocol/control/tenants.ts"
import { call, get } from "../api.ts"
import { modelChoices, useModels, usePlans } from "../choices.ts"
import { count, money } from "../format.ts"
import { useLoad, usePages } from "../load.ts"
import type { PageProps } from "../page.ts"
import { goTo, linkTo, setQuery } from "../route.ts"
import { ActionButton, chosenIn, Filters, type Values } from "../ui/form.ts"
import { Identifier } from "../ui/identifier.ts"
import { Card, Empty, ErrorBox, Facts, Head, Loading, Tag } from "../ui/parts.ts"
import { PagedTable } from "../ui/table.ts"
import { useViewer } from "../viewer.ts"
import { BatchesPanel } from "./organisation/batches-panel.ts"
import { aliasText, EditOrganisation } from "./organisation/edit-organisation.ts"
import { FilesPanel } from "./organisation/files-panel.ts"
import { OrganisationPanels } from "./organisation/organisation.ts"
import { ResponsesPanel } from "./organisation/responses-panel.ts"

type Org = OrgList["data"][number]

export const Page = ({ parts: [id], query }: PageProps) =>
  id === undefined ? html`<${List} query=${query} />` : html`<${One} id=${id} />`

const List = ({ query }: Pick<PageProps, "query">) => {
  const { search = "", status = "" } = query
  const pages = usePages(`orgs ${search} ${status}`, (cursor, signal) =>
    get<OrgList>("v1/admin/orgs", { search, status, cursor }, signal),
  )
  const models = useModels(useViewer())
  const plans = usePlans()
  const create = async ({ id = "", models: chosen, ...rest }: Values) => {
    const org = Object.fromEntries(Object.entries({ ...rest, id }).filter(([, value]) => value !== ""))
    const created = await call<{ readonly id: string }>("POST", "v1/admin/orgs", {
      body: { ...org, models: chosenIn(chosen) },
    })
    goTo(["organisations", created.id])
  }
  return html`
    <${Head} title="Organisations">
      <${ActionButton} name="Create an organisation" confirm="Create" act=${create} fields=${[
        { name: "name", label: "Name" },
        { name: "id", label: "Id", isOptional: true, hint: "Generated if empty." },
        {
          name: "currency",
          label: "Currency",
          value: "USD",
          suggestions: currencies,
          hint: "One that models have prices in.",
        },
        { name: "plan", label: "Plan", options: plans },
        {
          name: "models",
          label: "Models that it may call",
          many: modelChoices(models),
          hint: "Without one, all its calls are refused. Its first call needs money, too: top it up on its page Money.",
        },
      ]} />
    <//>
    <${Card}>
      <${Filters} apply=${(values: Values) => setQuery(values)} fields=${[
        { name: "search", label: "Id or name begins with", value: search },
        {
          name: "status",
          label: "Status",
          value: status,
          options: [
            ["", "any"],
            ["active", "active"],
            ["disabled", "disabled"],
            ["closed", "closed"],
          ],
        },
      ]} />
      <${PagedTable} caption="Organisations" pages=${pages} empty=${html`<${Empty} title="No organisations match">Create one here, or declare it in the <a href=${linkTo(["catalogue"])}>catalogue</a>.<//>`} columns=${[
        {
          name: "Organisation",
          show: ({ id, name }: Org) =>
            html`<a href=${linkTo(["organisations", id])}>${name}</a> <small class="soft wrap">${id}</small>`,
        },
        {
          name: "Status",
          show: ({ status }: Org) => html`<${Tag} tone=${status === "active" ? "good" : "bad"}>${status}<//>`,
        },
        { name: "Plan", show: ({ plan }: Org) => plan ?? "–" },
        { name: "Available", align: "right", show: ({ available, currency }: Org) => money(available, currency) },
        { name: "Held", align: "right", show: ({ held, currency }: Org) => money(held, currency) },
        { name: "Applications", align: "right", show: ({ apps }: Org) => count(apps) },
        { name: "Members", align: "right", show: ({ members }: Org) => count(members) },
        {
          name: "More",
          show: ({ id }: Org) =>
            html`<span class="row"><a href=${linkTo(["overview"], { org: id })}>usage</a> <a href=${linkTo(["money", id])}>money</a></span>`,
        },
      ]} />
    <//>
  `
}

const currencies = ["USD", "CNY", "EUR"]

type OrgRow = typeof OrgRecord.Type

const One = ({ id }: { readonly id: string }) => {
  const path = `v1/admin/orgs/${encodeURIComponent(id)}`
  const { data, error, reload } = useLoad(`org ${id}`, (signal) => get<OrgRow>(path, undefined, signal))
  const setStatus = (status: "active" | "disabled") => async () => {
    await call("PATCH", path, {
      body: { status },
      ...(data !== undefined && { headers: { "if-match": data.revision } }),
    })
    reload()
  }
  const button =
    data !== undefined &&
    !data.declared &&
    (data.status === "active"
      ? html`<${ActionButton} name="Disable" title="Disable ${data.name}?" tone="danger" explain="All its calls are refused until it is enabled again." act=${setStatus("disabled")} />`
      : html`<${ActionButton} name="Enable" title="Enable ${data.name}?" act=${setStatus("active")} />`)
  return html`
    <${Head} title=${data?.name ?? id}>${data !== undefined && !data.declared && html`<${EditOrganisation} org=${data} changed=${reload} />`}${button}<a href=${linkTo(["money", id])}>Money</a><a href=${linkTo(["overview"], { org: id })}>Usage</a><//>
    <${ErrorBox} error=${error} retry=${reload} />
    ${
      data === undefined
        ? !error && html`<${Loading} />`
        : html`<${Card} title="Organisation"><${Facts} facts=${[
            ["Id", html`<${Identifier} id=${data.id} />`],
            ["Status", data.status],
            ["Plan", data.plan ?? "none"],
            ["Currency", data.currency],
            ["Models", data.models === undefined ? "all" : data.models.join(", ") || "none: all its calls are refused"],
            ["Aliases", aliasText(data.aliases).replaceAll("\n", ", ") || "none"],
            ["Declared by the catalogue", data.declared ? "yes: change it there" : "no"],
          ]} /><//>
            <${OrganisationPanels} org=${id} currency=${data.currency} />
            <${ResponsesPanel} org=${id} kept=${data.keeps?.responses} />
            <${FilesPanel} org=${id} />
            <${BatchesPanel} org=${id} />`
    }
  `
}
