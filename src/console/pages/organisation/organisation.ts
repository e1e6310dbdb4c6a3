/** One organisation: applications, keys, people, directory, teams, budgets, licences. */
import { html } from "htm/preact"
import type { OwnModels } from "../../../protocol/control/model-list.ts"
import { get } from "../../api.ts"
import { type Choices, nameOf, useTeams } from "../../choices.ts"
import { useLoad, usePages } from "../../load.ts"
import { Head } from "../../ui/parts.ts"
import { mayManage, useViewer } from "../../viewer.ts"
import { type AppPage, AppsPanel } from "./apps-panel.ts"
import { BudgetsPanel } from "./budgets-panel.ts"
import { DirectoryPanel } from "./directory-panel.ts"
import { KeysPanel } from "./keys-panel.ts"
import { LicencesPanel } from "./licences-panel.ts"
import { PeoplePanel, useMembers } from "./people-panel.ts"
import { TeamsPanel } from "./teams-panel.ts"
import { tenantPlace } from "./tenant-urls.ts"
import { TokensPanel } from "./tokens-panel.ts"
import { WebhooksPanel } from "./webhooks-panel.ts"

/** The organisation of a person. */
export const Page = () => {
  const viewer = useViewer()
  const models = useLoad("own models", (signal) => get<OwnModels>("v1/models", undefined, signal))
  if (viewer.kind === "operator") return null
  return html`
    <${Head} title=${viewer.orgName} />
    <${TokensPanel} />
    <${OrganisationPanels} org=${viewer.org} currency=${models.data?.currency} />
    ${viewer.role === "owner" && html`<${WebhooksPanel} org=${viewer.org} />`}
  `
}

export const OrganisationPanels = ({ org, currency }: { readonly org: string; readonly currency?: string }) => {
  const viewer = useViewer()
  const place = tenantPlace(viewer, org)
  return mayManage(viewer)
    ? html`<${Managed} org=${org} currency=${currency} />`
    : html`<${BudgetsPanel} place=${place} currency=${currency} />`
}

const Managed = ({ org, currency }: { readonly org: string; readonly currency: string | undefined }) => {
  const place = tenantPlace(useViewer(), org)
  const apps = usePages(`apps ${org}`, (cursor, signal) => get<AppPage>(place.apps, { ...place.query, cursor }, signal))
  const members = useMembers(place)
  const teams = useTeams(place.teams, place.query)
  const active = (apps.data ?? []).filter(({ status }) => status === "active")
  const subjects: Choices = [
    ...(teams.data?.data ?? []).map((team) => [team.id, `team ${nameOf(team)}`] as const),
    ...active.map((app) => [app.id, `application ${nameOf(app)}`] as const),
    ...(members.data ?? []).map(({ id, email }) => [id, `person ${email}`] as const),
  ]
  return html`
    <${AppsPanel} place=${place} pages=${apps} />
    <${KeysPanel} place=${place} apps=${active.map((app) => [app.id, nameOf(app)])} />
    <${PeoplePanel} place=${place} pages=${members} />
    <${DirectoryPanel} place=${place} />
    <${TeamsPanel} place=${place} teams=${teams} people=${members.data ?? []} />
    <${BudgetsPanel} place=${place} currency=${currency} subjects=${subjects} />
    <${LicencesPanel} place=${place} apps=${active.map(({ id }) => id)} />
  `
}
