/** The form that adds a webhook of the platform: it writes an entry into the catalogue, and applies it. */
import { html } from "htm/preact"
import type { CatalogueText } from "../../protocol/control/activity.ts"
import type { Draft, DraftEntries } from "../../protocol/control/draft.ts"
import { call, get } from "../api.ts"
import { applyCatalogue } from "../apply.ts"
import { ActionButton, CopyButton, chosenIn, type Values } from "../ui/form.ts"
import { allEvents } from "../webhook-events.ts"

type Webhook = NonNullable<DraftEntries["webhooks"]>[number]

const forms: ReadonlyArray<readonly [NonNullable<Webhook["form"]>, string]> = [
  ["weir", "signed events (Standard Webhooks)"],
  ["slack", "Slack"],
  ["teams", "Microsoft Teams"],
  ["pagerduty", "PagerDuty"],
]

/** The name of a form for people. */
export const formName = (form: string): string => forms.find(([value]) => value === form)?.[1] ?? form

export const AddWebhook = ({ added }: { readonly added: () => void }) => {
  const add = async ({ id = "", form: asked = "", url = "", secret = "", events: chosen }: Values) => {
    const { text = "", watchedFile } = await get<CatalogueText>("v1/admin/catalogue")
    const form = forms.find(([name]) => name === asked)?.[0] ?? "weir"
    const webhook = {
      id,
      ...(form !== "weir" && { form }),
      ...(url !== "" && { url }),
      ...(secret !== "" && { secret }),
      events: chosenIn(chosen),
    }
    const draft = await call<Draft>("POST", "v1/admin/catalogue/draft", {
      body: { text, add: { webhooks: [webhook] } },
    })
    if (watchedFile !== undefined) return html`<${ForFile} path=${watchedFile.path} lines=${draft.added} />`
    await applyCatalogue({ text: draft.text, dryRun: false, prune: false }, () => {})
    added()
    return undefined
  }
  return html`<${ActionButton} name="Add a webhook" confirm="Add" explain="It is written into the catalogue, and is in force at once. If a file is watched, the lines for the file are shown instead." act=${add} fields=${[
    { name: "id", label: "Id" },
    { name: "form", label: "Form", options: forms },
    {
      name: "url",
      label: "Address",
      isOptional: true,
      hint: "A URL, or a reference to one, env:NAME or file:PATH: the addresses of Slack and Teams are secrets. PagerDuty needs none.",
    },
    {
      name: "secret",
      label: "Reference of its secret",
      isOptional: true,
      hint: "env:NAME, file:PATH or a reference to a store. Signed events need one, whsec_ and the base64 of 24 to 64 bytes, and PagerDuty.",
    },
    { name: "events", label: "Events", value: allEvents.join(","), many: allEvents.map((event) => [event, event]) },
  ]} />`
}

/** The lines for a catalogue that only its file changes. */
const ForFile = ({ path, lines }: { readonly path: string; readonly lines: ReadonlyArray<string> }) => html`
  <h2>Add it to the file</h2>
  <p>This gateway's catalogue comes from <code class="wrap">${path}</code>. Add this entry below <code>webhooks</code>:</p>
  <pre class="note" tabindex="0">${lines.join("\n")}</pre>
  <div><${CopyButton} text=${lines.join("\n")} /></div>`
