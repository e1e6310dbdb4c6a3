/** Models of a vendor: its list, with the prices of a price file; chosen models are added to the text. */
import { html } from "htm/preact"
import { useState } from "preact/hooks"
import type { VendorCheckResponse } from "../../../protocol/control/admin.ts"
import type { DraftEntries, Offer, VendorOffers } from "../../../protocol/control/draft.ts"
import { call } from "../../api.ts"
import { count, exactCount } from "../../format.ts"
import { useAction } from "../../load.ts"
import { Input, valuesOf } from "../../ui/form.ts"
import { Empty, ErrorBox, Tag } from "../../ui/parts.ts"
import { Table } from "../../ui/table.ts"
import { testVendor } from "./vendor-test.ts"

interface Asked {
  readonly vendor: string
  readonly found: VendorOffers
}

export const VendorOffersPanel = ({
  text,
  vendors,
  add,
}: {
  readonly text: string
  readonly vendors: ReadonlyArray<string>
  readonly add: (entries: DraftEntries) => Promise<void>
}) => {
  const [asked, setAsked] = useState<Asked>()
  const ask = useAction(async (form: HTMLFormElement) => {
    setAsked(undefined)
    const { vendor = "", provider = "", markup = "" } = valuesOf(form)
    const file = new FormData(form).get("prices")
    const prices = file instanceof File ? await file.text() : ""
    const body = {
      text,
      ...(prices !== "" && { prices }),
      ...(provider !== "" && { provider }),
      ...(markup !== "" && { markup }),
    }
    const path = `v1/admin/vendors/${encodeURIComponent(vendor)}/offers`
    setAsked({ vendor, found: await call<VendorOffers>("POST", path, { body }) })
  })
  const submit = (event: Event) => {
    event.preventDefault()
    if (event.currentTarget instanceof HTMLFormElement) ask.run(event.currentTarget)
  }
  const addChosen = async (entries: DraftEntries) => {
    await add(entries)
    setAsked(undefined)
  }
  const last = vendors.at(-1) ?? ""
  return html`<h3>Import models</h3>
    <form class="fields" onSubmit=${submit}>
      <${Input} field=${{ name: "vendor", label: "Vendor", suggestions: vendors, value: last }} />
      <label><span>Price file <span class="soft">optional</span></span>
        <input type="file" name="prices" accept=".json,application/json" aria-describedby="prices-hint" />
      </label>
      <${Input} field=${{ name: "provider", label: "Provider in the price file", isOptional: true }} />
      <${Input} field=${{ name: "markup", label: "Markup (%)", isOptional: true }} />
      <div><button class="quiet" disabled=${ask.isRunning}>${ask.isRunning ? "Asking…" : "List its models"}</button></div>
    </form>
    <p class="soft small" id="prices-hint">The price file is LiteLLM's <code>model_prices_and_context_window.json</code>; the provider is filled in for known vendors. The markup is a percentage, such as 10%.</p>
    <${ErrorBox} error=${ask.error} />
    ${asked !== undefined && html`<${Offers} text=${text} asked=${asked} add=${addChosen} />`}`
}

const Offers = ({
  text,
  asked: { vendor, found },
  add,
}: {
  readonly text: string
  readonly asked: Asked
  readonly add: (entries: DraftEntries) => Promise<void>
}) => {
  const { listed, problem, offers, unpriced } = found
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set())
  const addition = useAction(() => add(entriesOf(offers.filter(({ handle }) => chosen.has(handle)))))
  const toggle = (handle: string) => setChosen((known) => known.symmetricDifference(new Set([handle])))
  return html`<div role="status">
      ${problem === null ? html`<p>${vendor} lists ${count(listed)} models; ${count(offers.length)} are new here or have another price.</p>` : html`<p class="warn">${problem}. ${offers.length > 0 ? "These are the price file's models." : "Name a price file, or add its models by hand."}</p>`}
      ${unpriced.length > 0 && html`<p class="soft small">No price is known for ${unpriced.join(", ")}: name a price file that has them, or add them with a price of your own.</p>`}
    </div>
    <${Table} caption="Offered models" rows=${offers} empty=${problem === null && html`<${Empty} title="Nothing to add">The text has all known models of this vendor.<//>`} columns=${[
      {
        name: "Add",
        show: ({ handle }: Offer) =>
          html`<input type="checkbox" aria-label="Add ${handle}" checked=${chosen.has(handle)} onChange=${() => toggle(handle)} />`,
      },
      { name: "Handle", show: ({ handle }: Offer) => html`<code class="wrap">${handle}</code>` },
      { name: "Change", show: ({ entry }: Offer) => (entry === undefined ? "price" : "new") },
      {
        name: "Price of input, output, USD per million",
        align: "right",
        show: ({ price, before }: Offer) =>
          html`${price.input}, ${price.output}${price.above?.map(({ tokens, input = price.input, output = price.output }) => html` <small class="soft">above ${exactCount(tokens)} tokens ${input}, ${output}</small>`)}${before !== undefined && html` <small class="soft">before ${before.input}, ${before.output}</small>`}`,
      },
      { name: "Not carried over", show: ({ left }: Offer) => left.join("; ") || "–" },
      {
        name: "Test call",
        show: ({ model }: Offer) => html`<${TestCall} text=${text} vendor=${vendor} model=${model} />`,
      },
    ]} />
    <${ErrorBox} error=${addition.error} />
    ${offers.length > 0 && html`<div><button type="button" disabled=${chosen.size === 0 || addition.isRunning} onClick=${() => addition.run()}>Add ${count(chosen.size)} to the text</button></div>`}`
}

const entriesOf = (offers: ReadonlyArray<Offer>): DraftEntries => ({
  models: offers.flatMap(({ entry }) => entry ?? []),
  prices: offers.map(({ price }) => price),
})

const TestCall = ({
  text,
  vendor,
  model,
}: {
  readonly text: string
  readonly vendor: string
  readonly model: string
}) => {
  const [outcome, setOutcome] = useState<VendorCheckResponse>()
  const { run, isRunning, error } = useAction(async () => setOutcome(await testVendor(text, vendor, model)))
  if (error !== undefined) return html`<${Tag} tone="bad">${error.message}<//>`
  if (outcome === undefined)
    return html`<button type="button" class="quiet" disabled=${isRunning} aria-label="Test ${model}" onClick=${() => run()}>${isRunning ? "Calling…" : "Test"}</button>`
  return html`<${Tag} tone=${outcome.ok ? "good" : "bad"}>${outcome.ok ? `works, ${outcome.millis} ms` : (outcome.error?.code ?? "failed")}<//>`
}
