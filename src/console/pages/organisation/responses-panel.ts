/** Responses that an organisation keeps, for operators: whose they are and how large, without content, and their erasure. */
import { html } from "htm/preact"
import type { KeptResponseEntry } from "../../../protocol/control/kept-response.ts"
import { get } from "../../api.ts"
import { bytes } from "../../format.ts"
import { type Page, usePages } from "../../load.ts"
import { ActionButton } from "../../ui/form.ts"
import { Card, Empty } from "../../ui/parts.ts"
import { PagedTable } from "../../ui/table.ts"
import { Time } from "../../ui/time.ts"
import { EraseButtons, eraseAt, ownerCell } from "./erase-buttons.ts"
import { oneOf } from "./tenant-urls.ts"

export const ResponsesPanel = ({
  org,
  kept,
}: {
  readonly org: string
  /** The time for which they are kept, e.g. `30d`; absent if none is. */
  readonly kept?: string | undefined
}) => {
  const path = `v1/admin/orgs/${encodeURIComponent(org)}/responses`
  const pages = usePages(`responses ${org}`, (cursor, signal) =>
    get<Page<KeptResponseEntry>>(path, { limit: "20", cursor }, signal),
  )
  const erase = eraseAt(pages.reload)
  const buttons = html`<${EraseButtons} org=${org} things="responses and conversations" names=${{ some: "Erase some", all: "Erase all" }} explain=${explain} erase=${erase(path)} />`
  const setting = kept === undefined ? "None is kept: keeps.responses is not set." : `Kept for ${kept}, sealed.`
  return html`<${Card} title="Kept responses" actions=${buttons}>
    <p class="soft">${setting} Their content is not shown to anyone but their owner.</p>
    <${PagedTable} caption="Kept responses" pages=${pages} empty=${html`<${Empty} title="No kept responses">Those of calls with store, and conversations, are listed here.<//>`} columns=${[
      { name: "Id", show: ({ id }: KeptResponseEntry) => html`<code class="wrap">${id}</code>` },
      { name: "Model", show: ({ model = "" }: KeptResponseEntry) => model },
      { name: "State", show: ({ kind, state }: KeptResponseEntry) => (state ?? kind).replace("_", " ") },
      { name: "Owner", show: ownerCell },
      { name: "Size", align: "right", show: (row: KeptResponseEntry) => bytes(row.bytes) },
      {
        name: "Created",
        align: "nowrap",
        show: ({ createdAt }: KeptResponseEntry) => html`<${Time} at=${createdAt} />`,
      },
      { name: "Erased", align: "nowrap", show: ({ eraseAt }: KeptResponseEntry) => html`<${Time} at=${eraseAt} />` },
      {
        name: "Actions",
        show: ({ id }: KeptResponseEntry) =>
          html`<${ActionButton} name="Erase" title="Erase ${id}?" tone="danger" explain=${explain} act=${erase(oneOf(path, id))} />`,
      },
    ]} />
  <//>`
}

const explain = "Threads with an erased response cannot be continued. This cannot be undone, and is audited."
