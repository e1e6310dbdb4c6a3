/** A histogram of durations on a logarithmic axis, with limits. */
import { html } from "htm/preact"
import type { Bucket } from "../../telemetry/buckets.ts"
import { count, millis } from "../format.ts"

interface Props {
  readonly title: string
  readonly buckets: ReadonlyArray<Bucket>
  readonly leastMs: number
  readonly mostMs: number
  readonly candidateMs: number
  readonly limits: ReadonlyArray<readonly [name: string, ms: number]>
}

const width = 560
const height = 150
const floor = 120
const ticks = [1, 10, 100, 1000, 10_000, 60_000, 600_000]

export const Distribution = ({ title, buckets, leastMs, mostMs, candidateMs, limits }: Props) => {
  const x = (ms: number) =>
    (Math.log(Math.min(mostMs, Math.max(leastMs, ms)) / leastMs) / Math.log(mostMs / leastMs)) * (width - 20) + 10
  const most = Math.max(1, ...buckets.map((bucket) => bucket.count))
  const told = buckets.map((bucket) => `${count(bucket.count)} within ${millis(bucket.upToMs)}`).join(", ")
  return html`<div class="chart">
    <svg viewBox="0 0 ${width} ${height}" role="img" aria-label="${title}: ${told}">
      ${ticks.map((ms) => html`<g class="soft"><line x1=${x(ms)} x2=${x(ms)} y1="4" y2=${floor} stroke="var(--line)" /><text x=${x(ms)} y=${height - 14} text-anchor=${ms === leastMs ? "start" : ms === mostMs ? "end" : "middle"}>${millis(ms)}</text></g>`)}
      ${buckets.map(({ fromMs, upToMs, count }) => {
        const begin = x(fromMs)
        const size = (count / most) * (floor - 10)
        return html`<rect x=${begin} y=${floor - size} width=${Math.max(2, x(upToMs) - begin - 1)} height=${size} fill=${upToMs > candidateMs ? "var(--bad)" : "var(--accent)"} />`
      })}
      ${limits.map(([name, ms]) => html`<g><line x1=${x(ms)} x2=${x(ms)} y1="4" y2=${floor} stroke="var(--warn)" stroke-width="2" stroke-dasharray="4 3" /><title>In force in ${name}: ${millis(ms)}</title></g>`)}
      <line x1=${x(candidateMs)} x2=${x(candidateMs)} y1="0" y2=${floor} stroke="var(--ink)" stroke-width="2" />
      <line x1="10" x2=${width - 10} y1=${floor} y2=${floor} stroke="var(--field)" />
    </svg>
  </div>`
}
