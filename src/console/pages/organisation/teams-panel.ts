/** Teams of an organisation: create, rename, choose the members, disable, delete. */
import { html } from "htm/preact"
import type { MemberRecord } from "../../../protocol/control/tenants.ts"
import { call } from "../../api.ts"
import type { Team } from "../../choices.ts"
import type { Loaded, Page } from "../../load.ts"
import { ActionButton, chosenIn, type Values } from "../../ui/form.ts"
import { Named } from "../../ui/identifier.ts"
import { Card, Empty, ErrorBox, Tag } from "../../ui/parts.ts"
import { Table } from "../../ui/table.ts"
import { LimitsText } from "./limits-button.ts"
import { TenantActions } from "./tenant-actions.ts"
import { oneOf, type TenantPlace } from "./tenant-urls.ts"

type Member = typeof MemberRecord.Type

export const TeamsPanel = ({
  place,
  teams,
  people,
}: {
  readonly place: TenantPlace
  readonly teams: Loaded<Page<Team>>
  readonly people: ReadonlyArray<Member>
}) => {
  const emails = new Map(people.map(({ id, email }) => [id, email]))
  const changing = (change: (values: Values) => Promise<unknown>) => async (values: Values) => {
    await change(values)
    teams.reload()
  }
  const fieldsOf = (team?: Team) => [
    { name: "name", label: "Name", value: team?.name ?? "" },
    {
      name: "members",
      label: "Members",
      value: team?.members.join(",") ?? "",
      many: people.map(({ id, email }) => [id, email] as const),
    },
  ]
  const create = changing(({ name, members }) =>
    call("POST", place.teams, { body: { ...place.body, name, members: chosenIn(members) } }),
  )
  const update = ({ id, revision }: Team, body: object) =>
    call("PATCH", oneOf(place.teams, id), { body, headers: { "if-match": revision } })
  const edit = (team: Team) => changing(({ name, members }) => update(team, { name, members: chosenIn(members) }))
  const limit = (team: Team) => async (body: object) => {
    await update(team, body)
    teams.reload()
  }
  const setStatus = (team: Team) => (status: "active" | "disabled") => changing(() => update(team, { status }))
  const remove = ({ id }: Team) => changing(() => call("DELETE", oneOf(place.teams, id)))
  const button = html`<${ActionButton} name="Create a team" confirm="Create" act=${create} fields=${fieldsOf()} />`
  return html`<${Card} title="Teams" actions=${button}>
    <${ErrorBox} error=${teams.error} retry=${teams.reload} />
    ${
      teams.data !== undefined &&
      html`<${Table} caption="Teams" rows=${teams.data.data.filter(({ status }) => status !== "closed")} empty=${html`<${Empty} title="No teams yet">Create one to give its members a budget or settings of their own.<//>`} columns=${[
        { name: "Team", show: ({ id, name }: Team) => html`<${Named} id=${id} name=${name} />` },
        {
          name: "Members",
          show: ({ members }: Team) =>
            html`<span class="wrap">${members.map((id) => emails.get(id) ?? id).join(", ") || "nobody"}</span>`,
        },
        { name: "Limits", show: (team: Team) => html`<${LimitsText} limits=${team} />` },
        {
          name: "Status",
          show: ({ status }: Team) => html`<${Tag} tone=${status === "active" ? "good" : "bad"}>${status}<//>`,
        },
        {
          name: "Actions",
          show: (team: Team) =>
            html`<${TenantActions} tenant=${team} fields=${fieldsOf(team)} edit=${edit(team)} limit=${limit(team)} setStatus=${setStatus(team)} remove=${remove(team)} whenDisabled="Its settings do not apply until it is enabled again." whenDeleted="Its members stay in the organisation." />`,
        },
      ]} />`
    }
  <//>`
}
