/** Webhooks: the receivers of events, and the outcome of each delivery. */

import { html } from "htm/preact"
import type { Deliveries, Delivery, WebhookEntry, WebhookList } from "../../protocol/control/webhook.ts"
import { addressOf, call, get } from "../api.ts"
import { useLoad } from "../load.ts"
import type { PageProps } from "../page.ts"
import { setQuery } from "../route.ts"
import { ActionButton, Filters, type Values } from "../ui/form.ts"
import { Card, Empty, ErrorBox, Head, Loading, Tag } from "../ui/parts.ts"
import { Table } from "../ui/table.ts"
import { Time } from "../ui/time.ts"
import { AddWebhook, formName } from "./add-webhook.ts"

const everyMs = 3000

export const Page = ({ query }: PageProps) => {
  const { webhook = "", state = "" } = query
  const webhooks = useLoad("webhooks", (signal) => get<WebhookList>("v1/admin/webhooks", {}, signal), everyMs)
  const deliveries = useLoad(
    `deliveries ${webhook} ${state}`,
    (signal) => get<Deliveries>("v1/admin/webhooks/deliveries", { webhook, state }, signal),
    everyMs,
  )
  const post = async (what: string, query: Readonly<Record<string, string>>) => {
    await call("POST", `v1/admin/webhooks/${what}?${addressOf("", query).searchParams}`)
    deliveries.reload()
  }
  const test =
    ({ id, owner = "" }: WebhookEntry) =>
    () =>
      post("test", { webhook: id, owner })
  const resend =
    ({ webhook, owner = "", event }: Delivery) =>
    () =>
      post("resend", { webhook, owner, event })
  const fields = [
    { name: "webhook", label: "Webhook", value: webhook },
    { name: "state", label: "State", value: state, options: states },
  ]
  return html`
    <${Head} title="Webhooks" />
    <${Card} title="Endpoints" actions=${html`<${AddWebhook} added=${webhooks.reload} />`}>
      <${ErrorBox} error=${webhooks.error} retry=${webhooks.reload} />
      ${
        webhooks.data === undefined
          ? webhooks.error === undefined && html`<${Loading} />`
          : html`<${Table} caption="Webhooks" rows=${webhooks.data.webhooks} empty=${html`<${Empty} title="No webhooks yet">Add one for events of the platform and of all organisations. Owners add those of their organisation.<//>`} columns=${[
              { name: "Webhook", show: ({ id }: WebhookEntry) => html`<code class="wrap">${id}</code>` },
              { name: "Organisation", show: ({ owner }: WebhookEntry) => owner ?? "the platform" },
              { name: "Form", show: ({ form }: WebhookEntry) => formName(form) },
              { name: "Address", show: ({ url }: WebhookEntry) => html`<code class="wrap">${url}</code>` },
              { name: "Events", show: ({ events }: WebhookEntry) => events.join(", ") },
              { name: "Pending", align: "right", show: ({ pending }: WebhookEntry) => pending },
              {
                name: "Failed",
                align: "right",
                show: ({ failed }: WebhookEntry) => (failed === 0 ? 0 : html`<${Tag} tone="bad">${failed}<//>`),
              },
              { name: "Problem", show: ({ problem }: WebhookEntry) => problem },
              {
                name: "Actions",
                show: (entry: WebhookEntry) =>
                  html`<${ActionButton} name="Test" tone="quiet" title="Test ${entry.id}?" explain="Sends an event of type webhook.test." act=${test(entry)} />`,
              },
            ]} />`
      }
    <//>
    <${Card} title="The newest 200 deliveries">
      <${Filters} fields=${fields} apply=${(values: Values) => setQuery(values)} />
      <${ErrorBox} error=${deliveries.error} retry=${deliveries.reload} />
      ${
        deliveries.data === undefined
          ? deliveries.error === undefined && html`<${Loading} />`
          : html`<${Table} caption="Deliveries" rows=${deliveries.data.deliveries} empty=${html`<${Empty} title="No deliveries yet">There was no event that a webhook asked for.<//>`} columns=${deliveryColumns(resend)} />`
      }
    <//>
  `
}

/** @param resend makes the action that sends an ended delivery again */
export const deliveryColumns = (resend: (delivery: Delivery) => () => Promise<void>) => [
  { name: "At", align: "nowrap" as const, show: ({ at }: Delivery) => html`<${Time} at=${at} />` },
  { name: "Type", show: ({ type }: Delivery) => type },
  { name: "Subject", show: ({ subject }: Delivery) => html`<code class="wrap">${subject}</code>` },
  { name: "Webhook", show: ({ webhook }: Delivery) => html`<code class="wrap">${webhook}</code>` },
  { name: "State", show: ({ state }: Delivery) => html`<${Tag} tone=${tones[state]}>${state}<//>` },
  { name: "Attempts", align: "right" as const, show: ({ attempts }: Delivery) => attempts },
  {
    name: "Answer",
    show: ({ problem, status }: Delivery) => problem ?? (status === undefined ? "" : `HTTP ${status}`),
  },
  {
    name: "Next",
    align: "nowrap" as const,
    show: ({ nextAt }: Delivery) => (nextAt === undefined ? "" : html`<${Time} at=${nextAt} />`),
  },
  {
    name: "Actions",
    show: (delivery: Delivery) =>
      delivery.state !== "pending" &&
      html`<${ActionButton} name="Send again" tone="quiet" title="Send ${delivery.event} again?" explain="It has the same id: a receiver that knows it ignores it." act=${resend(delivery)} />`,
  },
]

const states = [
  ["", "all"],
  ["pending", "pending"],
  ["failed", "failed"],
  ["delivered", "delivered"],
] as const

const tones = { pending: "warn", delivered: "good", failed: "bad" } as const
