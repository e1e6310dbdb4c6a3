/**
 * Webhooks: events, their receivers, and the results of their deliveries. Source: Standard Webhooks,
 * https://www.standardwebhooks.com
 */
import { Schema } from "effect"
import { storedName } from "../values/text.ts"

/** The events of an organisation, for which its owners may set webhooks. */
export const OrgEventType = Schema.Literals([
  "budget.near",
  "budget.reached",
  "balance.low",
  "key.created",
  "key.revoked",
  "job.done",
  "batch.done",
  "response.completed",
  "response.failed",
  "response.cancelled",
  "policy.denied",
])

/** All events that webhooks can send: those of organisations, and those of the platform. */
export const EventType = Schema.Literals([
  ...OrgEventType.literals,
  "target.down",
  "target.up",
  "catalogue.applied",
  "books.closed",
])
export type EventType = typeof EventType.Type

/** The format of a message: Weir's own, signed events, or that of a service for people. */
export const WebhookForm = Schema.Literals(["weir", "slack", "teams", "pagerduty"])
export type WebhookForm = typeof WebhookForm.Type

/** Whether a secret has the form that receivers' libraries read: `whsec_`, and 24 to 64 bytes in base64. */
export const isWebhookSecret = (secret: string): boolean => /^whsec_[A-Za-z0-9+/]{32,86}={0,2}$/.test(secret)

export const unreadableSecret = "its secret is not whsec_ and the base64 of 24 to 64 bytes; nothing is sent"

/**
 * The reason why the secret of a webhook cannot be used; undefined if it can. PagerDuty's is the routing key of an
 * integration.
 */
export const secretProblem = (form: WebhookForm, secret: string): string | undefined => {
  if (form === "weir") return isWebhookSecret(secret) ? undefined : unreadableSecret
  return form === "pagerduty" && !/^[A-Za-z0-9]{32}$/.test(secret) ? unreadableKey : undefined
}

const unreadableKey = "its secret is no routing key of PagerDuty, which has 32 letters and digits; nothing is sent"

export const unusableFormerSecret = "its formerSecret cannot be used; deliveries are signed with its secret alone"

/** The same for an engine of a policy. */
export const unusableFormerSecretOfEngine = "its formerSecret cannot be used; requests are signed with its secret alone"

const some = <S extends Schema.Constraint>(type: S) =>
  Schema.Array(type).check(Schema.isMinLength(1), Schema.isUnique())

/** A webhook of the catalogue. */
export const platformEvents = some(EventType)

/** The fields of a webhook that an owner sets. */
export const OwnWebhookTerms = Schema.Struct({
  /** HTTPS and public. */
  url: storedName(2048),
  events: some(OrgEventType),
}).annotate({ identifier: "WebhookTerms" })

export const OwnWebhook = Schema.Struct({
  id: Schema.String,
  ...OwnWebhookTerms.fields,
  createdAt: Schema.String,
  /** The time until which deliveries are signed with a former secret too; absent if there is none. */
  formerSecretUntil: Schema.optionalKey(Schema.String),
}).annotate({ identifier: "Webhook" })
export type OwnWebhook = typeof OwnWebhook.Type

export const OwnWebhooks = Schema.Struct({ webhooks: Schema.Array(OwnWebhook) }).annotate({ identifier: "Webhooks" })

/** A webhook with its secret (`whsec_` and 32 bytes in base64), which is shown once. */
export const MadeWebhook = Schema.Struct({ ...OwnWebhook.fields, secret: Schema.String }).annotate({
  identifier: "MadeWebhook",
})

/** The options of a rotation of a secret. */
export const RotationTerms = Schema.Struct({
  /**
   * The number of hours for which the former secret signs beside the new one: 24 if absent, at most 168; with 0, only the new
   * one signs.
   */
  formerHours: Schema.optionalKey(
    Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 168 })).annotate({
      description:
        "Hours for which the former secret signs beside the new one; 24 if absent. With 0, only the new one signs.",
    }),
  ),
}).annotate({ identifier: "RotationTerms" })

export const DeliveryState = Schema.Literals(["pending", "delivered", "failed"])
export type DeliveryState = typeof DeliveryState.Type

/** An event on its way to one webhook. */
export const Delivery = Schema.Struct({
  webhook: Schema.String,
  /** The organisation of the webhook; absent for the platform's. */
  owner: Schema.optionalKey(Schema.String),
  /** The same at every attempt: `webhook-id`. */
  event: Schema.String,
  type: Schema.String,
  org: Schema.optionalKey(Schema.String),
  subject: Schema.String,
  at: Schema.String,
  state: DeliveryState,
  attempts: Schema.Int,
  /** The receiver's answer to the last attempt. */
  status: Schema.optionalKey(Schema.Int),
  /** The reason why there was no answer, in a few words. */
  problem: Schema.optionalKey(Schema.String),
  /** The time of the next attempt. */
  nextAt: Schema.optionalKey(Schema.String),
  endedAt: Schema.optionalKey(Schema.String),
}).annotate({ identifier: "Delivery" })
export type Delivery = typeof Delivery.Type

export const Deliveries = Schema.Struct({ deliveries: Schema.Array(Delivery) }).annotate({ identifier: "Deliveries" })
export type Deliveries = typeof Deliveries.Type

/** A webhook as operators see it. */
export const WebhookEntry = Schema.Struct({
  id: Schema.String,
  /** The organisation of the webhook; absent for the platform's. */
  owner: Schema.optionalKey(Schema.String),
  /** The address, or the reference to one, as the catalogue has it. */
  url: Schema.String,
  form: WebhookForm,
  events: Schema.Array(EventType),
  pending: Schema.Int,
  failed: Schema.Int,
  /** The reason why nothing can be sent. */
  problem: Schema.optionalKey(Schema.String),
}).annotate({ identifier: "WebhookEntry" })
export type WebhookEntry = typeof WebhookEntry.Type

export const WebhookList = Schema.Struct({ webhooks: Schema.Array(WebhookEntry) }).annotate({
  identifier: "WebhookList",
})
export type WebhookList = typeof WebhookList.Type
