/** The activity: exchanges, errors, tokens, spend, the first frame, and vendors; refreshed by itself. */
import { html } from "htm/preact"
import type { ComponentChildren } from "preact"
import type { Targets } from "../../protocol/control/activity.ts"
import type { OpenExchanges } from "../../protocol/control/exchange-log.ts"
import type { UsageSummary } from "../../protocol/control/usage-summary.ts"
import { get } from "../api.ts"
import { count, instant, millis, monies, roundedMoney, roundedMonies, share } from "../format.ts"
import { useLoad } from "../load.ts"
import type { PageProps } from "../page.ts"
import { fromOf, periodBefore, RangePicker, rangeOf } from "../range.ts"
import { linkTo, setQuery } from "../route.ts"
import { Cooldown, type Target, TargetState } from "../target-state.ts"
import { Card, Empty, ErrorBox, Figures, Head, Loading, Segments, Tag } from "../ui/parts.ts"
import { Table } from "../ui/table.ts"
import { TimeChart } from "../ui/time-chart.ts"
import { routeFor, useViewer } from "../viewer.ts"
import { MostUsed } from "./most-used.ts"

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
  const before = useLoad(`before ${range} ${org}`, (signal) =>
    get<UsageSummary>(path, { ...periodBefore(range), by, org }, signal),
  )
  const openPath = routeFor(viewer, "v1/admin/open-exchanges", "v1/open-exchanges")
  const open = useLoad(`open ${org}`, (signal) => get<OpenExchanges>(openPath, { org }, signal), refreshMs)
  const { data, error } = usage
  return html`
    <${Head} title="Overview"><${RangePicker} range=${range} /><//>
    ${org !== undefined && html`<p class="note">Only of the organisation ${org}. <a href=${linkTo(["overview"], { range })}>Show all</a></p>`}
    <${ErrorBox} error=${error} retry=${usage.reload} />
    ${data === undefined ? !error && html`<${Loading} />` : html`<${Shown} usage=${data} before=${before.data} top=${html`<${MostUsed} path=${path} range=${range} org=${org} />`} open=${open.data} by=${by} isOperator=${viewer.kind === "operator"} />`}
    ${viewer.kind === "operator" && html`<${Vendors} />`}
  `
}

interface ShownProps {
  readonly usage: UsageSummary
  /** The same of the period before, of the same length. */
  readonly before: UsageSummary | undefined
  readonly top: ComponentChildren
  readonly open: OpenExchanges | undefined
  readonly by: string
  readonly isOperator: boolean
}

const Shown = ({ usage, before, top, open, by, isOperator }: ShownProps) => {
  const { totals, firstFrame, failures, groups, step } = usage
  const { points, begins } = used(usage)
  const unit = (text: string) => (begins === undefined ? text : `${text}, from ${instant(begins)}: nothing before`)
  const than = before && figuresOf(before)
  const failed = failures.reduce((sum, failure) => sum + failure.count, 0)
  const refused = failures.reduce((sum, failure) => sum + (failure.code === "rate_limited" ? failure.count : 0), 0)
  const tokens = totals.inTokens + totals.outTokens + totals.cacheReadTokens + totals.cacheWriteTokens
  const times = points.map(({ at }) => at)
  if (totals.exchanges + failed === 0) {
    return html`<${Card}><${Empty} title="Nothing was called in this time">
      <a class="button" href=${linkTo(["playground"])}>Send a first exchange</a> or choose a longer range.
    <//><//>`
  }
  return html`
    <${Figures} figures=${[
      {
        name: "Exchanges",
        value: count(totals.exchanges),
        note: html`${count(totals.interrupted)} interrupted<${Trend} now=${totals.exchanges} before=${than?.exchanges} />`,
      },
      {
        name: "Failed calls",
        value: count(failed),
        note: html`${share(failed, totals.exchanges + failed)}, ${count(refused)} rate-limited or shed<${Trend} now=${failed} before=${than?.failed} />`,
      },
      {
        name: "Tokens",
        value: count(tokens),
        note: html`${count(totals.inTokens)} in, ${count(totals.outTokens)} out<${Trend} now=${tokens} before=${than?.tokens} />`,
      },
      {
        name: "Spend",
        value: html`<span title=${monies(totals.cost)}>${roundedMonies(totals.cost)}</span>`,
        note: html`${count(totals.estimated)} estimated<${Trend} now=${spentOf(totals)} before=${than?.spent} />`,
      },
      {
        name: "Saved by caches",
        value: html`<span title=${monies(totals.cacheNetSaving)}>${roundedMonies(totals.cacheNetSaving)}</span>`,
        note: `${count(totals.cacheReadTokens)} tokens read`,
      },
      {
        name: "First frame, p95",
        value: millis(firstFrame.p95),
        note: html`p50 ${millis(firstFrame.p50)}, p99 ${millis(firstFrame.p99)}<${Trend} now=${firstFrame.p95 ?? 0} before=${than?.p95} />`,
      },
      {
        name: "Open now",
        value: open === undefined ? "…" : count(open.open),
        note: open && `on ${open.nodes} ${open.nodes === 1 ? "process" : "processes"}`,
      },
    ]} />
    <div class="cards">
      <${Card}><${TimeChart} title="Exchanges" unit=${unit(`calls per ${step}`)} times=${times} format=${count} series=${[
        {
          name: "billed",
          color: "accent",
          isBar: true,
          values: points.map((point) => point.exchanges),
          summary: count(totals.exchanges),
        },
        { name: "failed", color: "bad", values: points.map((point) => point.failed), summary: count(failed) },
      ]} /><//>
      ${top}
      <${Card}><${TimeChart} title="First frame" unit=${unit(`time, by ${step}`)} times=${times} format=${millis} series=${[
        {
          name: "p50",
          color: "good",
          values: points.map((point) => point.firstFrame.p50),
          summary: millis(firstFrame.p50),
        },
        {
          name: "p95",
          color: "accent",
          values: points.map((point) => point.firstFrame.p95),
          summary: millis(firstFrame.p95),
        },
        {
          name: "p99",
          color: "warn",
          values: points.map((point) => point.firstFrame.p99),
          summary: millis(firstFrame.p99),
        },
      ]} /><//>
      <${Card}><${TimeChart} title="Tokens" unit=${unit(`tokens per ${step}`)} times=${times} format=${count} series=${[
        {
          name: "input",
          color: "accent",
          values: points.map((point) => point.inTokens),
          summary: count(totals.inTokens),
        },
        {
          name: "output",
          color: "good",
          values: points.map((point) => point.outTokens),
          summary: count(totals.outTokens),
        },
        {
          name: "cache read",
          color: "soft",
          values: points.map((point) => point.cacheReadTokens),
          summary: count(totals.cacheReadTokens),
        },
      ]} /><//>
      <${Card}><${TimeChart} title="Spend" unit=${unit(`${currenciesOf(usage).join(", ") || "money"} per ${step}`)} times=${times} format=${(value: number) => value.toFixed(value < 1 ? 4 : 2)} series=${currenciesOf(
        usage,
      ).map((currency, index) => ({
        name: currency,
        color: index === 0 ? "accent" : "warn",
        isBar: index === 0,
        // The rounding is for the chart only: amounts are exact everywhere else.
        values: points.map((point) => Number(point.cost[currency] ?? 0)),
        summary: roundedMoney(totals.cost[currency] ?? "0"),
      }))} /><//>
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
    </div>
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
`
}

/** The points from the first with a call on, and its time if the range begins much earlier. */
const used = ({ points }: UsageSummary): Pick<UsageSummary, "points"> & { readonly begins?: string } => {
  const first = points.findIndex(({ exchanges, failed }) => exchanges + failed > 0)
  const from = Math.min(first - 1, points.length - leastPoints)
  if (from <= points.length / 4) return { points }
  return { points: points.slice(from), ...(points[first] !== undefined && { begins: points[first].at }) }
}

/** A chart has at least so many points. */
const leastPoints = 12

/** The figures that are compared with those of the period before. */
const figuresOf = ({ totals, failures, firstFrame }: UsageSummary) => ({
  exchanges: totals.exchanges,
  failed: failures.reduce((sum, failure) => sum + failure.count, 0),
  tokens: totals.inTokens + totals.outTokens + totals.cacheReadTokens + totals.cacheWriteTokens,
  spent: spentOf(totals),
  p95: firstFrame.p95 ?? 0,
})

/** The spend of the first currency, rounded: for a comparison only. */
const spentOf = ({ cost }: UsageSummary["totals"]): number => Number(Object.values(cost)[0] ?? 0)

/** The difference from the period before, if there is anything to compare with. */
const Trend = ({ now, before = 0 }: { readonly now: number; readonly before: number | undefined }) => {
  if (before === 0) return null
  const percent = Math.round((100 * (now - before)) / before)
  const text =
    percent > 900
      ? `${count(now / before)} times the period before`
      : `${percent > 0 ? "+" : ""}${percent} % on the period before`
  return html`<span class="trend">${text}</span>`
}

/** Calls that a rate limit refused are counted only. */
const isListed = (code: string): boolean => code !== "rate_limited"

type Group = UsageSummary["groups"][number]
type Failure = UsageSummary["failures"][number]

const currenciesOf = ({ totals }: UsageSummary): ReadonlyArray<string> => Object.keys(totals.cost)

/** Units other than tokens: pictures, seconds, characters, searches. */
const unitsOf = ({ units }: Group): string =>
  Object.entries(units)
    // Observations have a page of their own.
    .filter(([unit]) => !unit.startsWith("obs_"))
    .map(([unit, amount]) => `${count(amount)} ${unit}`)
    .join(", ") || "–"

/** Targets that are not healthy; the page of vendors has all. */
const Vendors = () => {
  const { data, error, reload } = useLoad(
    "targets",
    (signal) => get<Targets>("v1/admin/targets", undefined, signal),
    refreshMs,
  )
  const down = data?.data.filter(({ state }) => state !== "healthy") ?? []
  return html`<${Card} title="Vendors" actions=${html`<a href=${linkTo(["vendors"])}>All vendors</a>`}>
    <${ErrorBox} error=${error} retry=${reload} />
    ${
      data !== undefined &&
      (data.data.length === 0
        ? html`<${Empty} title="No vendors yet"><a href=${linkTo(["catalogue"])}>Add vendors and models</a> to the catalogue.<//>`
        : html`<${Table} caption="Vendors that are not healthy" rows=${down} empty=${html`<p><${Tag} tone="good">healthy<//> All ${count(data.data.length)} targets answer.</p>`} columns=${[
            {
              name: "Vendor",
              show: ({ vendor }: Target) => html`<a href=${linkTo(["exchanges"], { vendor })}>${vendor}</a>`,
            },
            { name: "Vendor's model", show: ({ model }: Target) => model },
            { name: "Models", show: ({ handles }: Target) => handles.join(", ") },
            { name: "State", show: (target: Target) => html`<${TargetState} target=${target} />` },
            { name: "Cooldown", show: (target: Target) => html`<${Cooldown} target=${target} />` },
          ]} />`)
    }
  <//>`
}
