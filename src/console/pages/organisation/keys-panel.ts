/** Keys of an organisation's applications: mint (with examples to copy) and revoke. */

import { html } from "htm/preact"
import type { KeyList, KeyMinted } from "../../../protocol/control/admin-directory.ts"
import { base, call, get } from "../../api.ts"
import type { Choices } from "../../choices.ts"
import { usePages } from "../../load.ts"
import { ActionButton, CopyButton, Secret, type Values } from "../../ui/form.ts"
import { Card, Empty } from "../../ui/parts.ts"
import { PagedTable } from "../../ui/table.ts"
import { keyActs, keyColumns } from "./key-columns.ts"
import { useKeyLimits } from "./key-limits.ts"
import type { TenantPlace } from "./tenant-urls.ts"

export const KeysPanel = ({ place, apps }: { readonly place: TenantPlace; readonly apps: Choices }) => {
  const pages = usePages(`keys ${place.org}`, (cursor, signal) =>
    get<KeyList>(place.keys, { ...place.query, cursor }, signal),
  )
  const limits = useKeyLimits(() => place.budgets, [place.org])
  const mint = async ({ app = "", name = "", expiresAt = "" }: Values) => {
    const { keyId, key } = await call<KeyMinted>("POST", place.keys, {
      body: { app, ...(name !== "" && { name }), ...(expiresAt !== "" && { expiresAt }) },
    })
    pages.reload()
    return html`<${Secret} title="The key ${keyId}" secret=${key}><${ReadyLines} keyId=${keyId} secret=${key} /><//>`
  }
  const button =
    apps.length > 0 &&
    html`<${ActionButton} name="Create a key" confirm="Create" act=${mint} fields=${[
      { name: "app", label: "Application", options: apps },
      { name: "name", label: "Name", isOptional: true, hint: "The program or the place that uses it." },
      { name: "expiresAt", label: "Expires on", type: "date", isOptional: true },
    ]} />`
  return html`<${Card} title="Keys" actions=${button}>
    <${PagedTable} caption="Keys" pages=${pages} empty=${html`<${Empty} title="No keys yet">${apps.length === 0 ? "Create an application first." : "Create one: applications call the gateway with it."}<//>`} columns=${[
      keyColumns.key,
      keyColumns.application,
      keyColumns.status,
      keyColumns.created,
      keyColumns.lastUsed,
      limits,
      keyColumns.actions(keyActs(place.keys, pages.reload)),
    ]} />
  <//>`
}

/** An example call for each kind of client. */
export const ReadyLines = ({ keyId, secret }: { readonly keyId: string; readonly secret: string }) => {
  const address = base.href.replace(/\/$/, "")
  const pair = `${keyId}~${secret}`
  const lines = [
    ["twp/1", `SVC_BASE_URL=${address} SVC_KEY_ID=${keyId} SVC_KEY=${secret}`],
    ["OpenAI clients", `OPENAI_BASE_URL=${address}/openai/v1 OPENAI_API_KEY=${pair}`],
    ["Anthropic clients", `ANTHROPIC_BASE_URL=${address}/anthropic ANTHROPIC_API_KEY=${pair}`],
    ["Gemini clients", `GOOGLE_GEMINI_BASE_URL=${address}/gemini GEMINI_API_KEY=${pair}`],
  ]
  return html`${lines.map(
    ([name, line]) =>
      html`<div><div class="head"><h3>${name}</h3><${CopyButton} text=${line} /></div><pre class="note" tabindex="0">${line}</pre></div>`,
  )}`
}
