/** The activity: exchanges, errors, tokens, spend, the first frame, and vendors; refreshed by itself. */
import { html } from "htm/preact"
import type { Targets } from "../../protocol/control/activity.ts"
import type { OpenExchanges } from "../../protocol/control/exchange-log.ts"
import type { UsageSummary } from "../../protocol/control/usage-summary.ts"
import { get } from "../api.ts"
import { count, instant, millis, monies, share } from "../format.ts"
import { useLoad } from "../load.ts"
import type { PageProps } from "../page.ts"
import { fromOf, RangePicker, rangeOf } from "../range.ts"
import { linkTo, setQuery } from "../route.ts"
import { Card, Empty, ErrorBox, Figures, Head, Loading, Segments, Tag } from "../ui/parts.ts"
import { Table } from "../ui/table.ts"
import { TimeChart } from "../ui/time-chart.ts"
import { routeFor, useViewer } from "../viewer.ts"

const refreshMs = 10_000

const dimensions = [
  ["model", "Model"],
  ["vendor", "Vendor"],
  ["app", "Application"],
  ["key", "Key"],
  ["purpose", "Purpose"],
  ["stop", "Stop"],
] as const

export const Page = ({ query }: PageProps) => {
  const viewer = useViewer()
  const range = rangeOf(query)
  const by = query["by"] ?? "model"
  const org = viewer.kind === "operator" ? query["org"] : undefined
  const path = routeFor(viewer, "v1/admin/usage-summary", "v1/usage-summary")
  const usage = useLoad(
    `${range} ${by} ${org}`,
    (signal) => get<UsageSummary>(path, { from: fromOf(range), by, org }, signal),
    refreshMs,
  )
  const openPath = routeFor(viewer, "v1/admin/open-exchanges", "v1/open-exchanges")
  const open = useLoad(`open ${org}`, (signal) => get<OpenExchanges>(openPath, { org }, signal), refreshMs)
  const { data, error } = usage
  return html`
    <${Head} title="Overview"><${RangePicker} range=${range} /><//>
    ${org !== undefined && html`<p class="note">Only of the organisation ${org}. <a href=${linkTo(["overview"], { range })}>Show all</a></p>`}
    <${ErrorBox} error=${error} retry=${usage.reload} />
    ${data === undefined ? !error && html`<${Loading} />` : html`<${Shown} usage=${data} open=${open.data} by=${by} isOperator=${viewer.kind === "operator"} />`}
    ${viewer.kind === "operator" && html`<${Vendors} />`}
  `
}

interface ShownProps {
  readonly usage: UsageSummary
  readonly open: OpenExchanges | undefined
  readonly by: string
  readonly isOperator: boolean
}

const Shown = ({ usage, open, by, isOperator }: ShownProps) => {
  const { totals, firstFrame, points, failures, groups, step } = usage
  const failed = failures.reduce((sum, failure) => sum + failure.count, 0)
  const refused = failures.reduce((sum, failure) => sum + (failure.code === "rate_limited" ? failure.count : 0), 0)
  const tokens = totals.inTokens + totals.outTokens + totals.cacheReadTokens + totals.cacheWriteTokens
  const times = points.map(({ at }) => at)
  if (totals.exchanges + failed === 0) {
    return html`<${Card}><${Empty} title="Nothing was called in this time">
      Send a first exchange: <a href=${linkTo(["playground"])}>open the playground</a>, or choose a longer range.
    <//><//>`
  }
  return html`
    <${Figures} figures=${[
      { name: "Exchanges", value: count(totals.exchanges), note: `${count(totals.interrupted)} interrupted` },
      {
        name: "Failed calls",
        value: count(failed),
        note: `${share(failed, totals.exchanges + failed)}, ${count(refused)} rate-limited or shed`,
      },
      { name: "Tokens", value: count(tokens), note: `${count(totals.inTokens)} in, ${count(totals.outTokens)} out` },
      { name: "Spend", value: monies(totals.cost), note: `${count(totals.estimated)} estimated` },
      {
        name: "Saved by caches",
        value: monies(totals.cacheNetSaving),
        note: `${count(totals.cacheReadTokens)} tokens read`,
      },
      {
        name: "First frame, p95",
        value: millis(firstFrame.p95),
        note: `p50 ${millis(firstFrame.p50)}, p99 ${millis(firstFrame.p99)}`,
      },
      {
        name: "Open now",
        value: open === undefined ? "…" : count(open.open),
        note: open && `on ${open.nodes} ${open.nodes === 1 ? "process" : "processes"}`,
      },
    ]} />
    <div class="cards">
      <${Card}><${TimeChart} title="Exchanges" unit="calls per ${step}" times=${times} format=${count} series=${[
        { name: "billed", color: "accent", isBar: true, values: points.map((point) => point.exchanges) },
        { name: "failed", color: "bad", values: points.map((point) => point.failed) },
      ]} /><//>
      <${Card}><${TimeChart} title="First frame" unit="time, by ${step}" times=${times} format=${millis} series=${[
        { name: "p50", color: "good", values: points.map((point) => point.firstFrame.p50) },
        { name: "p95", color: "accent", values: points.map((point) => point.firstFrame.p95) },
        { name: "p99", color: "warn", values: points.map((point) => point.firstFrame.p99) },
      ]} /><//>
      <${Card}><${TimeChart} title="Tokens" unit="tokens per ${step}" times=${times} format=${count} series=${[
        { name: "input", color: "accent", values: points.map((point) => point.inTokens) },
        { name: "output", color: "good", values: points.map((point) => point.outTokens) },
        { name: "cache read", color: "soft", values: points.map((point) => point.cacheReadTokens) },
      ]} /><//>
      <${Card}><${TimeChart} title="Spend" unit="${currenciesOf(usage).join(", ") || "money"} per ${step}" times=${times} format=${(value: number) => value.toFixed(value < 1 ? 4 : 2)} series=${currenciesOf(
        usage,
      ).map((currency, index) => ({
        name: currency,
        color: index === 0 ? "accent" : "warn",
        isBar: index === 0,
        // The rounding is for the chart only: amounts are exact everywhere else.
        values: points.map((point) => Number(point.cost[currency] ?? 0)),
      }))} /><//>
    </div>
    <div class="cards">
      <${Card} title="Usage by" actions=${html`<${Segments} label="Usage by" options=${isOperator ? [["org", "Organisation"], ...dimensions] : dimensions} value=${by} choose=${(value: string) => setQuery({ by: value })} />`}>
        <${Table} caption="Usage by ${by}" rows=${groups} empty=${html`<${Empty} title="No usage in this time" />`} columns=${[
          {
            name: by,
            show: ({ group }: Group) =>
              html`<a class="wrap" href=${linkTo(["exchanges"], { [by]: group })}>${group || "–"}</a>`,
          },
          { name: "Exchanges", align: "right", show: (row: Group) => count(row.exchanges) },
          {
            name: "Tokens in / out",
            align: "right",
            show: (row: Group) => `${count(row.inTokens)} / ${count(row.outTokens)}`,
          },
          { name: "Units", align: "right", show: (row: Group) => unitsOf(row) },
          { name: "Spend", align: "right", show: (row: Group) => monies(row.cost) },
        ]} />
      <//>
      <${Card} title="Errors by code">
        <${Table} caption="Errors by code" rows=${failures} empty=${html`<${Empty} title="No call has failed in this time" />`} columns=${[
          {
            name: "Code",
            show: ({ code }: Failure) =>
              isListed(code) ? html`<a href=${linkTo(["exchanges"], { code })}>${code}</a>` : code,
          },
          { name: "Calls", align: "right", show: (row: Failure) => count(row.count) },
          { name: "Share", align: "right", show: (row: Failure) => share(row.count, totals.exchanges + failed) },
        ]} />
      <//>
    </div>`
}

/** Calls that a rate limit refused are counted only. */
const isListed = (code: string): boolean => code !== "rate_limited"

type Group = UsageSummary["groups"][number]
type Failure = UsageSummary["failures"][number]
type Target = Targets["data"][number]

const currenciesOf = ({ totals }: UsageSummary): ReadonlyArray<string> => Object.keys(totals.cost)

/** Units other than tokens: pictures, seconds, characters, searches. */
const unitsOf = ({ units }: Group): string =>
  Object.entries(units)
    // Observations have a page of their own.
    .filter(([unit]) => !unit.startsWith("obs_"))
    .map(([unit, amount]) => `${count(amount)} ${unit}`)
    .join(", ") || "–"

const tones = { healthy: "good", suspect: "warn", "cooling down": "bad" } as const

const causes = {
  breaker: "breaker",
  vendor: "the vendor asked",
  busy: "the vendor is busy",
  refused: "refused",
} as const

const Vendors = () => {
  const { data, error, reload } = useLoad(
    "targets",
    (signal) => get<Targets>("v1/admin/targets", undefined, signal),
    refreshMs,
  )
  return html`<${Card} title="Vendors">
    <${ErrorBox} error=${error} retry=${reload} />
    ${
      data !== undefined &&
      html`<${Table} caption="Vendors" rows=${data.data} empty=${html`<${Empty} title="No vendor is called yet"><a href=${linkTo(["catalogue"])}>Declare vendors and models</a> in the catalogue.<//>`} columns=${[
        {
          name: "Vendor",
          show: ({ vendor }: Target) => html`<a href=${linkTo(["exchanges"], { vendor })}>${vendor}</a>`,
        },
        { name: "Model", show: ({ model }: Target) => model },
        { name: "Handles", show: ({ handles }: Target) => handles.join(", ") },
        { name: "State", show: ({ state }: Target) => html`<${Tag} tone=${tones[state]}>${state}<//>` },
        {
          name: "Until",
          show: ({ until, cause = "breaker", reason = "" }: Target) =>
            until === undefined ? "" : `${instant(until)} (${causes[cause]}${reason === "" ? "" : `: ${reason}`})`,
        },
      ]} />`
    }
  <//>`
}
