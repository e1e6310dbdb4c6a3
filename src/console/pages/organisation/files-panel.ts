/** Files that an organisation's clients keep, for operators: whose they are and how large, without names and content, and their erasure. */
import { html } from "htm/preact"
import type { ClientFileEntry } from "../../../protocol/control/client-file.ts"
import { get } from "../../api.ts"
import { bytes } from "../../format.ts"
import { type Page, usePages } from "../../load.ts"
import { ActionButton } from "../../ui/form.ts"
import { Card, Empty } from "../../ui/parts.ts"
import { PagedTable } from "../../ui/table.ts"
import { Time } from "../../ui/time.ts"
import { EraseButtons, eraseAt, ownerCell } from "./erase-buttons.ts"
import { oneOf } from "./tenant-urls.ts"

export const FilesPanel = ({ org }: { readonly org: string }) => {
  const path = `v1/admin/orgs/${encodeURIComponent(org)}/files`
  const pages = usePages(`files ${org}`, (cursor, signal) =>
    get<Page<ClientFileEntry>>(path, { limit: "20", cursor }, signal),
  )
  const erase = eraseAt(pages.reload)
  const buttons = html`<${EraseButtons} org=${org} things="files" names=${{ some: "Erase some files", all: "Erase all files" }} explain=${explain} erase=${erase(path)} />`
  return html`<${Card} title="Files" actions=${buttons}>
    <p class="soft">Files that clients keep here, sealed. Their names and content are not shown to anyone but their owner.</p>
    <${PagedTable} caption="Files" pages=${pages} empty=${html`<${Empty} title="No files">Those that clients upload are listed here.<//>`} columns=${[
      { name: "Id", show: ({ id }: ClientFileEntry) => html`<code class="wrap">${id}</code>` },
      { name: "Purpose", show: ({ purpose }: ClientFileEntry) => purpose },
      { name: "Owner", show: ownerCell },
      { name: "Size", align: "right", show: (row: ClientFileEntry) => bytes(row.bytes) },
      {
        name: "Created",
        align: "nowrap",
        show: ({ createdAt }: ClientFileEntry) => html`<${Time} at=${createdAt} />`,
      },
      {
        name: "Erased",
        align: "nowrap",
        show: ({ eraseAt }: ClientFileEntry) =>
          eraseAt === undefined ? "by its client" : html`<${Time} at=${eraseAt} />`,
      },
      {
        name: "Actions",
        show: ({ id }: ClientFileEntry) =>
          html`<${ActionButton} name="Erase" title="Erase ${id}?" tone="danger" explain=${explain} act=${erase(oneOf(path, id))} />`,
      },
    ]} />
  <//>`
}

const explain = "Clients get 404 at once; the content is removed within minutes. This cannot be undone, and is audited."
