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
  return html`<span class="identifier"><code class="wrap">${id}</code><button type="button" class="copy" aria-label=${isCopied ? `Copied ${id}` : `Copy ${id}`} title="Copy" onClick=${copy}>${isCopied ? "✓" : "⧉"}</button></span>`
}

/** The name of an entry, if it has one, and its id. */
export const Named = ({ id, name }: { readonly id: string; readonly name: string | undefined }) =>
  name === undefined
    ? html`<${Identifier} id=${id} />`
    : html`<strong>${name}</strong> <small class="soft"><${Identifier} id=${id} /></small>`
