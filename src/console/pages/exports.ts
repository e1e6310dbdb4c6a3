/** Exports: the progress of each with its records, and the reason of a failure. */

import { html } from "htm/preact"
import type { ExportEntry, ExportList, ExportProgress } from "../../protocol/control/export.ts"
import { get } from "../api.ts"
import { useLoad } from "../load.ts"
import { linkTo } from "../route.ts"
import { Card, Empty, ErrorBox, Head, Loading, Tag } from "../ui/parts.ts"
import { Table } from "../ui/table.ts"
import { Time } from "../ui/time.ts"

const everyMs = 3000

interface Line extends ExportProgress {
  readonly entry: ExportEntry
}

export const Page = () => {
  const { data, error, reload } = useLoad(
    "exports",
    (signal) => get<ExportList>("v1/admin/exports", {}, signal),
    everyMs,
  )
  const lines = data?.exports.flatMap((entry) => entry.progress.map((progress): Line => ({ entry, ...progress })))
  return html`
    <${Head} title="Exports" />
    <${Card} title="Exports">
      <${ErrorBox} error=${error} retry=${reload} />
      ${
        lines === undefined
          ? error === undefined && html`<${Loading} />`
          : html`<${Table} caption="Exports" rows=${lines} empty=${html`<${Empty} title="No exports yet">Add them to the <a href=${linkTo(["catalogue"])}>catalogue</a>, under <code>exports</code>.<//>`} columns=${columns} />`
      }
    <//>
  `
}

const columns = [
  { name: "Export", show: ({ entry }: Line) => html`<code class="wrap">${entry.id}</code>` },
  { name: "To", show: ({ entry }: Line) => html`<code class="wrap">${entry.to}</code>` },
  { name: "Format", show: ({ entry }: Line) => entry.format },
  { name: "Records", show: ({ records }: Line) => records },
  { name: "Shard", show: ({ shard }: Line) => shard },
  {
    name: "Exported until",
    align: "nowrap" as const,
    show: ({ exportedUntil }: Line) => html`<${Time} at=${exportedUntil} />`,
  },
  { name: "Behind", align: "right" as const, show: ({ lagSeconds }: Line) => `${Math.round(lagSeconds)} s` },
  {
    name: "Failures",
    align: "right" as const,
    show: ({ failures }: Line) => (failures === 0 ? 0 : html`<${Tag} tone="bad">${failures}<//>`),
  },
  { name: "Problem", show: ({ problem }: Line) => problem },
]
