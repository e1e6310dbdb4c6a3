/** Admin routes of webhooks. */
import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { Api } from "../../protocol/api.ts"
import { serviceError } from "../../protocol/error.ts"
import { DeliveryStore } from "../../webhooks/delivery-store.ts"
import { Webhooks } from "../../webhooks/webhooks.ts"
import { makeForOperator } from "../operator.ts"
import { mostDeliveries, notEnded } from "./webhooks.ts"

export const adminWebhookRoutes = HttpApiBuilder.group(
  Api,
  "adminWebhooks",
  Effect.fn(function* (handlers) {
    const forOperator = yield* makeForOperator
    const webhooks = yield* Webhooks
    const deliveries = yield* DeliveryStore

    const test = Effect.fnUntraced(function* (owner: string | undefined, webhook: string) {
      const known = yield* webhooks.list
      if (!known.some((each) => each.id === webhook && each.owner === owner)) {
        return yield* serviceError("not_found", "The webhook does not exist")
      }
      return yield* deliveries.test({ owner: owner ?? "", webhook })
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
      .handleRaw("adminResendDelivery", ({ request, query }) =>
        forOperator(request, resend(query.owner, query.webhook, query.event)),
      )
  }),
)
