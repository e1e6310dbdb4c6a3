/** Servers of tools: whether they can be reached, their tools with prices and calls, changes that wait, and a form to try one. */
import { html } from "htm/preact"
import type { TierTimesReply } from "../../../protocol/control/admin.ts"
import type {
  ChangedTools,
  ToolServerEntry,
  ToolServerList,
  ToolSummary,
} from "../../../protocol/control/tool-servers.ts"
import type { UsageSummary } from "../../../protocol/control/usage-summary.ts"
import { judge } from "../../../telemetry/timeouts/judge.ts"
import { storedObservation } from "../../../telemetry/timeouts/observed.ts"
import { priceText } from "../../../tools/price-text.ts"
import { call, get } from "../../api.ts"
import { count, millis, roundedMonies } from "../../format.ts"
import { useLoad } from "../../load.ts"
import { fromOf } from "../../range.ts"
import { linkTo } from "../../route.ts"
import { ActionButton } from "../../ui/form.ts"
import { Card, Empty, ErrorBox, Head, Loading, Tag } from "../../ui/parts.ts"
import { SortableTable } from "../../ui/sortable-table.ts"
import { Table } from "../../ui/table.ts"
import { CallerFields, useCaller } from "../playground/caller.ts"
import { ChangedToolsCard } from "./changed-tools.ts"
import { TryTool } from "./try-tool.ts"

interface ToolRow extends ToolSummary {
  readonly server: string
}

export const Page = () => {
  const { data, error, reload } = useLoad("tools", async (signal) => {
    // Asking the servers finds changes.
    const { servers } = await get<ToolServerList>("v1/admin/tool-servers", {}, signal)
    return { servers, ...(await get<ChangedTools>("v1/admin/changed-tools", {}, signal)) }
  })
  return html`
    <${Head} title="Tools"><a href=${linkTo(["catalogue"])}>Add or change servers</a><//>
    <${Card} title="Servers">
      <${ErrorBox} error=${error} retry=${reload} />
      ${
        data === undefined
          ? error === undefined && html`<${Loading} />`
          : html`<${Table} caption="Servers" rows=${data.servers} empty=${noServers} columns=${serverColumns(reload)} />`
      }
    <//>
    <${ChangedToolsCard} changes=${data?.changes ?? []} agreed=${reload} />
    ${data !== undefined && data.servers.length > 0 && html`<${ToolsCard} servers=${data.servers} />`}
  `
}

const noServers = html`<${Empty} title="No servers yet">Add <code>toolServers</code> to the <a href=${linkTo(["catalogue"])}>catalogue</a>.<//>`

const serverColumns = (reload: () => void) => [
  {
    name: "Server",
    show: ({ id, name }: ToolServerEntry) =>
      html`<a href=${linkTo(["exchanges"], { vendor: id, range: "7d" })}>${name ?? id}</a>${name !== undefined && html`<br /><code class="small">${id}</code>`}`,
  },
  { name: "Kind", show: ({ kind }: ToolServerEntry) => kindNames[kind] },
  { name: "Address", show: ({ address }: ToolServerEntry) => html`<code class="small wrap">${address}</code>` },
  { name: "Version", align: "nowrap" as const, show: ({ version = "" }: ToolServerEntry) => version },
  { name: "State", show: (entry: ToolServerEntry) => html`<${ServerState} entry=${entry} />` },
  {
    name: "Tools",
    align: "right" as const,
    show: ({ tools }: ToolServerEntry) => tools.filter(({ state }) => state === "offered").length,
  },
  {
    name: "Actions",
    show: ({ id }: ToolServerEntry) =>
      html`<${ActionButton} name="Read again" tone="quiet" title="Read the lists of ${id} again?" explain="The next caller at this node gets fresh lists." act=${async () => {
        await call("POST", `v1/admin/tool-servers/${encodeURIComponent(id)}/forget`)
        reload()
      }} />`,
  },
]

const kindNames = { url: "remote", command: "process", openapi: "HTTP API" } as const

const ServerState = ({ entry: { isReachable, problem, missingSecrets } }: { readonly entry: ToolServerEntry }) =>
  html`<${Tag} tone=${isReachable ? "good" : "bad"}>${isReachable ? "reachable" : "not reachable"}<//>
    ${problem !== undefined && html`<br /><small class="wrap">${problem}</small>`}
    ${missingSecrets.length > 0 && html`<br /><small class="wrap">Without the secret of ${missingSecrets.join(", ")}</small>`}`

const ToolsCard = ({ servers }: { readonly servers: ReadonlyArray<ToolServerEntry> }) => {
  const from = fromOf("7d")
  const usage = useLoad("usage of tools", (signal) =>
    get<UsageSummary>("v1/admin/usage-summary", { from, by: "model" }, signal),
  )
  const times = useLoad("times of tools", (signal) => get<TierTimesReply>("v1/admin/tier-times", { from }, signal))
  const caller = useCaller()
  const rows = servers.flatMap(
    ({ id, tools }): ReadonlyArray<ToolRow> => tools.map((tool) => ({ ...tool, server: id })),
  )
  const used = new Map((usage.data?.groups ?? []).map((group) => [group.group, group]))
  const callsOf = ({ handle }: ToolRow) => used.get(handle)
  const timeOf = ({ server, handle }: ToolRow) => firstMessageOf(times.data?.data ?? [], server, handle)
  return html`<${Card} title="Tools">
    <div class="fields"><${CallerFields} caller=${caller} /></div>
    <${ErrorBox} error=${usage.error ?? times.error} retry=${usage.reload} />
    <${SortableTable} caption="Tools" rows=${rows} empty=${html`<${Empty} title="No tools yet">No server could be reached, or they have none.<//>`} columns=${[
      {
        name: "Tool",
        sortBy: ({ handle }: ToolRow) => handle,
        show: ({ handle }: ToolRow) =>
          html`<a class="wrap" href=${linkTo(["exchanges"], { model: handle, range: "7d" })}>${handle}</a>`,
      },
      {
        name: "State",
        sortBy: ({ state }: ToolRow) => state,
        show: ({ state }: ToolRow) => html`<${Tag} tone=${tones[state]}>${state.replace("_", " ")}<//>`,
      },
      {
        name: "Price, of a million",
        sortBy: ({ price }: ToolRow) => priceText(price),
        show: ({ price }: ToolRow) => html`<span class="wrap">${priceText(price)}</span>`,
      },
      {
        name: "Calls, 7 days",
        align: "right",
        sortBy: (row: ToolRow) => callsOf(row)?.exchanges ?? 0,
        show: (row: ToolRow) => count(callsOf(row)?.exchanges ?? 0),
      },
      {
        name: "Broken off",
        align: "right",
        sortBy: (row: ToolRow) => callsOf(row)?.interrupted ?? 0,
        show: (row: ToolRow) => count(callsOf(row)?.interrupted ?? 0),
      },
      {
        name: "Billed",
        align: "right",
        sortBy: (row: ToolRow) => roundedMonies(callsOf(row)?.cost ?? {}),
        show: (row: ToolRow) => roundedMonies(callsOf(row)?.cost ?? {}),
      },
      {
        name: "First message p50",
        align: "right",
        sortBy: (row: ToolRow) => timeOf(row) ?? Number.NaN,
        show: (row: ToolRow) => (timeOf(row) === undefined ? "too few calls" : millis(timeOf(row))),
      },
      {
        name: "Actions",
        sortBy: () => 0,
        show: (row: ToolRow) =>
          row.state === "offered" && html`<${TryTool} server=${row.server} tool=${row.name} caller=${caller} />`,
      },
    ]} />
  <//>`
}

const tones = { offered: "good", held_back: "warn", not_offered: "soft" } as const

/** The usual time until the first message of a tool. */
const firstMessageOf = (times: TierTimesReply["data"], server: string, handle: string): number | undefined =>
  times
    .filter((row) => row.tier === "ttfb" && row.vendor === server && row.model === handle)
    .map((row) => judge(storedObservation(row)).p50)
    .find((p50) => p50 !== undefined)
