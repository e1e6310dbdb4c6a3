/** Routes of webhooks: an organisation's own, and all for operators. */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import {
  Deliveries,
  Delivery,
  DeliveryState,
  MadeWebhook,
  OwnWebhooks,
  OwnWebhookTerms,
  RotationTerms,
  WebhookList,
} from "../control/webhook.ts"
import { PathId } from "../values/text.ts"
import { bearerErrors, errorsOf, everywhere } from "./errors.ts"
import { adminHeaders, bearerHeaders, parameter, requiredParameter } from "./parameters.ts"

const ofMember = errorsOf([...everywhere, ...bearerErrors])
const ofOperator = errorsOf([...everywhere, "admin_key_invalid", "not_found"])
const state = Schema.optionalKey(DeliveryState).annotate({ description: "Only in this state" })
const target = {
  owner: parameter("The organisation of the webhook; absent for webhooks of the platform"),
  webhook: requiredParameter("The webhook's id"),
}

export class WebhookRoutes extends HttpApiGroup.make("webhooks")
  .add(
    HttpApiEndpoint.get("ownWebhooks", "/v1/webhooks", {
      headers: bearerHeaders,
      success: OwnWebhooks,
      error: ofMember,
    }).annotateMerge(
      OpenApi.annotations({ summary: "List the organisation's webhooks", description: "Requires owner." }),
    ),
  )
  .add(
    HttpApiEndpoint.post("makeWebhook", "/v1/webhooks", {
      headers: bearerHeaders,
      payload: OwnWebhookTerms,
      success: MadeWebhook,
      error: errorsOf([...everywhere, ...bearerErrors, "egress_blocked", "limit_exceeded", "org_byok_not_available"]),
    }).annotateMerge(
      OpenApi.annotations({
        summary: "Set a webhook for events of the organisation",
        description: [
          "Requires owner; at most five. The reply has the secret, once: `whsec_` and base64. Deliveries are signed as",
          "Standard Webhooks says (`webhook-id`, `webhook-timestamp`, `webhook-signature`), and come at least once.",
        ].join(" "),
      }),
    ),
  )
  .add(
    HttpApiEndpoint.delete("removeWebhook", "/v1/webhooks/:id", {
      headers: bearerHeaders,
      params: { id: PathId },
      success: HttpApiSchema.NoContent,
      error: ofMember,
    }).annotateMerge(
      OpenApi.annotations({ summary: "Remove a webhook, with its deliveries", description: "Requires owner." }),
    ),
  )
  .add(
    HttpApiEndpoint.post("rotateWebhook", "/v1/webhooks/:id/rotate", {
      headers: bearerHeaders,
      params: { id: PathId },
      payload: RotationTerms,
      success: MadeWebhook,
      error: errorsOf([...everywhere, ...bearerErrors, "org_byok_not_available"]),
    }).annotateMerge(
      OpenApi.annotations({
        summary: "Replace a webhook's secret",
        description: [
          "Requires owner. The reply has the new secret, once. Deliveries have two signatures until `formerSecretUntil`,",
          "so that the receiver can change its secret meanwhile.",
        ].join(" "),
      }),
    ),
  )
  .add(
    HttpApiEndpoint.post("testOwnWebhook", "/v1/webhooks/:id/test", {
      headers: bearerHeaders,
      params: { id: PathId },
      success: Delivery,
      error: ofMember,
    }).annotateMerge(
      OpenApi.annotations({ summary: "Send an event of type webhook.test", description: "Requires owner." }),
    ),
  )
  .add(
    HttpApiEndpoint.get("ownDeliveries", "/v1/webhooks/:id/deliveries", {
      headers: bearerHeaders,
      params: { id: PathId },
      query: { state },
      success: Deliveries,
      error: ofMember,
    }).annotateMerge(
      OpenApi.annotations({ summary: "List the newest 200 deliveries of a webhook", description: "Requires owner." }),
    ),
  )
  .add(
    HttpApiEndpoint.post("resendOwnDelivery", "/v1/webhooks/:id/deliveries/:event/resend", {
      headers: bearerHeaders,
      params: { id: PathId, event: PathId },
      success: Delivery,
      error: ofMember,
    }).annotateMerge(
      OpenApi.annotations({
        summary: "Send a delivery that has ended again, with the same id",
        description: "Requires owner.",
      }),
    ),
  )
  .annotateMerge(
    OpenApi.annotations({ title: "Webhooks", description: "Webhooks that receive an organisation's events" }),
  ) {}

export class AdminWebhooks extends HttpApiGroup.make("adminWebhooks")
  .add(
    HttpApiEndpoint.get("adminWebhooks", "/v1/admin/webhooks", {
      headers: adminHeaders,
      success: WebhookList,
      error: ofOperator,
    }).annotateMerge(OpenApi.annotations({ summary: "List webhooks, of the catalogue and of organisations" })),
  )
  .add(
    HttpApiEndpoint.get("adminDeliveries", "/v1/admin/webhooks/deliveries", {
      headers: adminHeaders,
      query: { owner: target.owner, webhook: parameter("Only of this webhook"), state },
      success: Deliveries,
      error: ofOperator,
    }).annotateMerge(OpenApi.annotations({ summary: "List the newest 200 deliveries" })),
  )
  .add(
    HttpApiEndpoint.post("adminMakeWebhook", "/v1/admin/orgs/:org/webhooks", {
      headers: adminHeaders,
      params: { org: PathId },
      payload: OwnWebhookTerms,
      success: MadeWebhook,
      error: errorsOf([
        ...everywhere,
        "admin_key_invalid",
        "not_found",
        "egress_blocked",
        "limit_exceeded",
        "org_byok_not_available",
      ]),
    }).annotateMerge(
      OpenApi.annotations({
        summary: "Set a webhook for events of an organisation",
        description: "At most five. The reply has the secret, once. Webhooks of the platform are in the catalogue.",
      }),
    ),
  )
  .add(
    HttpApiEndpoint.post("adminRotateWebhook", "/v1/admin/webhooks/rotate", {
      headers: adminHeaders,
      query: { owner: requiredParameter("The organisation of the webhook"), webhook: target.webhook },
      payload: RotationTerms,
      success: MadeWebhook,
      error: errorsOf([...everywhere, "admin_key_invalid", "not_found", "org_byok_not_available"]),
    }).annotateMerge(
      OpenApi.annotations({
        summary: "Replace the secret of an organisation's webhook",
        description: "The reply has the new secret, once. The secrets of the platform's webhooks are in the catalogue.",
      }),
    ),
  )
  .add(
    HttpApiEndpoint.post("adminTestWebhook", "/v1/admin/webhooks/test", {
      headers: adminHeaders,
      query: target,
      success: Delivery,
      error: ofOperator,
    }).annotateMerge(OpenApi.annotations({ summary: "Send an event of type webhook.test" })),
  )
  .add(
    HttpApiEndpoint.post("adminResendDelivery", "/v1/admin/webhooks/resend", {
      headers: adminHeaders,
      query: { ...target, event: requiredParameter("The event's id") },
      success: Delivery,
      error: ofOperator,
    }).annotateMerge(OpenApi.annotations({ summary: "Send a delivery that has ended again, with the same id" })),
  )
  .annotateMerge(
    OpenApi.annotations({
      title: "All webhooks",
      description: "Events and their deliveries; requires the admin key",
    }),
  ) {}
