/** Formats observed tier times: a table, a chart on a logarithmic axis, and a profile for the catalogue. Pure. */

import { tiers } from "../../protocol/timeout-tiers.ts"
import { duration } from "../../protocol/values/duration.ts"
import { enoughCalls, enoughForPercentiles, type Judged, profileOf } from "../../telemetry/timeouts/judge.ts"
import { table } from "../table.ts"

export const describeTimeouts = (judged: ReadonlyArray<Judged>, env: string): string => {
  if (judged.length === 0) return "No upstream calls have been observed"
  const tries = judged.some(({ candidate }) => candidate !== undefined)
  const rows = judged.map((row) => [
    row.tier,
    row.vendor,
    row.model,
    String(row.calls),
    ...[row.p50, row.p90, row.p99, row.p999].map((ms) => beyond(ms, row)),
    row.max === undefined ? "" : `≤ ${duration(row.max)}`,
    row.limitMs === undefined ? "" : duration(row.limitMs),
    row.source ?? "",
    percent(row.timedOutShare),
    ...(tries ? [candidateOf(row)] : []),
    row.suggestedMs === undefined ? "" : duration(row.suggestedMs),
  ])
  const heads = ["tier", "vendor", "model", "calls", "p50", "p90", "p99", "p99.9", "max", "limit", "from", "timed out"]
  return [
    table([...heads, ...(tries ? ["would time out"] : []), "suggested"], rows),
    "",
    chart(judged),
    "",
    yaml(judged, env),
  ].join("\n")
}

const beyond = (ms: number | undefined, { calls, limitMs }: Judged): string => {
  if (ms !== undefined) return duration(ms)
  return calls < enoughForPercentiles || limitMs === undefined ? "" : `> ${duration(limitMs)}`
}

const candidateOf = ({ candidate }: Judged): string =>
  candidate === undefined
    ? ""
    : `${candidate.isUpperBound ? "≤ " : ""}${percent(candidate.share)} at ${duration(candidate.limitMs)}`

const percent = (share: number): string =>
  share === 0 ? "0" : share < 0.0001 ? "< 0.01%" : `${(share * 100).toFixed(2)}%`

const width = 60
const longestMs = 3_600_000
const place = (ms: number): number =>
  Math.round((Math.log10(Math.min(longestMs, Math.max(1, ms))) / Math.log10(longestMs)) * (width - 1))

const chart = (judged: ReadonlyArray<Judged>): string => {
  const named = judged.map((row) => `${row.tier} ${row.vendor} ${row.model}`)
  const margin = Math.max(...named.map((name) => name.length))
  const lines = judged.map((row, at) => `${(named[at] ?? "").padEnd(margin)}  ${bar(row)}`)
  const axis = [..." ".repeat(width)]
  for (const [ms, label] of [
    [1, "1ms"],
    [10, "10ms"],
    [100, "100ms"],
    [1000, "1s"],
    [10_000, "10s"],
    [100_000, "100s"],
    [1_000_000, "1000s"],
  ] as const) {
    axis.splice(place(ms), label.length, ...label)
  }
  const legend = "━ up to p90, ─ up to p99.9, ● p50, │ the timeout in force, ○ suggested"
  return [...lines, `${" ".repeat(margin)}  ${axis.join("").trimEnd()}`, `${" ".repeat(margin)}  ${legend}`].join("\n")
}

const bar = ({ p50, p90, p999, max, limitMs, suggestedMs }: Judged): string => {
  const cells = Array.from({ length: width }, () => " ")
  const draw = (from: number, to: number, mark: string) => {
    for (let at = place(from); at <= place(to); at++) cells[at] = mark
  }
  if (p50 !== undefined) {
    draw(p50, p999 ?? limitMs ?? max ?? p50, "─")
    draw(p50, p90 ?? p50, "━")
    cells[place(p50)] = "●"
  }
  if (suggestedMs !== undefined) cells[place(suggestedMs)] = "○"
  if (limitMs !== undefined) cells[place(limitMs)] = "│"
  return cells.join("").trimEnd()
}

const yaml = (judged: ReadonlyArray<Judged>, env: string): string => {
  const profile = profileOf(judged)
  const members = tiers.flatMap((tier) => {
    const ms = profile[tier]
    return ms === undefined ? [] : [`${tier}: ${duration(ms)}`]
  })
  if (members.length === 0) return `# Too few observations for a suggestion: ${enoughCalls} calls are required`
  const few = judged.filter(({ suggestedMs, calls }) => suggestedMs === undefined && calls > 0)
  return [
    `# Suggested: 1.5 times the 99.9th percentile.${few.length === 0 ? "" : ` Targets with fewer than ${enoughCalls} calls are excluded.`}`,
    "timeouts:",
    `  ${env}: { ${members.join(", ")} }`,
  ].join("\n")
}
