/** Batches of an organisation's clients, for operators: whose they are and how far they are, without requests and answers, and their end. */
import { html } from "htm/preact"
import type { ClientBatchEntry } from "../../../protocol/control/client-batch.ts"
import { call, get } from "../../api.ts"
import { type Page, usePages } from "../../load.ts"
import { ActionButton } from "../../ui/form.ts"
import { Card, Empty } from "../../ui/parts.ts"
import { PagedTable } from "../../ui/table.ts"
import { Time } from "../../ui/time.ts"
import { ownerCell } from "./erase-buttons.ts"
import { oneOf } from "./tenant-urls.ts"

export const BatchesPanel = ({ org }: { readonly org: string }) => {
  const path = `v1/admin/orgs/${encodeURIComponent(org)}/batches`
  const pages = usePages(`batches ${org}`, (cursor, signal) =>
    get<Page<ClientBatchEntry>>(path, { limit: "20", cursor }, signal),
  )
  const cancel = (id: string) => async () => {
    await call("POST", `${oneOf(path, id)}/cancel`)
    pages.reload()
  }
  return html`<${Card} title="Batches">
    <p class="soft">Batches that clients have made. Their requests and answers are not shown to anyone but their owner.</p>
    <${PagedTable} caption="Batches" pages=${pages} empty=${html`<${Empty} title="No batches">Those that clients make are listed here.<//>`} columns=${[
      { name: "Id", show: ({ id }: ClientBatchEntry) => html`<code class="wrap">${id}</code>` },
      { name: "State", show: ({ state }: ClientBatchEntry) => state.replace("_", " ") },
      { name: "Owner", show: ownerCell },
      { name: "Requests", align: "right", show: ({ requests }: ClientBatchEntry) => requests },
      { name: "Succeeded", align: "right", show: ({ succeeded }: ClientBatchEntry) => succeeded },
      { name: "Failed", align: "right", show: (row: ClientBatchEntry) => row.errored + row.cancelled + row.expired },
      { name: "Held at first", align: "right", show: ({ held, currency }: ClientBatchEntry) => `${held} ${currency}` },
      { name: "Cost", align: "right", show: ({ cost, currency }: ClientBatchEntry) => `${cost} ${currency}` },
      {
        name: "Created",
        align: "nowrap",
        show: ({ createdAt }: ClientBatchEntry) => html`<${Time} at=${createdAt} />`,
      },
      {
        name: "Actions",
        show: ({ id, state }: ClientBatchEntry) =>
          state === "in_progress"
            ? html`<${ActionButton} name="Cancel" title="Cancel ${id}?" confirm="Cancel the batch" tone="danger" explain=${explain} act=${cancel(id)} />`
            : "",
      },
    ]} />
  <//>`
}

const explain = "Nothing more of it is begun, and what is left of its money goes back. This is audited."
