/** Applications of an organisation: create, disable, delete. */
import { html } from "htm/preact"
import type { AppRecord } from "../../../protocol/control/tenants.ts"
import { call } from "../../api.ts"
import { instant } from "../../format.ts"
import type { Page, Pages } from "../../load.ts"
import { ActionButton, type Values } from "../../ui/form.ts"
import { Card, Empty, Tag } from "../../ui/parts.ts"
import { PagedTable } from "../../ui/table.ts"
import { oneOf, type TenantPlace } from "./tenant-urls.ts"

export type App = typeof AppRecord.Type
export type AppPage = Page<App>

export const AppsPanel = ({ place, pages }: { readonly place: TenantPlace; readonly pages: Pages<App> }) => {
  const changing = (change: (values: Values) => Promise<unknown>) => async (values: Values) => {
    await change(values)
    pages.reload()
  }
  const create = changing(({ rpm = "" }) =>
    call("POST", place.apps, { body: { ...place.body, ...(rpm !== "" && { quota: { rpm: Number(rpm) } }) } }),
  )
  const setStatus = ({ id, revision }: App, status: "active" | "disabled") =>
    changing(() => call("PATCH", oneOf(place.apps, id), { body: { status }, headers: { "if-match": revision } }))
  const remove = ({ id }: App) => changing(() => call("DELETE", oneOf(place.apps, id)))
  const button = html`<${ActionButton} name="Create an application" confirm="Create" act=${create} fields=${[
    { name: "rpm", label: "Requests per minute", isOptional: true, hint: "No limit of its own if empty." },
  ]} />`
  return html`<${Card} title="Applications" actions=${button}>
    <${PagedTable} caption="Applications" pages=${pages} empty=${html`<${Empty} title="No application yet">Create one, then mint a key for it.<//>`} columns=${[
      { name: "Application", show: ({ id }: App) => html`<code class="wrap">${id}</code>` },
      {
        name: "Status",
        show: ({ status }: App) => html`<${Tag} tone=${status === "active" ? "good" : "bad"}>${status}<//>`,
      },
      { name: "Requests per minute", align: "right", show: ({ quota }: App) => quota?.rpm ?? "no limit" },
      { name: "Created", align: "nowrap", show: ({ createdAt }: App) => instant(createdAt) },
      {
        name: "Actions",
        show: (app: App) =>
          app.declared
            ? html`<span class="soft">declared by the catalogue</span>`
            : html`<span class="row">
                ${
                  app.status === "active"
                    ? html`<${ActionButton} name="Disable" title="Disable ${app.id}?" tone="quiet" explain="Its calls are refused until it is enabled again." act=${setStatus(app, "disabled")} />`
                    : html`<${ActionButton} name="Enable" title="Enable ${app.id}?" tone="quiet" act=${setStatus(app, "active")} />`
                }
                <${ActionButton} name="Delete" title="Delete ${app.id}?" tone="danger" explain="Its keys are revoked for good." act=${remove(app)} />
              </span>`,
      },
    ]} />
  <//>`
}
