/** The token with which an organisation's directory provisions its people: create and end. */
import { html } from "htm/preact"
import type { ScimState, ScimToken } from "../../../protocol/control/scim.ts"
import { base, call, get } from "../../api.ts"
import { useLoad } from "../../load.ts"
import { ActionButton, CopyButton, Secret } from "../../ui/form.ts"
import { Card, Empty, ErrorBox } from "../../ui/parts.ts"
import { Time } from "../../ui/time.ts"
import type { TenantPlace } from "./tenant-urls.ts"

export const DirectoryPanel = ({ place }: { readonly place: TenantPlace }) => {
  const { data, error, reload } = useLoad(`directory ${place.org}`, (signal) =>
    get<ScimState>(place.directory, undefined, signal),
  )
  const create = async () => {
    const { url, token } = await call<ScimToken>("POST", place.directory)
    reload()
    return html`<${Secret} title="The token of the directory" secret=${token}>
      <div class="head"><h3>Address for the directory</h3><${CopyButton} text=${url} /></div><pre class="note" tabindex="0">${url}</pre>
    <//>`
  }
  const end = async () => {
    await call("DELETE", place.directory)
    reload()
  }
  const isEnabled = data?.enabled === true
  const buttons = html`<span class="row">
    <${ActionButton} name=${isEnabled ? "Replace the token" : "Create a token"} confirm=${isEnabled ? "Replace" : "Create"} explain=${isEnabled ? "The directory cannot use the former token any more." : "The directory uses it to add, change and disable people and teams."} act=${create} />
    ${isEnabled && html`<${ActionButton} name="End" title="End the token of the directory?" tone="danger" explain="People and teams stay as they are." act=${end} />`}
  </span>`
  return html`<${Card} title="Directory (SCIM)" actions=${data !== undefined && buttons}>
    <${ErrorBox} error=${error} retry=${reload} />
    ${
      data !== undefined &&
      (data.enabled
        ? html`<p>Enabled since ${data.madeAt !== undefined && html`<${Time} at=${data.madeAt} />`}; last request: ${data.lastUsedAt === undefined ? "none yet" : html`<${Time} at=${data.lastUsedAt} />`}.</p>`
        : html`<${Empty} title="No directory">Create a token for Microsoft Entra ID, Okta or another directory: <a href=${new URL("docs/how-to/scim", base).href}>how to connect it</a>.<//>`)
    }
  <//>`
}
