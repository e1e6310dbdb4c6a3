/**
 * Timeouts: the times of each tier, the limits in force, the calls that another limit would have ended, and a profile to
 * copy.
 */

import { html } from "htm/preact"
import { useState } from "preact/hooks"
import type { TierTimesReply } from "../../protocol/control/admin.ts"
import { enoughForPercentiles, judge, profileOf } from "../../telemetry/timeouts/judge.ts"
import { storedObservation } from "../../telemetry/timeouts/observed.ts"
import { get } from "../api.ts"
import { count, millis } from "../format.ts"
import { useLoad } from "../load.ts"
import type { PageProps } from "../page.ts"
import { fromOf, RangePicker, rangeOf } from "../range.ts"
import { linkTo } from "../route.ts"
import { Distribution } from "../ui/distribution.ts"
import { CopyButton } from "../ui/form.ts"
import { Card, Empty, ErrorBox, Facts, Head, Loading } from "../ui/parts.ts"
import { useViewer } from "../viewer.ts"

type Row = TierTimesReply["data"][number]

export const Page = ({ query }: PageProps) => {
  const range = rangeOf(query, "7d")
  const { data, error, reload } = useLoad(range, (signal) =>
    get<TierTimesReply>("v1/admin/tier-times", { from: fromOf(range) }, signal),
  )
  const rows = [...(data?.data ?? [])].sort(
    (a, b) =>
      a.vendor.localeCompare(b.vendor) ||
      a.model.localeCompare(b.model) ||
      order.indexOf(a.tier) - order.indexOf(b.tier),
  )
  return html`
    <${Head} title="Timeouts"><${RangePicker} range=${range} /><//>
    <${ErrorBox} error=${error} retry=${reload} />
    ${data === undefined && !error && html`<${Loading} />`}
    ${
      data !== undefined &&
      (rows.length === 0
        ? html`<${Card}><${Empty} title="No call has been observed in this time">
            Timeouts are suggested from observed calls: <a href=${linkTo(["playground"])}>make some</a>, or choose a longer range.
          <//><//>`
        : html`<${Profile} rows=${rows} />
            <div class="cards">${rows.map((row) => html`<${Tier} key=${`${row.vendor} ${row.model} ${row.tier}`} row=${row} />`)}</div>`)
    }
  `
}

const Profile = ({ rows }: { readonly rows: ReadonlyArray<Row> }) => {
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

const order = ["connect", "ttfb", "idle", "total"]
const tierNames = { connect: "Connect", ttfb: "First frame", idle: "Longest pause", total: "Total" } as const
const leastMs = 1
const mostMs = 3_600_000

const Tier = ({ row }: { readonly row: Row }) => {
  const observed = storedObservation(row)
  const within = (ms: number | undefined) => {
    if (ms !== undefined) return millis(ms)
    return judged.calls < enoughForPercentiles ? "too few calls" : "beyond the limit"
  }
  const [candidate, setCandidate] = useState(row.limitMs)
  const judged = judge(observed, candidate)
  const { calls, suggestedMs, candidate: weighed } = judged
  const ended = Math.round((weighed?.share ?? 0) * calls)
  const position = Math.round((Math.log(candidate / leastMs) / Math.log(mostMs / leastMs)) * 1000)
  const move = ({ currentTarget }: { readonly currentTarget: HTMLInputElement }) =>
    setCandidate(Math.round(leastMs * (mostMs / leastMs) ** (Number(currentTarget.value) / 1000)))
  const title = `${tierNames[row.tier]}: ${row.vendor}, ${row.model}`
  const limits = Object.entries(row.limits)
  return html`<${Card} title=${title}>
    <${Distribution} title=${title} buckets=${observed.buckets} leastMs=${leastMs} mostMs=${mostMs} candidateMs=${candidate} limits=${limits} />
    <label>A limit of ${millis(candidate)} would have ended ${weighed?.isUpperBound ? "at most " : ""}${count(ended)} of ${count(calls)} calls
      <input type="range" min="0" max="1000" value=${position} onInput=${move} aria-valuetext=${millis(candidate)} />
    </label>
    <${Facts} facts=${[
      ["Half of the calls within", within(judged.p50)],
      ["99 % within", within(judged.p99)],
      ["99.9 % within", within(judged.p999)],
      ["Ended by the limit", `${count(row.ended)} of ${count(calls)}`],
      ["Source of the limit here", row.source],
      ...limits.map(([environment, ms]) => [`In force in ${environment}`, millis(ms)] as const),
      ["Suggested", suggestedMs === undefined ? "too few calls" : millis(suggestedMs)],
    ]} />
  <//>`
}
