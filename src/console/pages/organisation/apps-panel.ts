/** Applications of an organisation: create, edit, disable, delete. */
import { html } from "htm/preact"
import type { AppRecord } from "../../../protocol/control/tenants.ts"
import { call } from "../../api.ts"
import type { Page, Pages } from "../../load.ts"
import { ActionButton, type Values } from "../../ui/form.ts"
import { Named } from "../../ui/identifier.ts"
import { Card, Empty, Tag } from "../../ui/parts.ts"
import { PagedTable } from "../../ui/table.ts"
import { Time } from "../../ui/time.ts"
import { LimitsText } from "./limits-button.ts"
import { TenantActions } from "./tenant-actions.ts"
import { oneOf, type TenantPlace } from "./tenant-urls.ts"

export type App = typeof AppRecord.Type
export type AppPage = Page<App>

export const AppsPanel = ({ place, pages }: { readonly place: TenantPlace; readonly pages: Pages<App> }) => {
  const changing = (change: (values: Values) => Promise<unknown>) => async (values: Values) => {
    await change(values)
    pages.reload()
  }
  const create = changing(({ name = "", rpm = "" }) =>
    call("POST", place.apps, {
      body: { ...place.body, ...(name !== "" && { name }), ...(rpm !== "" && { quota: { rpm: Number(rpm) } }) },
    }),
  )
  const update = ({ id, revision }: App, body: object) =>
    call("PATCH", oneOf(place.apps, id), { body, headers: { "if-match": revision } })
  const edit = (app: App) =>
    changing(({ name = "", rpm = "" }) =>
      update(app, { name: name || null, quota: rpm === "" ? null : { rpm: Number(rpm) } }),
    )
  const limit = (app: App) => async (body: object) => {
    await update(app, body)
    pages.reload()
  }
  const setStatus = (app: App) => (status: "active" | "disabled") => changing(() => update(app, { status }))
  const remove = ({ id }: App) => changing(() => call("DELETE", oneOf(place.apps, id)))
  const button = html`<${ActionButton} name="Create an application" confirm="Create" act=${create} fields=${fieldsOf()} />`
  return html`<${Card} title="Applications" actions=${button}>
    <${PagedTable} caption="Applications" pages=${pages} empty=${html`<${Empty} title="No applications yet">Create one, then create a key for it.<//>`} columns=${[
      { name: "Application", show: ({ id, name }: App) => html`<${Named} id=${id} name=${name} />` },
      {
        name: "Status",
        show: ({ status }: App) => html`<${Tag} tone=${status === "active" ? "good" : "bad"}>${status}<//>`,
      },
      { name: "Requests per minute", align: "right", show: ({ quota }: App) => quota?.rpm ?? "no limit" },
      { name: "Limits", show: (app: App) => html`<${LimitsText} limits=${app} />` },
      { name: "Created", align: "nowrap", show: ({ createdAt }: App) => html`<${Time} at=${createdAt} />` },
      {
        name: "Actions",
        show: (app: App) =>
          html`<${TenantActions} tenant=${app} fields=${fieldsOf(app)} edit=${edit(app)} limit=${limit(app)} setStatus=${setStatus(app)} remove=${remove(app)} whenDisabled="Its calls are refused until it is enabled again." whenDeleted="Its keys are revoked for good." />`,
      },
    ]} />
  <//>`
}

const fieldsOf = (app?: App) => [
  { name: "name", label: "Name", value: app?.name ?? "", isOptional: true, hint: "For people; calls use the id." },
  {
    name: "rpm",
    label: "Requests per minute",
    type: "number" as const,
    value: app?.quota?.rpm === undefined ? "" : String(app.quota.rpm),
    isOptional: true,
    hint: "No limit of its own if empty.",
  },
]
