/** Members of an organisation: invite, change the role, disable, remove. */
import { html } from "htm/preact"
import type { MemberRecord } from "../../../protocol/control/tenants.ts"
import { addressOf, call, get } from "../../api.ts"
import { type Page, type Pages, usePages } from "../../load.ts"
import { ActionButton, type Values } from "../../ui/form.ts"
import { Card, Empty, Tag } from "../../ui/parts.ts"
import { PagedTable } from "../../ui/table.ts"
import { useViewer } from "../../viewer.ts"
import { LimitsButton, LimitsText } from "./limits-button.ts"
import { oneOf, type TenantPlace } from "./tenant-urls.ts"

type Member = typeof MemberRecord.Type

const roles = [
  ["member", "member"],
  ["admin", "admin"],
  ["owner", "owner"],
] as const

/** Members of an organisation, a page at a time. */
export const useMembers = (place: TenantPlace): Pages<Member> =>
  usePages(`members ${place.org}`, (cursor, signal) =>
    get<Page<Member>>(place.members, { ...place.query, cursor }, signal),
  )

export const PeoplePanel = ({ place, pages }: { readonly place: TenantPlace; readonly pages: Pages<Member> }) => {
  const changing = (change: (values: Values) => Promise<unknown>) => async (values: Values) => {
    await change(values)
    pages.reload()
  }
  const invite = async ({ email = "", role = "" }: Values) => {
    const { mailed } = await call<{ readonly mailed?: boolean }>("POST", place.members, {
      body: { ...place.body, email, role },
    })
    pages.reload()
    return mailed === false ? html`<${NotMailed} email=${email} />` : undefined
  }
  const update = ({ id, revision }: Member, body: object) =>
    call("PATCH", oneOf(place.members, id), { body, headers: { "if-match": revision } })
  const limit = (member: Member) => async (body: object) => {
    await update(member, body)
    pages.reload()
  }
  const remove = ({ id }: Member) => call("DELETE", oneOf(place.members, id))
  // An operator's person is a member at once: only an organisation's own people invite.
  const isOperator = useViewer().kind === "operator"
  const [verb, explain, start] = isOperator
    ? ["Add", "They are a member at once. No mail is sent: they log in at /login with this address.", "Add somebody:"]
    : ["Invite", undefined, "Invite somebody:"]
  const howTo = `${start} they log in with a code that is mailed to them${isOperator ? "." : ", and accept."}`
  const button = html`<${ActionButton} name="${verb} a person" act=${invite} confirm=${verb} explain=${explain} fields=${[
    { name: "email", label: "E-mail address", type: "email" },
    { name: "role", label: "Role", options: roles },
  ]} />`
  return html`<${Card} title="People" actions=${button}>
    <${PagedTable} caption="People" pages=${pages} empty=${html`<${Empty} title="No people yet">${howTo}<//>`} columns=${[
      { name: "Address", show: ({ email }: Member) => html`<span class="wrap">${email}</span>` },
      { name: "Role", show: ({ role }: Member) => role },
      { name: "Limits", show: (member: Member) => html`<${LimitsText} limits=${member} />` },
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
                <${LimitsButton} name=${member.email} limits=${member} save=${limit(member)} />
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

/** The remark after an invitation that no mail carries. */
const NotMailed = ({ email }: { readonly email: string }) => html`
  <h2>${email} is invited</h2>
  <p>This gateway sends no mail: give them this address. They log in at <code class="wrap">${addressOf("login").href}</code> with this address, and accept.</p>
  <p class="soft small">Without mail, the code for the login is in the gateway's log. An operator configures mail with SVC_SMTP_URL.</p>`
