/**
 * Settings: one layer with its locks, the effective settings, writes that shadow locks would have denied, and a key's
 * history.
 */

import { html } from "htm/preact"
import { useState } from "preact/hooks"
import type { ConfigRevision, SettingRow, SettingsPreview } from "../../protocol/control/settings.ts"
import { call, get } from "../api.ts"
import { instant } from "../format.ts"
import { useLoad } from "../load.ts"
import type { PageProps } from "../page.ts"
import { setQuery } from "../route.ts"
import { ActionButton, Filters, type Values } from "../ui/form.ts"
import { Card, Empty, ErrorBox, Head, Segments, Tag } from "../ui/parts.ts"
import { Table } from "../ui/table.ts"
import { Time } from "../ui/time.ts"
import { mayManage, useViewer, type Viewer } from "../viewer.ts"

type Revisions = { readonly data: ReadonlyArray<ConfigRevision> }
type Rows = { readonly data: ReadonlyArray<SettingRow> }

const scopesFor = (viewer: Viewer): ReadonlyArray<readonly [string, string]> => {
  if (viewer.kind === "operator") return [["platform", "Platform"]]
  const user = ["user", "Yours"] as const
  return mayManage(viewer) ? [["org", "Organisation"], ["team", "Team"], user] : [user]
}

export const Page = ({ query }: PageProps) => {
  const viewer = useViewer()
  const scopes = scopesFor(viewer)
  const scope = scopes.find(([name]) => name === query["scope"])?.[0] ?? scopes[0]?.[0] ?? "user"
  return html`
    <${Head} title="Settings">${scopes.length > 1 && html`<${Segments} label="Layer" options=${scopes} value=${scope} choose=${(value: string) => setQuery({ scope: value })} />`}<//>
    ${scope === "team" && html`<${Card}><${Filters} fields=${[{ name: "team", label: "Team's id", value: query["team"] ?? "" }]} apply=${(values: Values) => setQuery(values)} /><//>`}
    ${(scope !== "team" || query["team"]) && html`<${Layer} key=${`${scope} ${query["team"]}`} scope=${scope} team=${query["team"]} />`}
    ${viewer.kind === "person" && html`<${Preview} />`}
  `
}

const Layer = ({ scope, team }: { readonly scope: string; readonly team: string | undefined }) => {
  const [shown, setShown] = useState<string>()
  const path = `v1/config/${scope}`
  const where = { team: scope === "team" ? team : undefined }
  const { data, error, reload } = useLoad(`${scope} ${team}`, (signal) => get<Rows>(path, where, signal))
  const set = async ({ keyPath = "", value = "", lock = "", reason = "" }: Values) => {
    const known = data?.data.find((row) => row.keyPath === keyPath)
    const body = {
      value: parse(value),
      ...(lock !== "" && { lock: true, enforcement: lock }),
      ...(reason !== "" && { reason }),
    }
    const { wouldDeny } = await call<{ readonly wouldDeny: boolean }>("PUT", `${path}/${encodeURIComponent(keyPath)}`, {
      body,
      query: where,
      headers: { "if-match": String(known?.revision ?? 0) },
    })
    reload()
    return wouldDeny ? html`<p class="warn">A shadow lock of a higher layer would have denied this.</p>` : undefined
  }
  const remove =
    ({ keyPath, revision }: SettingRow) =>
    async () => {
      await call("DELETE", `${path}/${encodeURIComponent(keyPath)}`, {
        query: where,
        headers: { "if-match": String(revision) },
      })
      reload()
    }
  const fieldsOf = (row?: SettingRow) => [
    {
      name: "keyPath",
      label: "Key",
      value: row?.keyPath ?? "",
      hint: "Below site, or a path that the catalogue names in deliverableSettings.",
    },
    { name: "value", label: "Value, in JSON", value: row === undefined ? "" : JSON.stringify(row.value) },
    ...(scope === "user"
      ? []
      : [
          {
            name: "lock",
            label: "Lower layers",
            value: row?.lock ? row.enforcement : "",
            options: [
              ["", "may override it"],
              ["shadow", "may override it, recorded (shadow lock)"],
              ["enforce", "may not override it (lock)"],
            ] as const,
          },
        ]),
    { name: "reason", label: "Reason", isOptional: true },
  ]
  return html`<${Card} title=${layerNames[scope] ?? scope} actions=${html`<${ActionButton} name="Set a key" confirm="Set" act=${set} fields=${fieldsOf()} />`}>
    <${ErrorBox} error=${error} retry=${reload} />
    ${
      data !== undefined &&
      html`<${Table} caption="Settings of this layer" rows=${data.data} empty=${html`<${Empty} title="No settings yet">The settings of lower layers apply: of organisations, teams and people.<//>`} columns=${[
        { name: "Key", show: ({ keyPath }: SettingRow) => html`<code class="wrap">${keyPath}</code>` },
        { name: "Value", show: ({ value }: SettingRow) => html`<code class="wrap">${JSON.stringify(value)}</code>` },
        {
          name: "Lock",
          show: ({ lock, enforcement }: SettingRow) =>
            lock &&
            html`<${Tag} tone=${enforcement === "enforce" ? "bad" : "warn"}>${enforcement === "enforce" ? "locked" : "shadow lock"}<//>`,
        },
        { name: "Changed", align: "nowrap", show: ({ updatedAt }: SettingRow) => html`<${Time} at=${updatedAt} />` },
        {
          name: "Actions",
          show: (row: SettingRow) => html`<span class="row">
            <${ActionButton} name="Change" title="Change ${row.keyPath}" tone="quiet" confirm="Set" act=${set} fields=${fieldsOf(row)} />
            <button type="button" class="quiet" onClick=${() => setShown(row.keyPath)}>History</button>
            <${ActionButton} name="Remove" title="Remove ${row.keyPath}?" tone="danger" act=${remove(row)} />
          </span>`,
        },
      ]} />`
    }
    ${shown !== undefined && html`<${History} keyPath=${shown} scope=${scope} team=${where.team} />`}
  <//>`
}

const layerNames: Readonly<Record<string, string>> = {
  platform: "Platform settings",
  org: "Settings of the organisation",
  team: "Settings of the team",
  user: "Your settings",
}

/** JSON, or plain text. */
const parse = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

const History = ({
  keyPath,
  scope,
  team,
}: {
  readonly keyPath: string
  readonly scope: string
  readonly team: string | undefined
}) => {
  const { data, error, reload } = useLoad(`${keyPath} ${scope}`, (signal) =>
    scope === "platform"
      ? get<Revisions>("v1/admin/config-revisions", { keyPath }, signal)
      : get<Revisions>("v1/config-revisions", { keyPath, scope, team }, signal),
  )
  return html`<section aria-label="History of ${keyPath}">
    <h3>History of ${keyPath}</h3>
    <${ErrorBox} error=${error} retry=${reload} />
    <ol>${data?.data.map(
      ({ at, actorId, from, to, wouldDeny, reason }) => html`<li class="note">
        <span>${instant(at)}, ${actorId}: <code class="wrap">${JSON.stringify(from)}</code> → <code class="wrap">${JSON.stringify(to)}</code></span>
        ${wouldDeny && html`<${Tag} tone="warn">a shadow lock would have denied it<//>`}
        ${reason !== undefined && html`<span class="soft">${reason}</span>`}
      </li>`,
    )}</ol>
  </section>`
}

const Preview = () => {
  const viewer = useViewer()
  const [as, setAs] = useState("")
  const { data, error, reload } = useLoad(`preview ${as}`, (signal) =>
    get<SettingsPreview>("v1/config/effective", { as }, signal),
  )
  const { values = {}, origins = {}, locks = [], shadow = [] } = data?.settings ?? {}
  const rows = Object.entries(origins).map(([path, origin]) => ({ path, origin, value: valueAt(values, path) }))
  type Effective = (typeof rows)[number]
  return html`<${Card} title="Effective settings">
    ${mayManage(viewer) && html`<${Filters} fields=${[{ name: "as", label: "As", value: as, hint: "Empty for yourself; org, team:ID or member:ID." }]} apply=${(next: Values) => setAs(next["as"] ?? "")} />`}
    <${ErrorBox} error=${error} retry=${reload} />
    <${Table} caption="Effective settings" rows=${rows} empty=${html`<${Empty} title="No settings in any layer" />`} columns=${[
      { name: "Key", show: ({ path }: Effective) => html`<code class="wrap">${path}</code>` },
      { name: "Value", show: ({ value }: Effective) => html`<code class="wrap">${JSON.stringify(value)}</code>` },
      { name: "From", show: ({ origin }: Effective) => origin },
      {
        name: "Lock",
        show: ({ path }: Effective) =>
          locks.includes(path)
            ? html`<${Tag} tone="bad">locked<//>`
            : shadow.includes(path) && html`<${Tag} tone="warn">shadow lock<//>`,
      },
    ]} />
  <//>`
}

const valueAt = (values: Readonly<Record<string, unknown>>, path: string): unknown => {
  let value: unknown = values
  for (const name of path.split(".")) {
    value = typeof value === "object" && value !== null ? Reflect.get(value, name) : undefined
  }
  return value ?? values[path]
}
