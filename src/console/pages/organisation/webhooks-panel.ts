/** Webhooks that an organisation's owner sets, and their deliveries. */

import { html } from "htm/preact"
import type { Deliveries, Delivery, MadeWebhook, OwnWebhook, OwnWebhooks } from "../../../protocol/control/webhook.ts"
import { call, get } from "../../api.ts"
import { instant } from "../../format.ts"
import { useLoad } from "../../load.ts"
import { ActionButton, chosenIn, Secret, type Values } from "../../ui/form.ts"
import { Card, Empty, ErrorBox } from "../../ui/parts.ts"
import { Table } from "../../ui/table.ts"
import { Time } from "../../ui/time.ts"
import { orgEvents } from "../../webhook-events.ts"
import { deliveryColumns } from "../webhooks.ts"
import { oneOf } from "./tenant-urls.ts"

const place = "v1/webhooks"

export const WebhooksPanel = ({ org }: { readonly org: string }) => {
  const { data, error, reload } = useLoad(`webhooks ${org}`, (signal) =>
    get<typeof OwnWebhooks.Type>(place, {}, signal),
  )
  const make = async ({ url = "", events = "" }: Values) => {
    const { id, secret } = await call<typeof MadeWebhook.Type>("POST", place, {
      body: { url, events: chosenIn(events) },
    })
    reload()
    return html`<${Secret} title="The secret of ${id}" secret=${secret} />`
  }
  const rotate =
    (id: string) =>
    async ({ hours = "" }: Values) => {
      const { secret } = await call<typeof MadeWebhook.Type>("POST", oneOf(place, id, "rotate"), {
        body: { formerHours: Number(hours) },
      })
      reload()
      return html`<${Secret} title="The new secret of ${id}" secret=${secret} />`
    }
  const remove = (id: string) => async () => {
    await call("DELETE", oneOf(place, id))
    reload()
  }
  const button = html`<${ActionButton} name="Add a webhook" confirm="Add" act=${make} fields=${[
    { name: "url", label: "Address", hint: "https and public." },
    { name: "events", label: "Events", value: orgEvents.join(","), many: orgEvents.map((event) => [event, event]) },
  ]} />`
  return html`<${Card} title="Webhooks" actions=${button}>
    <${ErrorBox} error=${error} retry=${reload} />
    ${
      data !== undefined &&
      html`<${Table} caption="Webhooks" rows=${data.webhooks} empty=${html`<${Empty} title="No webhooks yet">Add one to be notified of keys, budgets, jobs and a low balance.<//>`} columns=${[
        { name: "Webhook", show: ({ id }: OwnWebhook) => html`<code class="wrap">${id}</code>` },
        { name: "Address", show: ({ url }: OwnWebhook) => html`<code class="wrap">${url}</code>` },
        { name: "Events", show: ({ events }: OwnWebhook) => events.join(", ") },
        { name: "Created", align: "nowrap", show: ({ createdAt }: OwnWebhook) => html`<${Time} at=${createdAt} />` },
        {
          name: "Former secret",
          align: "nowrap",
          show: ({ formerSecretUntil }: OwnWebhook) => formerSecretUntil && `until ${instant(formerSecretUntil)}`,
        },
        {
          name: "Actions",
          show: ({ id }: OwnWebhook) =>
            html`<${ActionButton} name="Rotate" tone="quiet" title="Replace the secret of ${id}?" explain="Deliveries carry two signatures until the former secret is not valid any more." act=${rotate(id)} fields=${rotationFields} /> <${ActionButton} name="Remove" title="Remove ${id}?" tone="danger" explain="With its deliveries. This cannot be undone." act=${remove(id)} />`,
        },
      ]} />
      ${data.webhooks.map(({ id }) => html`<${DeliveriesOf} key=${id} id=${id} />`)}`
    }
  <//>`
}

const DeliveriesOf = ({ id }: { readonly id: string }) => {
  const { data, error, reload } = useLoad(
    `deliveries ${id}`,
    (signal) => get<Deliveries>(oneOf(place, id, "deliveries"), {}, signal),
    10_000,
  )
  const test = async () => {
    await call("POST", oneOf(place, id, "test"))
    reload()
  }
  const resend =
    ({ event }: Delivery) =>
    async () => {
      await call("POST", oneOf(place, id, `deliveries/${encodeURIComponent(event)}/resend`))
      reload()
    }
  return html`
    <div class="head"><h3>Deliveries of ${id}</h3><${ActionButton} name="Test" tone="quiet" title="Test ${id}?" explain="Sends an event of type webhook.test." act=${test} /></div>
    <${ErrorBox} error=${error} retry=${reload} />
    ${
      data !== undefined &&
      html`<${Table} caption="Deliveries of ${id}" rows=${data.deliveries} empty=${html`<${Empty} title="No deliveries yet" />`} columns=${deliveryColumns(resend)} />`
    }`
}

const rotationFields = [
  {
    name: "hours",
    label: "Hours for which the former secret is valid",
    type: "number",
    value: "24",
    hint: "At most 168. With 0, it is not valid any more.",
  },
]
