/** One tier of one target: its times as a histogram, and the calls that another limit would have ended. */
import { html } from "htm/preact"
import { useState } from "preact/hooks"
import type { TierTimesReply } from "../../../protocol/control/admin.ts"
import { enoughForPercentiles, judge } from "../../../telemetry/timeouts/judge.ts"
import { storedObservation } from "../../../telemetry/timeouts/observed.ts"
import { count, millis } from "../../format.ts"
import { Distribution } from "../../ui/distribution.ts"
import { Card, Facts } from "../../ui/parts.ts"

export type TierTimes = TierTimesReply["data"][number]

export const tierNames = { connect: "Connect", ttfb: "First frame", idle: "Longest pause", total: "Total" } as const

const leastMs = 1
const mostMs = 3_600_000

export const TierCard = ({ row, close }: { readonly row: TierTimes; readonly close: () => void }) => {
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
  return html`<${Card} title=${title} actions=${html`<button type="button" class="quiet" onClick=${close}>Close</button>`}>
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
