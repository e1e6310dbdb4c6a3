/** Forms that add entries to the catalogue's text, in the form that a person would write, and test its vendors. */
import { html } from "htm/preact"
import { useState } from "preact/hooks"
import type { Draft, DraftEntries, KnownVendors } from "../../../protocol/control/draft.ts"
import { call, get } from "../../api.ts"
import { useLoad } from "../../load.ts"
import { ActionButton, type Values } from "../../ui/form.ts"
import { Card, ErrorBox } from "../../ui/parts.ts"
import {
  modelFields,
  modelOf,
  planFields,
  planOf,
  priceFields,
  priceOf,
  testFields,
  vendorFields,
  vendorOf,
} from "./catalogue-entries.ts"
import { VendorOffersPanel } from "./vendor-offers-panel.ts"
import { testVendor, VendorTest } from "./vendor-test.ts"

/** Adds entries to the text; the gateway writes them, and applies nothing. */
const addTo = (text: string, add: DraftEntries): Promise<Draft> =>
  call<Draft>("POST", "v1/admin/catalogue/draft", { body: { text, add } })

export const CatalogueForms = ({
  text,
  change,
}: {
  readonly text: string
  /** Takes the text with more entries. */
  readonly change: (text: string) => void
}) => {
  const [draft, setDraft] = useState<Draft>()
  const known = useLoad("known vendors", (signal) => get<KnownVendors>("v1/admin/vendors", undefined, signal))
  const begin = useLoad("outline", () => addTo(text, {}))
  const { vendors = [], models = [], added = [] } = draft ?? begin.data ?? {}
  const knownVendors = known.data?.data ?? []
  const today = new Date().toISOString().slice(0, 10)
  const add = async (entries: DraftEntries) => {
    const next = await addTo(text, entries)
    change(next.text)
    setDraft(next)
  }
  const test = async ({ vendor = "", model = "" }: Values) =>
    html`<${VendorTest} outcome=${await testVendor(text, vendor, model)} />`
  const buttons = html`
    <${ActionButton} name="Add a vendor" fields=${vendorFields(knownVendors)} act=${(values: Values) => add(vendorOf(values, knownVendors))} />
    <${ActionButton} name="Add a model" tone="quiet" fields=${modelFields(vendors, today)} act=${(values: Values) => add(modelOf(values))} explain="Prices are per million tokens." />
    <${ActionButton} name="Add a price" tone="quiet" fields=${priceFields(models, today)} act=${(values: Values) => add(priceOf(values))} explain="Per million tokens. It follows the price in force from its date on; nothing that was billed changes." />
    <${ActionButton} name="Add a plan" tone="quiet" fields=${planFields} act=${(values: Values) => add(planOf(values))} />
    <${ActionButton} name="Test a vendor" tone="quiet" confirm="Call it" fields=${testFields(vendors)} act=${test} explain="One small real call, by this text; the vendor bills its key." />`
  return html`<${Card} title="Edit with forms" actions=${buttons}>
    <p class="soft small">A form writes lines at the end of their sections; comments and the order of what is there stay. Nothing is applied before you apply the text.</p>
    <${ErrorBox} error=${known.error ?? begin.error} />
    ${added.length > 0 && html`<div class="note" role="status"><strong>Added to the text:</strong>${added.map((line) => html`<div><code class="wrap">${line}</code></div>`)}</div>`}
    <${VendorOffersPanel} text=${text} vendors=${vendors} add=${add} />
  <//>`
}
