/** One organisation: applications, keys, people, licences, budgets. */
import { html } from "htm/preact"
import { get } from "../../api.ts"
import { usePages } from "../../load.ts"
import { Head } from "../../ui/parts.ts"
import { mayManage, useViewer } from "../../viewer.ts"
import { type AppPage, AppsPanel } from "./apps-panel.ts"
import { BudgetsPanel } from "./budgets-panel.ts"
import { KeysPanel } from "./keys-panel.ts"
import { LicencesPanel } from "./licences-panel.ts"
import { PeoplePanel } from "./people-panel.ts"
import { tenantPlace } from "./tenant-urls.ts"
import { TokensPanel } from "./tokens-panel.ts"
import { WebhooksPanel } from "./webhooks-panel.ts"

/** The organisation of a person. */
export const Page = () => {
  const viewer = useViewer()
  if (viewer.kind === "operator") return null
  return html`
    <${Head} title=${viewer.orgName} />
    <${TokensPanel} />
    <${OrganisationPanels} org=${viewer.org} />
    ${viewer.role === "owner" && html`<${WebhooksPanel} org=${viewer.org} />`}
  `
}

export const OrganisationPanels = ({ org }: { readonly org: string }) => {
  const viewer = useViewer()
  const place = tenantPlace(viewer, org)
  return mayManage(viewer) ? html`<${Managed} org=${org} />` : html`<${BudgetsPanel} place=${place} />`
}

const Managed = ({ org }: { readonly org: string }) => {
  const place = tenantPlace(useViewer(), org)
  const apps = usePages(`apps ${org}`, (cursor, signal) => get<AppPage>(place.apps, { ...place.query, cursor }, signal))
  const ids = (apps.data ?? []).filter(({ status }) => status === "active").map(({ id }) => id)
  return html`
    <${AppsPanel} place=${place} pages=${apps} />
    <${KeysPanel} place=${place} apps=${ids} />
    <${PeoplePanel} place=${place} />
    <${BudgetsPanel} place=${place} />
    <${LicencesPanel} place=${place} apps=${ids} />
  `
}
