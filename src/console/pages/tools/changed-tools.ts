/** Tools that are held back, because their definition has changed: the difference, and the button to agree. */
import { html } from "htm/preact"
import type { ChangedTool } from "../../../protocol/control/tool-servers.ts"
import { type DefinitionChange, definitionChanges, valueText } from "../../../tools/definition-changes.ts"
import { call } from "../../api.ts"
import { ActionButton } from "../../ui/form.ts"
import { Card } from "../../ui/parts.ts"
import { Table } from "../../ui/table.ts"
import { Time } from "../../ui/time.ts"

export const ChangedToolsCard = ({
  changes,
  agreed,
}: {
  readonly changes: ReadonlyArray<ChangedTool>
  readonly agreed: () => void
}) =>
  changes.length > 0 &&
  html`<${Card} title="Held back, until you agree">
    <p class="soft">A model does what the description of a tool says. Read each change as if a stranger had written it.</p>
    ${changes.map((change) => html`<${OneChange} key=${`${change.server} ${change.tool}`} change=${change} agreed=${agreed} />`)}
  <//>`

const OneChange = ({ change, agreed }: { readonly change: ChangedTool; readonly agreed: () => void }) => {
  const { server, tool, hash, changedAt } = change
  // The gateway agrees to the definition that is shown, and not to a later one.
  const agree = async () => {
    await call("POST", `v1/admin/tool-servers/${encodeURIComponent(server)}/agree`, {
      body: { tools: [{ tool, hash }] },
    })
    agreed()
  }
  return html`<div class="part">
    <div class="row">
      <h3 class="wrap">${server}: ${tool}</h3>
      <span class="soft small">changed <${Time} at=${changedAt} /></span>
      <${ActionButton} name="Agree" title="Agree to ${tool} of ${server}?" explain="Callers get the changed tool." act=${agree} />
    </div>
    <${Table} caption="Changes of ${tool} of ${server}" rows=${definitionChanges(change.agreed, change.changed)} empty=${html`<p class="soft">It is as it was.</p>`} columns=${[
      { name: "Member", show: ({ path }: DefinitionChange) => html`<code class="wrap">${path}</code>` },
      {
        name: "Agreed",
        show: ({ agreed }: DefinitionChange) => html`<span class="wrap bad">${valueText(agreed)}</span>`,
      },
      {
        name: "Changed",
        show: ({ changed }: DefinitionChange) => html`<span class="wrap good">${valueText(changed)}</span>`,
      },
    ]} />
  </div>`
}
