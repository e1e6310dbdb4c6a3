/** Licences of an organisation's applications: issue, suspend, revoke. */

import { html } from "htm/preact"
import type { License, LicenseIssued } from "../../../protocol/control/licence.ts"
import { call, get } from "../../api.ts"
import { useLoad } from "../../load.ts"
import { ActionButton, Secret, type Values } from "../../ui/form.ts"
import { Card, Empty, ErrorBox, Tag } from "../../ui/parts.ts"
import { Table } from "../../ui/table.ts"
import { Time } from "../../ui/time.ts"
import { oneOf, type TenantPlace } from "./tenant-urls.ts"

const tones = { issued: "soft", active: "good", suspended: "warn", revoked: "bad" } as const

export const LicencesPanel = ({
  place,
  apps,
}: {
  readonly place: TenantPlace
  readonly apps: ReadonlyArray<string>
}) => {
  const { data, error, reload } = useLoad(`licences ${place.org}`, (signal) =>
    get<{ readonly data: ReadonlyArray<License> }>(place.licences, undefined, signal),
  )
  const issue = async ({ appId = "" }: Values) => {
    const { code } = await call<LicenseIssued>("POST", place.licences, { body: { appId } })
    reload()
    return html`<${Secret} title="The code of the licence" secret=${code} />`
  }
  const end = (id: string, action: "suspend" | "revoke") => async () => {
    await call("POST", oneOf(place.licences, id, action))
    reload()
  }
  const button =
    apps.length > 0 &&
    html`<${ActionButton} name="Issue a licence" confirm="Issue" act=${issue} fields=${[{ name: "appId", label: "Application", options: apps.map((id) => [id, id]) }]} />`
  return html`<${Card} title="Licences" actions=${button}>
    <${ErrorBox} error=${error} retry=${reload} />
    ${
      data !== undefined &&
      html`<${Table} caption="Licences" rows=${data.data} empty=${html`<${Empty} title="No licences yet">Applications with <code>licenceRequired</code> need one for each member.<//>`} columns=${[
        { name: "Licence", show: ({ id }: License) => html`<code class="wrap">${id}</code>` },
        { name: "Application", show: ({ appId }: License) => appId },
        { name: "Status", show: ({ status }: License) => html`<${Tag} tone=${tones[status]}>${status}<//>` },
        { name: "Issued", align: "nowrap", show: ({ createdAt }: License) => html`<${Time} at=${createdAt} />` },
        {
          name: "Actions",
          show: ({ id, status }: License) => html`<span class="row">
            ${status === "active" && html`<${ActionButton} name="Suspend" title="Suspend ${id}?" tone="quiet" act=${end(id, "suspend")} />`}
            ${status !== "revoked" && html`<${ActionButton} name="Revoke" title="Revoke ${id}?" tone="danger" explain="This cannot be undone." act=${end(id, "revoke")} />`}
          </span>`,
        },
      ]} />`
    }
  <//>`
}
