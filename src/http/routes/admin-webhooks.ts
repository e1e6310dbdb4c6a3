/** Admin routes of webhooks. */
import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { Api } from "../../protocol/api.ts"
import { OwnWebhookTerms, RotationTerms } from "../../protocol/control/webhook.ts"
import { Tenants } from "../../tenants/tenants.ts"
import { DeliveryStore } from "../../webhooks/delivery-store.ts"
import { OrgWebhooks } from "../../webhooks/org-webhooks.ts"
import { Webhooks } from "../../webhooks/webhooks.ts"
import { knownOrg, makeForOperator, maxBodyBytes, operator } from "../operator.ts"
import { type Request, readJson } from "../request.ts"
import { mostDeliveries, notEnded, unknownWebhook } from "./webhooks.ts"

export const adminWebhookRoutes = HttpApiBuilder.group(
  Api,
  "adminWebhooks",
  Effect.fn(function* (handlers) {
    const forOperator = yield* makeForOperator
    const webhooks = yield* Webhooks
    const own = yield* OrgWebhooks
    const tenants = yield* Tenants
    const deliveries = yield* DeliveryStore

    const test = Effect.fnUntraced(function* (owner: string | undefined, webhook: string) {
      const known = yield* webhooks.list
      if (!known.some((each) => each.id === webhook && each.owner === owner)) {
        return yield* unknownWebhook
      }
      return yield* deliveries.test({ owner: owner ?? "", webhook })
    })
    const make = Effect.fnUntraced(function* (request: Request, org: string) {
      yield* knownOrg(tenants, org)
      return yield* own.make(org, yield* readJson(OwnWebhookTerms, request, maxBodyBytes), operator)
    })
    const rotate = Effect.fnUntraced(function* (request: Request, owner: string, webhook: string) {
      const terms = yield* readJson(RotationTerms, request, maxBodyBytes)
      return (yield* own.rotate(owner, webhook, terms, operator)) ?? (yield* unknownWebhook)
    })
    const resend = Effect.fnUntraced(function* (owner: string | undefined, webhook: string, event: string) {
      return (yield* deliveries.resend({ owner: owner ?? "", webhook }, event)) ?? (yield* notEnded)
    })

    return handlers
      .handleRaw("adminWebhooks", ({ request }) =>
        forOperator(
          request,
          Effect.map(webhooks.list, (found) => ({ webhooks: found })),
        ),
      )
      .handleRaw("adminDeliveries", ({ request, query: { owner, webhook, state } }) =>
        forOperator(
          request,
          Effect.map(deliveries.list({ owner, webhook, state }, mostDeliveries), (found) => ({ deliveries: found })),
        ),
      )
      .handleRaw("adminTestWebhook", ({ request, query }) => forOperator(request, test(query.owner, query.webhook)))
      .handleRaw("adminMakeWebhook", ({ request, params }) => forOperator(request, make(request, params.org)))
      .handleRaw("adminRotateWebhook", ({ request, query: { owner, webhook } }) =>
        forOperator(request, rotate(request, owner, webhook)),
      )
      .handleRaw("adminResendDelivery", ({ request, query }) =>
        forOperator(request, resend(query.owner, query.webhook, query.event)),
      )
  }),
)
