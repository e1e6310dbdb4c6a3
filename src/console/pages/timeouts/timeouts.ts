/**
 * Timeouts: a table of the times of each tier at each target, with the limit in force and its source; the card of a row
 * weighs another limit. A profile to copy.
 */

import { html } from "htm/preact"
import { useState } from "preact/hooks"
import type { TierTimesReply } from "../../../protocol/control/admin.ts"
import { enoughForPercentiles, type Judged, judge, profileOf } from "../../../telemetry/timeouts/judge.ts"
import { storedObservation } from "../../../telemetry/timeouts/observed.ts"
import { get } from "../../api.ts"
import { count, millis, share } from "../../format.ts"
import { useLoad } from "../../load.ts"
import type { PageProps } from "../../page.ts"
import { fromOf, RangePicker, rangeOf } from "../../range.ts"
import { linkTo, setQuery } from "../../route.ts"
import { CopyButton, Filters, type Values } from "../../ui/form.ts"
import { Card, Empty, ErrorBox, Head, Loading, Tag } from "../../ui/parts.ts"
import { SortableTable } from "../../ui/sortable-table.ts"
import { useViewer } from "../../viewer.ts"
import { TierCard, type TierTimes, tierNames } from "./tier-card.ts"
import { rowsOf, type TierRow } from "./tier-rows.ts"

export const Page = ({ query }: PageProps) => {
  const range = rangeOf(query, "7d")
  const { data, error, reload } = useLoad(range, (signal) =>
    get<TierTimesReply>("v1/admin/tier-times", { from: fromOf(range) }, signal),
  )
  const times = data?.data ?? []
  return html`
    <${Head} title="Timeouts"><${RangePicker} range=${range} /><//>
    <${ErrorBox} error=${error} retry=${reload} />
    ${data === undefined && !error && html`<${Loading} />`}
    ${
      data !== undefined &&
      (times.length === 0
        ? html`<${Card}><${Empty} title="No calls were observed in this time">
            Timeouts are suggested from observed calls: <a href=${linkTo(["playground"])}>make some</a>, or choose a longer range.
          <//><//>`
        : html`<${Tiers} times=${times} query=${query} /><${Profile} rows=${times} />`)
    }
  `
}

const Tiers = ({ times, query }: { readonly times: ReadonlyArray<TierTimes> } & Pick<PageProps, "query">) => {
  const { vendor = "", tier = "" } = query
  const [chosen, setChosen] = useState<string>()
  const rows = rowsOf(times).filter(
    (row) => (vendor === "" || row.vendor === vendor) && (tier === "" || row.tier === tier),
  )
  const vendors = [...new Set(times.map((row) => row.vendor))].sort()
  const open = rows.find(({ key }) => key === chosen)
  return html`
    ${open !== undefined && html`<${TierCard} key=${open.key} row=${open.times} close=${() => setChosen(undefined)} />`}
    <${Card} title="Times by tier and target">
      <${Filters} apply=${(values: Values) => setQuery(values)} fields=${[
        {
          name: "vendor",
          label: "Vendor",
          value: vendor,
          options: [["", "all"], ...vendors.map((each) => [each, each] as const)],
        },
        { name: "tier", label: "Tier", value: tier, options: [["", "all"], ...Object.entries(tierNames)] },
      ]} />
      <${SortableTable} caption="Times by tier and target" rows=${rows} empty=${html`<${Empty} title="No calls match">Remove a filter.<//>`} columns=${[
        {
          name: "Tier",
          show: ({ key, tier }: TierRow) =>
            html`<button type="button" class="link" aria-pressed=${key === chosen} onClick=${() => setChosen(key === chosen ? undefined : key)}>${tierNames[tier]}</button>`,
          sortBy: ({ tier }: TierRow) => Object.keys(tierNames).indexOf(tier),
        },
        {
          name: "Target",
          show: ({ vendor, models }: TierRow) =>
            html`<span class="wrap">${vendor} <span class="soft">${models.join(", ")}</span></span>`,
          sortBy: ({ vendor, models }: TierRow) => `${vendor} ${models.join()}`,
        },
        {
          name: "Calls",
          align: "right",
          show: ({ judged }: TierRow) => count(judged.calls),
          sortBy: ({ judged }: TierRow) => judged.calls,
        },
        {
          name: "p50",
          align: "right",
          show: ({ judged }: TierRow) => within(judged, judged.p50),
          sortBy: ({ judged }: TierRow) => judged.p50 ?? Number.NaN,
        },
        {
          name: "p99",
          align: "right",
          show: ({ judged }: TierRow) => within(judged, judged.p99),
          sortBy: ({ judged }: TierRow) => judged.p99 ?? Number.NaN,
        },
        {
          name: "Limit",
          align: "right",
          show: ({ times }: TierRow) => millis(times.limitMs),
          sortBy: ({ times }: TierRow) => times.limitMs,
        },
        { name: "Source", show: ({ times }: TierRow) => times.source, sortBy: ({ times }: TierRow) => times.source },
        {
          name: "Ended by the limit",
          align: "right",
          show: ({ times, judged }: TierRow) =>
            times.ended === 0
              ? "0"
              : html`<${Tag} tone="bad">${count(times.ended)} (${share(times.ended, judged.calls)})<//>`,
          sortBy: ({ times }: TierRow) => times.ended,
        },
        {
          name: "Suggested",
          align: "right",
          show: ({ judged }: TierRow) => (judged.suggestedMs === undefined ? "–" : millis(judged.suggestedMs)),
          sortBy: ({ judged }: TierRow) => judged.suggestedMs ?? Number.NaN,
        },
      ]} />
      <p class="soft small">Choose a tier to weigh another limit. Percentiles need 20 calls, suggestions 200. Connecting does not depend on the model: its rows are by vendor.</p>
    <//>`
}

const within = ({ calls, limitMs }: Judged, ms: number | undefined): string => {
  if (ms === undefined) return calls < enoughForPercentiles || limitMs === undefined ? "–" : `> ${millis(limitMs)}`
  return limitMs !== undefined && ms >= limitMs ? `≥ ${millis(limitMs)}` : millis(ms)
}

const Profile = ({ rows }: { readonly rows: ReadonlyArray<TierTimes> }) => {
  const { environment } = useViewer()
  const profile = Object.entries(profileOf(rows.map((row) => judge(storedObservation(row)))))
  const yaml = `timeouts:\n  ${environment}: { ${profile.map(([tier, ms]) => `${tier}: ${ms}ms`).join(", ")} }\n`
  return html`<${Card} title="Suggested profile" actions=${profile.length > 0 && html`<${CopyButton} text=${yaml} />`}>
    ${
      profile.length === 0
        ? html`<p class="soft">At least 200 calls of a tier are needed for a suggestion.</p>`
        : html`<pre class="note" tabindex="0">${yaml}</pre>
            <p class="soft small">For each tier, the longest suggestion of any target: 1.5 times the time within which 99.9 % of its calls ended.</p>`
    }
  <//>`
}
