/** The audit log: entries with filters, and the verification of its chain. */

import { html } from "htm/preact"
import { useState } from "preact/hooks"
import type { AuditEntries } from "../../protocol/control/activity.ts"
import type { AuditResponse } from "../../protocol/control/admin.ts"
import { get } from "../api.ts"
import { useOrganisationsOf } from "../choices.ts"
import { count } from "../format.ts"
import { useAction, usePages } from "../load.ts"
import type { PageProps } from "../page.ts"
import { setQuery } from "../route.ts"
import { Filters, type Values } from "../ui/form.ts"
import { Card, Empty, ErrorBox, Head, Tag } from "../ui/parts.ts"
import { PagedTable } from "../ui/table.ts"
import { Time } from "../ui/time.ts"
import { routeFor, useViewer } from "../viewer.ts"

type Entry = AuditEntries["data"][number]

export const Page = ({ query }: PageProps) => {
  const viewer = useViewer()
  const { action = "", actor = "", org = "" } = query
  const filter = { action, actor, ...(viewer.kind === "operator" && { org }) }
  const path = routeFor(viewer, "v1/admin/audit", "v1/audit")
  const pages = usePages(`audit ${JSON.stringify(filter)}`, (cursor, signal) =>
    get<AuditEntries>(path, { ...filter, cursor }, signal),
  )
  const organisations = useOrganisationsOf(viewer)
  const fields = [
    { name: "action", label: "Action begins with", value: action },
    { name: "actor", label: "Actor", value: actor },
    ...(viewer.kind === "operator"
      ? [{ name: "org", label: "Organisation", value: org, suggestions: organisations }]
      : []),
  ]
  return html`
    <${Head} title="Audit" />
    ${viewer.kind === "operator" && html`<${Verification} />`}
    <${Card} title="Entries">
      <${Filters} fields=${fields} apply=${(values: Values) => setQuery(values)} />
      <${PagedTable} caption="Audit entries" pages=${pages} empty=${html`<${Empty} title="No entries match">Remove a filter.<//>`} columns=${[
        { name: "Number", align: "right", show: ({ id }: Entry) => id },
        { name: "Time", align: "nowrap", show: ({ at }: Entry) => html`<${Time} at=${at} />` },
        { name: "Action", show: (entry: Entry) => html`<code>${entry.action}</code>` },
        {
          name: "Actor",
          show: (entry: Entry) =>
            html`<span class="wrap">${entry.actor} <small class="soft">${entry.actorType}</small></span>`,
        },
        { name: "Organisation", show: (entry: Entry) => entry.org ?? "–" },
        {
          name: "Detail",
          show: ({ detail }: Entry) => html`<span class="small detail">${detailText(detail)}</span>`,
        },
      ]} />
    <//>
  `
}

/** The members of a detail, each with its value. */
const detailText = (detail: Entry["detail"]): string =>
  typeof detail === "object" && detail !== null
    ? Object.entries(detail)
        .map(([name, value]) => `${name} ${typeof value === "string" ? value : JSON.stringify(value)}`)
        .join(", ")
    : JSON.stringify(detail)

/** Verifies the chain part by part, and shows its progress. */
const Verification = () => {
  const [state, setState] = useState<AuditResponse>()
  const { run, isRunning, error } = useAction(async () => {
    let cursor: string | undefined
    do {
      const part = await get<AuditResponse>("v1/admin/audit/verify", { limit: "20000", cursor })
      setState(part)
      cursor = part.nextCursor ?? undefined
    } while (cursor !== undefined)
  })
  return html`<${Card} title="Chain" actions=${html`<button type="button" class="quiet" disabled=${isRunning} onClick=${() => run()}>${isRunning ? "Verifying…" : "Verify"}</button>`}>
    <${ErrorBox} error=${error} />
    ${
      state === undefined
        ? html`<p class="soft">Each entry has the hash of the one before. Verify that none is missing or was changed.</p>`
        : html`<p role="status">${count(state.entries)} of ${count(state.of)} entries are valid.
            ${state.broken === undefined ? !isRunning && html`<${Tag} tone="good">whole<//>` : html`<${Tag} tone="bad">breaks at entry ${state.broken}<//>`}
            Newest hash <code class="wrap">${state.head.slice(0, 16)}</code>.</p>`
    }
  <//>`
}
