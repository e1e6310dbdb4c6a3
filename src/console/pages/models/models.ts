/** Models: handle, kind, targets with their health, the price in force, and the organisations that may call them. */
import { html } from "htm/preact"
import type { PriceList, Targets } from "../../../protocol/control/activity.ts"
import type { AdminModels } from "../../../protocol/control/model-list.ts"
import { get } from "../../api.ts"
import { count, money } from "../../format.ts"
import { useLoad } from "../../load.ts"
import type { PageProps } from "../../page.ts"
import { linkTo, setQuery } from "../../route.ts"
import { type Target, TargetDot } from "../../target-state.ts"
import { Filters, type Values } from "../../ui/form.ts"
import { Card, Empty, ErrorBox, Head, Loading } from "../../ui/parts.ts"
import { Table } from "../../ui/table.ts"
import { type Price, Prices } from "./prices.ts"

type Model = AdminModels["data"][number]

export const Page = ({ query: { search = "" } }: PageProps) => {
  const models = useLoad("models", (signal) => get<AdminModels>("v1/admin/models", undefined, signal))
  const targets = useLoad("targets", (signal) => get<Targets>("v1/admin/targets", undefined, signal), 10_000)
  const prices = useLoad("prices in force", (signal) => get<PriceList>("v1/admin/prices", undefined, signal))
  const wanted = search.toLowerCase()
  const rows = models.data?.data.filter(
    ({ handle, kind, targets }) =>
      handle.toLowerCase().includes(wanted) || kind === wanted || targets.some(({ vendor }) => vendor === wanted),
  )
  return html`
    <${Head} title="Models"><a href=${linkTo(["catalogue"])}>Add or change models</a><//>
    <${Card}>
      <${Filters} apply=${(values: Values) => setQuery(values)} fields=${[{ name: "search", label: "Handle, kind or vendor", value: search }]} />
      <${ErrorBox} error=${models.error ?? targets.error ?? prices.error} retry=${models.reload} />
      ${
        rows === undefined
          ? models.error === undefined && html`<${Loading} />`
          : html`<${Table} caption="Models" rows=${rows} empty=${html`<${Empty} title="No models match"><a href=${linkTo(["catalogue"])}>Add vendors and models</a> to the catalogue.<//>`} columns=${[
              {
                name: "Model",
                show: ({ handle }: Model) => html`<a href=${linkTo(["exchanges"], { model: handle })}>${handle}</a>`,
              },
              { name: "Kind", show: ({ kind }: Model) => kind },
              {
                name: "Targets",
                show: (model: Model) => html`<${ModelTargets} model=${model} known=${targets.data?.data ?? []} />`,
              },
              {
                name: "Price per million",
                show: ({ handle }: Model) =>
                  pricesOf(prices.data?.data ?? [], handle).map((text) => html`<div>${text}</div>`),
              },
              {
                name: "Context window",
                align: "right",
                show: ({ contextWindow }: Model) => (contextWindow === undefined ? "–" : count(contextWindow)),
              },
              { name: "Organisations", align: "right", show: ({ organisations }: Model) => count(organisations) },
            ]} />`
      }
    <//>
    <${Prices} />
  `
}

const ModelTargets = ({ model, known }: { readonly model: Model; readonly known: ReadonlyArray<Target> }) =>
  model.targets.map(({ vendor, model: name }) => {
    const target = known.find((each) => each.vendor === vendor && each.model === name)
    return html`<div class="wrap">${target !== undefined && html`<${TargetDot} target=${target} />`} ${vendor}/${name}</div>`
  })

/** The prices of a model that are in force, by currency. */
const pricesOf = (prices: ReadonlyArray<Price>, handle: string): ReadonlyArray<string> => {
  const inForce = prices.filter(({ model, isInForce }) => isInForce && model === handle)
  if (inForce.length === 0) return ["no price: it cannot be called"]
  return inForce.map(({ currency, input, output, dims }) => {
    const parts = Object.entries({ input, output, ...dims })
      .flatMap(([name, amount]) => (amount === undefined ? [] : [`${name.replaceAll("_", " ")} ${money(amount)}`]))
      .join(", ")
    return `${parts} ${currency}`
  })
}
