/** `weir webhooks`: the receivers of events, and the outcome of each delivery. */
import * as NodeHttpClient from "@effect/platform-node/NodeHttpClient"
import { Option } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import { AdminWebhooks } from "../../protocol/api/webhooks.ts"
import { type Delivery, DeliveryState, OrgEventType } from "../../protocol/control/webhook.ts"
import { givenOf, org } from "../lists.ts"
import { table } from "../table.ts"
import { operator, show } from "../target.ts"

const webhook = Argument.String("webhook").pipe(Argument.withDescription("The webhook's id"))
const owner = Flag.String("org").pipe(
  Flag.withDescription("The organisation of the webhook; without it, the platform's"),
  Flag.optional,
)
const only = Flag.String("webhook").pipe(Flag.withDescription("Only of this webhook"), Flag.optional)
const state = Flag.Literals("state", DeliveryState.literals).pipe(
  Flag.withDescription("Only in this state"),
  Flag.optional,
)

const list = Command.make("list", operator, (target) =>
  show(
    target,
    AdminWebhooks,
    (client, headers) => client.adminWebhooks.adminWebhooks({ headers }),
    ({ webhooks }) =>
      table(
        ["webhook", "organisation", "form", "url", "events", "pending", "failed", "problem"],
        webhooks.map(({ id, owner = "", form, url, events, pending, failed, problem = "" }) => [
          id,
          owner,
          form,
          url,
          events.join(" "),
          `${pending}`,
          `${failed}`,
          problem,
        ]),
        "No webhooks yet. Add one: weir webhooks add acme https://acme.example/weir",
      ),
  ),
).pipe(Command.withDescription("List webhooks, with their pending and failed deliveries"))

const add = Command.make(
  "add",
  {
    org,
    url: Argument.String("address").pipe(
      Argument.withDescription("The address that receives events: https and public"),
    ),
    events: Flag.Literals("event", OrgEventType.literals).pipe(
      Flag.withDescription("An event; may be given several times; all if absent"),
      Flag.atMost(OrgEventType.literals.length),
    ),
    gateway: operator.url,
    adminKey: operator.adminKey,
    json: operator.json,
  },
  ({ org, url, events, gateway, ...target }) =>
    show(
      { ...target, url: gateway },
      AdminWebhooks,
      (client, headers) =>
        client.adminWebhooks.adminMakeWebhook({
          headers,
          params: { org },
          payload: { url, events: events.length === 0 ? OrgEventType.literals : events },
        }),
      ({ id, secret }) =>
        `${id} is added. Its secret is shown once: ${secret}\nTest it: weir webhooks test ${id} --org ${org}`,
    ),
).pipe(
  Command.withDescription("Add a webhook for events of an organisation. Webhooks of the platform are in the catalogue"),
  Command.withExamples([
    { command: "weir webhooks add acme https://acme.example/weir --event budget.near --event balance.low" },
  ]),
)

const deliveries = Command.make(
  "deliveries",
  { owner, only, state, ...operator },
  ({ owner, only, state, ...target }) =>
    show(
      target,
      AdminWebhooks,
      (client, headers) =>
        client.adminWebhooks.adminDeliveries({
          headers,
          query: {
            ...givenOf({ owner, webhook: only }),
            ...(Option.isSome(state) && { state: state.value }),
          },
        }),
      ({ deliveries }) => describe(deliveries),
    ),
).pipe(Command.withDescription("List the newest 200 deliveries"))

const test = Command.make("test", { webhook, owner, ...operator }, ({ webhook, owner, ...target }) =>
  show(
    target,
    AdminWebhooks,
    (client, headers) => client.adminWebhooks.adminTestWebhook({ headers, query: { webhook, ...givenOf({ owner }) } }),
    (delivery) => describe([delivery]),
  ),
).pipe(Command.withDescription("Send an event of type webhook.test"))

const rotate = Command.make(
  "rotate",
  {
    webhook,
    org: Flag.String("org").pipe(Flag.withDescription("The organisation of the webhook")),
    formerHours: Flag.Int("former-hours").pipe(
      Flag.withDescription("Hours for which the former secret signs too, at most 168; with 0, only the new one signs"),
      Flag.withDefault(24),
    ),
    ...operator,
  },
  ({ webhook, org, formerHours, ...target }) =>
    show(
      target,
      AdminWebhooks,
      (client, headers) =>
        client.adminWebhooks.adminRotateWebhook({ headers, query: { owner: org, webhook }, payload: { formerHours } }),
      ({ id, secret, formerSecretUntil }) => {
        const former = formerSecretUntil === undefined ? "" : `\nThe former secret signs too until ${formerSecretUntil}`
        return `The secret of ${id} is shown once: ${secret}${former}`
      },
    ),
).pipe(Command.withDescription("Replace the secret of an organisation's webhook. The secret is shown once"))

const event = Argument.String("event").pipe(Argument.withDescription("The event's id"))

const resend = Command.make("resend", { webhook, event, owner, ...operator }, ({ webhook, event, owner, ...target }) =>
  show(
    target,
    AdminWebhooks,
    (client, headers) =>
      client.adminWebhooks.adminResendDelivery({ headers, query: { webhook, event, ...givenOf({ owner }) } }),
    (delivery) => describe([delivery]),
  ),
).pipe(Command.withDescription("Send a delivery that has ended again, with the same id"))

const describe = (deliveries: ReadonlyArray<Delivery>): string =>
  table(
    ["at", "webhook", "event", "type", "subject", "state", "attempts", "answer", "next"],
    deliveries.map(({ at, webhook, event, type, subject, state, attempts, status, problem, nextAt = "" }) => [
      at,
      webhook,
      event,
      type,
      subject,
      state,
      `${attempts}`,
      problem ?? (status === undefined ? "" : `HTTP ${status}`),
      nextAt,
    ]),
    "No deliveries. Send a test: weir webhooks test WEBHOOK",
  )

export const webhooks = Command.make("webhooks").pipe(
  Command.withSubcommands([list, add, deliveries, test, rotate, resend]),
  Command.provide(NodeHttpClient.layerNodeHttp),
)
