/** Receivers of events. */
import { Schema } from "effect"
import { platformEvents, WebhookForm } from "../control/webhook.ts"
import { referenceForms, referencePattern } from "../values/secret-ref.ts"
import { network } from "./network.ts"
import { Id, SecretRef } from "./values.ts"

/** An address, or a reference to one: those of Slack and Teams are secrets. */
const ReceiverUrl = Schema.String.check(
  Schema.isPattern(new RegExp(`^(${referencePattern}|https?://[^\\s#]+)$`), {
    expected: `an http(s) URL, or ${referenceForms}`,
  }),
)

/** A receiver of events of the platform and of all its organisations. */
export const Webhook = Schema.Struct({
  id: Id,
  /** `weir` if absent. */
  form: Schema.optionalKey(WebhookForm),
  /** The address; only PagerDuty has one that is the same for everybody. */
  url: Schema.optionalKey(ReceiverUrl),
  /** For Weir's form `whsec_` and the base64 of 24 to 64 bytes (Standard Webhooks); for PagerDuty a routing key. */
  secret: Schema.optionalKey(SecretRef),
  /** The secret before this one, while receivers change to the new one: deliveries carry the signatures of both. */
  formerSecret: Schema.optionalKey(SecretRef),
  /** The events that it receives. */
  events: platformEvents,
  ...network,
}).check(
  Schema.makeFilter(({ form = "weir", url, secret, formerSecret }: ReceiverSettings) => {
    const hasSecret = form === "weir" || form === "pagerduty"
    return [
      ...(url === undefined && form !== "pagerduty" ? [{ path: ["url"], issue: "is required" }] : []),
      ...(secret === undefined && hasSecret ? [{ path: ["secret"], issue: `is required for the form ${form}` }] : []),
      ...(secret !== undefined && !hasSecret
        ? [
            {
              path: ["secret"],
              issue: `has no use: of the form ${form} the address is the secret; name it as url: env:NAME`,
            },
          ]
        : []),
      ...(formerSecret !== undefined && form !== "weir"
        ? [{ path: ["formerSecret"], issue: `has no use with the form ${form}` }]
        : []),
    ]
  }),
)
/** Settings of a webhook that depend on each other. */
interface ReceiverSettings {
  readonly form?: WebhookForm
  readonly url?: string
  readonly secret?: string
  readonly formerSecret?: string
}
export type Webhook = typeof Webhook.Type
