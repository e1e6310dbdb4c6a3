/** Ids of entries with a button that copies them, and the names that people gave to entries. */
import { html } from "htm/preact"
import { useState } from "preact/hooks"

/** An id, to read and to copy. */
export const Identifier = ({ id }: { readonly id: string }) => {
  const [isCopied, setCopied] = useState(false)
  const copy = async () => {
    await navigator.clipboard.writeText(id)
    setCopied(true)
    setTimeout(() => setCopied(false), 2000)
  }
  return html`<span class="identifier"><code class="wrap">${id}</code><button type="button" class="copy" aria-label=${isCopied ? `Copied ${id}` : `Copy ${id}`} title="Copy" onClick=${copy}><${CopyIcon} isDone=${isCopied} /></button></span>`
}

const CopyIcon = ({ isDone }: { readonly isDone: boolean }) =>
  html`<svg viewBox="0 0 16 16" width="14" height="14" aria-hidden="true" fill="none" stroke="currentColor" stroke-width="1.5">
    ${isDone ? html`<path d="M3 8.5l3.5 3.5L13 4.5" />` : html`<rect x="5.5" y="5.5" width="8" height="8" rx="1.5" /><path d="M10.5 3.5v-.5a1 1 0 0 0-1-1H3.5a1 1 0 0 0-1 1v6a1 1 0 0 0 1 1H4" />`}
  </svg>`

/** The name of an entry, if it has one, and its id. */
export const Named = ({ id, name }: { readonly id: string; readonly name: string | undefined }) =>
  name === undefined
    ? html`<${Identifier} id=${id} />`
    : html`<strong>${name}</strong><br /><small class="soft"><${Identifier} id=${id} /></small>`
