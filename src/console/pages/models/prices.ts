/** Prices with their history. */
import { html } from "htm/preact"
import type { PriceList } from "../../../protocol/control/activity.ts"
import { get } from "../../api.ts"
import { exactCount, money } from "../../format.ts"
import { useLoad } from "../../load.ts"
import { linkTo } from "../../route.ts"
import { Card, Empty, ErrorBox, Tag } from "../../ui/parts.ts"
import { Table } from "../../ui/table.ts"

export type Price = PriceList["data"][number]
type Step = NonNullable<Price["above"]>[number]

const othersOf = (dims: Price["dims"] = {}, tiers: Price["tiers"] = {}): ReadonlyArray<string> => [
  ...Object.entries(dims).map(([name, amount]) => `${name} ${money(amount)}`),
  ...Object.entries(tiers).map(([name, factor]) => `tier ${name} × ${factor}`),
]

const aboveText = ({ tokens, input, output, cacheRead, cacheWrite, cacheWrite1h, dims, tiers }: Step): string => {
  const stated = { input, output, "cache read": cacheRead, "cache write": cacheWrite, "for an hour": cacheWrite1h }
  const prices = Object.entries(stated).flatMap(([name, amount]) =>
    amount === undefined ? [] : [`${name} ${money(amount)}`],
  )
  return `above ${exactCount(tokens)} tokens: ${[...prices, ...othersOf(dims, tiers)].join(", ")}`
}

export const Prices = () => {
  const { data, error, reload } = useLoad("prices", (signal) => get<PriceList>("v1/admin/prices", undefined, signal))
  return html`<${Card} title="Prices per million tokens">
    <${ErrorBox} error=${error} retry=${reload} />
    ${
      data !== undefined &&
      html`<${Table} caption="Prices" rows=${data.data} empty=${html`<${Empty} title="No prices yet">Without one it cannot be called: declare prices in the <a href=${linkTo(["catalogue"])}>catalogue</a>, or <code>weir prices import</code>.<//>`} columns=${[
        { name: "Model", show: ({ model }: Price) => model },
        {
          name: "From",
          align: "nowrap",
          show: ({ from, isInForce }: Price) => html`${from} ${isInForce && html`<${Tag} tone="good">in force<//>`}`,
        },
        { name: "Currency", show: ({ currency }: Price) => currency },
        { name: "Input", align: "right", show: ({ input }: Price) => (input === undefined ? "" : money(input)) },
        { name: "Output", align: "right", show: ({ output }: Price) => (output === undefined ? "" : money(output)) },
        {
          name: "Cache read",
          align: "right",
          show: ({ cacheRead }: Price) => (cacheRead === undefined ? "as input" : money(cacheRead)),
        },
        {
          name: "Cache write",
          align: "right",
          show: ({ cacheWrite }: Price) => (cacheWrite === undefined ? "as input" : money(cacheWrite)),
        },
        {
          name: "Others",
          show: ({ dims, tiers }: Price) => othersOf(dims, tiers).join(", "),
        },
        {
          name: "Long inputs",
          show: ({ above = [] }: Price) => above.map((step) => html`<div>${aboveText(step)}</div>`),
        },
      ]} />`
    }
  <//>`
}
