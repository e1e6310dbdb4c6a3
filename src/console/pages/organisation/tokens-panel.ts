/** A person's own access tokens: create and revoke. */

import { html } from "htm/preact"
import type { AccessToken, AccessTokenMinted } from "../../../protocol/control/access-token.ts"
import { call, get } from "../../api.ts"
import { useLoad } from "../../load.ts"
import { ActionButton, Secret, type Values } from "../../ui/form.ts"
import { Card, Empty, ErrorBox } from "../../ui/parts.ts"
import { Table } from "../../ui/table.ts"
import { Time } from "../../ui/time.ts"
import { oneOf } from "./tenant-urls.ts"

const list = "v1/tokens"

export const TokensPanel = () => {
  const { data, error, reload } = useLoad("tokens", (signal) =>
    get<{ readonly data: ReadonlyArray<AccessToken> }>(list, undefined, signal),
  )
  const create = async ({ name = "", scope = "", days = "" }: Values) => {
    const { secret } = await call<AccessTokenMinted>("POST", list, {
      body: { name, scopes: [scope], ...(days !== "" && { expiresInDays: Number(days) }) },
    })
    reload()
    return html`<${Secret} title="The token ${name}" secret=${secret} />`
  }
  const revoke = (id: string) => async () => {
    await call("DELETE", oneOf(list, id))
    reload()
  }
  return html`<${Card} title="Your tokens" actions=${html`<${ActionButton} name="Create a token" confirm="Create" act=${create} fields=${[
    { name: "name", label: "Purpose" },
    {
      name: "scope",
      label: "Scopes",
      options: [
        ["runtime", "call models"],
        ["control", "use the control routes"],
      ],
    },
    { name: "days", label: "Days until it expires", isOptional: true },
  ]} />`}>
    <${ErrorBox} error=${error} retry=${reload} />
    ${
      data !== undefined &&
      html`<${Table} caption="Your tokens" rows=${data.data} empty=${html`<${Empty} title="You have no token">Create one to call models, or the control routes, from your own programs.<//>`} columns=${[
        { name: "Name", show: ({ name }: AccessToken) => name },
        { name: "Scopes", show: ({ scopes }: AccessToken) => scopes.join(", ") },
        { name: "Owner", show: ({ owner }: AccessToken) => (owner === "org" ? "the organisation" : "you") },
        { name: "Created", align: "nowrap", show: ({ createdAt }: AccessToken) => html`<${Time} at=${createdAt} />` },
        {
          name: "Expires",
          align: "nowrap",
          show: ({ expiresAt }: AccessToken) => (expiresAt === undefined ? "never" : html`<${Time} at=${expiresAt} />`),
        },
        {
          name: "Actions",
          show: ({ id, name }: AccessToken) =>
            html`<${ActionButton} name="Revoke" title="Revoke ${name}?" tone="danger" act=${revoke(id)} />`,
        },
      ]} />`
    }
  <//>`
}
