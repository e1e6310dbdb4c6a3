/** One exchange from end to end: its details, its vendor calls over time, its bill line by line, and its transfers. */

import { html } from "htm/preact"
import type { ExchangeDetail } from "../../protocol/control/exchange-log.ts"
import { get } from "../api.ts"
import { count, millis, money } from "../format.ts"
import { useLoad } from "../load.ts"
import { linkTo } from "../route.ts"
import { Identifier } from "../ui/identifier.ts"
import { Card, Empty, ErrorBox, Facts, Figures, Head, Loading } from "../ui/parts.ts"
import { Table } from "../ui/table.ts"
import { Time } from "../ui/time.ts"
import { type Span, Timeline } from "../ui/timeline.ts"
import { routeFor, useViewer } from "../viewer.ts"
import { Result } from "./result.ts"

interface Place {
  readonly org: string
  readonly id: string
  readonly at: string
}

export const OneExchange = ({ org, id, at }: Place) => {
  const viewer = useViewer()
  const name = encodeURIComponent(id)
  const path = routeFor(viewer, `v1/admin/orgs/${encodeURIComponent(org)}/exchanges/${name}`, `v1/exchanges/${name}`)
  const { data, error, reload } = useLoad(`${org} ${id}`, (signal) => get<ExchangeDetail>(path, { at }, signal))
  return html`
    <${Head} title=${data === undefined ? "Exchange" : `Exchange with ${data.model}`}><a href=${linkTo(["exchanges"])}>All exchanges</a><//>
    <${ErrorBox} error=${error} retry=${reload} />
    ${data === undefined ? !error && html`<${Loading} />` : html`<${Shown} exchange=${data} />`}
  `
}

type Line = NonNullable<ExchangeDetail["lines"]>[number]
type Hit = NonNullable<ExchangeDetail["policies"]>[number]
type Transfer = ExchangeDetail["transfers"][number]

/** The link to all calls of a session: for a realtime session, its responses. */
export const sessionLink = (session: string) =>
  html`<a href=${linkTo(["exchanges"], { session })}><code>${session}</code></a>`

const Shown = ({ exchange }: { readonly exchange: ExchangeDetail }) => {
  const { currency = "", tiers } = exchange
  const facts: ReadonlyArray<readonly [string, unknown]> = [
    ["Ended", html`<${Time} at=${exchange.at} />`],
    ["Result", html`<${Result} exchange=${exchange} />`],
    ["Model", exchange.model],
    [exchange.isBilled ? "Vendor" : "Vendor tried last", exchange.vendor || "–"],
    ["Organisation", exchange.org],
    ["Application", exchange.app || "none: a person called"],
    ["Key or token", exchange.key],
    ["Purpose", exchange.purpose],
    ["Request id", html`<${Identifier} id=${exchange.id} />`],
    ["Caller's request id", exchange.requestId === undefined ? "–" : html`<code>${exchange.requestId}</code>`],
    ["Session", exchange.sessionId === undefined ? "–" : sessionLink(exchange.sessionId)],
    ["Trace id", exchange.traceId === undefined ? "–" : html`<code>${exchange.traceId}</code>`],
    ["Usage", usageText(exchange)],
    ...otherFacts(exchange),
  ]
  return html`
    <${Figures} figures=${[
      { name: "Cost", value: exchange.isBilled ? money(exchange.cost, currency) : "not billed" },
      { name: "Saved by the cache", value: money(exchange.cacheNetSaving, currency) },
      { name: "First frame", value: millis(exchange.firstFrameMs) },
      { name: "Longest pause", value: millis(tiers["idle"]) },
      { name: "Vendor call", value: millis(tiers["total"]) },
    ]} />
    <${Card} title="Vendor calls over time"><${Timeline} title="Timeline of vendor calls" spans=${spansOf(exchange)} /><//>
    <div class="cards">
      <${Card} title="Details"><${Facts} facts=${facts} /><//>
      <${Card} title="Bill">
        ${
          exchange.lines === undefined
            ? html`<${Empty} title=${exchange.isBilled ? "The price of that time is not in the catalogue any more" : "Nothing was billed"} />`
            : html`<${Table} caption="Lines of the bill" rows=${exchange.lines} empty=${html`<${Empty} title="Nothing to bill" />`} columns=${[
                { name: "Dimension", show: ({ dimension }: Line) => dimension },
                { name: "Count", align: "right", show: (line: Line) => count(line.count) },
                { name: `${currency} per million`, align: "right", show: (line: Line) => money(line.perMillion) },
                {
                  name: `Cost, ${currency}`,
                  align: "right",
                  show: (line: Line) => html`<span title=${line.cost}>${money(line.cost)}</span>`,
                },
              ]} />
              <p class="soft small">Lines are rounded one by one; the charge of ${exchange.cost} ${currency} is rounded once.</p>`
        }
      <//>
    </div>
    ${
      exchange.policies !== undefined &&
      html`<${Card} title="Content policies">
        <${Table} caption="Matches of content policies" rows=${exchange.policies} empty="" columns=${[
          { name: "Policy", show: ({ policy }: Hit) => html`<a href=${linkTo(["policies"])}>${policy}</a>` },
          { name: "In the", show: ({ at }: Hit) => at },
          { name: "Matches", align: "right", show: (hit: Hit) => count(hit.count) },
          { name: "Consequence", show: ({ did }: Hit) => did },
        ]} />
      <//>`
    }
    <${Card} title="Transfers in the ledger">
        <${Table} caption="Transfers" rows=${exchange.transfers} empty=${html`<${Empty} title="No money moved" />`} columns=${[
          { name: "Time", align: "nowrap", show: ({ at }: Transfer) => html`<${Time} at=${at} />` },
          { name: "Kind", show: ({ kind }: Transfer) => kind },
          { name: "From", show: ({ from }: Transfer) => html`<code>${from}</code>` },
          { name: "To", show: ({ to }: Transfer) => html`<code>${to}</code>` },
          { name: "Amount", align: "right", show: (row: Transfer) => money(row.amount, row.currency) },
        ]} />
    <//>`
}

/** Fields that the page shows in a place of their own. */
const shownElsewhere: ReadonlySet<string> = new Set([
  ...[
    "id",
    "at",
    "org",
    "app",
    "key",
    "requestId",
    "sessionId",
    "purpose",
    "model",
    "vendor",
    "stop",
    "code",
    "traceId",
  ],
  ...["inTokens", "outTokens", "cacheReadTokens", "cacheWriteTokens", "estimatedReason", "cost", "cacheNetSaving"],
  ...["currency", "firstFrameMs", "tookMs"],
])

/** The record's other fields, under their names: one that is new is shown without a line here. */
const otherFacts = (exchange: ExchangeDetail): ReadonlyArray<readonly [string, string]> =>
  Object.entries(exchange).flatMap(([name, value]) =>
    typeof value === "string" && !shownElsewhere.has(name) ? [[titleOf(name), value] as const] : [],
  )

/** `servedBy` is "Served by". */
const titleOf = (name: string): string => {
  const words = name.replaceAll(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`)
  return words.charAt(0).toUpperCase() + words.slice(1)
}

const usageText = ({ isBilled, estimatedReason }: ExchangeDetail): string => {
  if (estimatedReason !== undefined) return `estimated: ${estimatedReason}`
  return isBilled ? "as the vendor reported it" : "nothing was reported"
}

/** Failed calls as reported, and the one that answered, which came after them. */
const spansOf = ({ attempts, tiers, vendor }: ExchangeDetail): ReadonlyArray<Span> => {
  const failed = attempts.map(({ vendor, model, atMs, tookMs, error }) => ({
    name: `${vendor}/${model}: ${error}`,
    fromMs: atMs,
    tookMs,
    tone: "bad" as const,
  }))
  const beginsMs = Math.max(0, ...failed.map(({ fromMs, tookMs }) => fromMs + tookMs))
  const { connect = 0, ttfb, total } = tiers
  if (total === undefined && ttfb === undefined) return failed
  const firstMs = connect + (ttfb ?? 0)
  return [
    ...failed,
    { name: `${vendor}: connect`, fromMs: beginsMs, tookMs: connect, tone: "soft" },
    { name: `${vendor}: first frame`, fromMs: beginsMs + connect, tookMs: ttfb ?? 0, tone: "warn" },
    {
      name: `${vendor}: answer`,
      fromMs: beginsMs + firstMs,
      tookMs: Math.max(0, (total ?? firstMs) - firstMs),
      tone: "good",
    },
  ]
}
