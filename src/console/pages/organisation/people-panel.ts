/** Members of an organisation: invite, change the role, disable, remove. */
import { html } from "htm/preact"
import type { MemberRecord } from "../../../protocol/control/tenants.ts"
import { call, get } from "../../api.ts"
import { type Page, usePages } from "../../load.ts"
import { ActionButton, type Values } from "../../ui/form.ts"
import { Card, Empty, Tag } from "../../ui/parts.ts"
import { PagedTable } from "../../ui/table.ts"
import { oneOf, type TenantPlace } from "./tenant-urls.ts"

type Member = typeof MemberRecord.Type

const roles = [
  ["member", "member"],
  ["admin", "admin"],
  ["owner", "owner"],
] as const

export const PeoplePanel = ({ place }: { readonly place: TenantPlace }) => {
  const pages = usePages(`members ${place.org}`, (cursor, signal) =>
    get<Page<Member>>(place.members, { ...place.query, cursor }, signal),
  )
  const changing = (change: (values: Values) => Promise<unknown>) => async (values: Values) => {
    await change(values)
    pages.reload()
  }
  const invite = changing(({ email = "", role = "" }) =>
    call("POST", place.members, { body: { ...place.body, email, role } }),
  )
  const update = ({ id, revision }: Member, body: object) =>
    call("PATCH", oneOf(place.members, id), { body, headers: { "if-match": revision } })
  const remove = ({ id }: Member) => call("DELETE", oneOf(place.members, id))
  const button = html`<${ActionButton} name="Invite a person" act=${invite} confirm="Invite" fields=${[
    { name: "email", label: "E-mail address", type: "email" },
    { name: "role", label: "Role", options: roles },
  ]} />`
  return html`<${Card} title="People" actions=${button}>
    <${PagedTable} caption="People" pages=${pages} empty=${html`<${Empty} title="Nobody is a member yet">Invite somebody: they log in with a code that is mailed to them, and accept.<//>`} columns=${[
      { name: "Address", show: ({ email }: Member) => html`<span class="wrap">${email}</span>` },
      { name: "Role", show: ({ role }: Member) => role },
      {
        name: "Status",
        show: ({ status, invited }: Member) =>
          invited === true && status === "active"
            ? html`<${Tag}>invited<//>`
            : html`<${Tag} tone=${status === "active" ? "good" : "bad"}>${status}<//>`,
      },
      {
        name: "Actions",
        show: (member: Member) =>
          member.declared
            ? html`<span class="soft">declared by the catalogue</span>`
            : html`<span class="row">
                <${ActionButton} name="Role" title="Role of ${member.email}" tone="quiet" confirm="Change" fields=${[{ name: "role", label: "Role", value: member.role, options: roles }]} act=${changing((values) => update(member, { role: values["role"] }))} />
                ${
                  member.status === "active"
                    ? html`<${ActionButton} name="Disable" title="Disable ${member.email}?" tone="quiet" explain="They can be enabled again." act=${changing(() => update(member, { status: "disabled" }))} />`
                    : html`<${ActionButton} name="Enable" title="Enable ${member.email}?" tone="quiet" act=${changing(() => update(member, { status: "active" }))} />`
                }
                <${ActionButton} name=${member.invited === true ? "Withdraw" : "Remove"} title=${member.invited === true ? `Withdraw the invitation of ${member.email}?` : `Remove ${member.email}?`} tone="danger" explain=${member.invited === true ? undefined : "Their tokens stop working."} act=${changing(() => remove(member))} />
              </span>`,
      },
    ]} />
  <//>`
}
