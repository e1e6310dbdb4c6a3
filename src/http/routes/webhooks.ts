/** Routes of an organisation's webhooks, for its owners. */
import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { Api } from "../../protocol/api.ts"
import { type DeliveryState, OwnWebhookTerms, RotationTerms } from "../../protocol/control/webhook.ts"
import { type ServiceError, serviceError } from "../../protocol/error.ts"
import type { StoreUnavailable } from "../../store/unavailable.ts"
import { DeliveryStore } from "../../webhooks/delivery-store.ts"
import { OrgWebhooks } from "../../webhooks/org-webhooks.ts"
import { actorOf, type Member, makeForBearer, requireOwner } from "../bearer.ts"
import { maxBodyBytes } from "../operator.ts"
import { type Request, readJson } from "../request.ts"

/** Deliveries of one list. */
export const mostDeliveries = 200

export const webhookRoutes = HttpApiBuilder.group(
  Api,
  "webhooks",
  Effect.fn(function* (handlers) {
    const { forMember } = yield* makeForBearer
    const webhooks = yield* OrgWebhooks
    const deliveries = yield* DeliveryStore

    const forOwner = <A, R>(
      request: Request,
      answer: (orgId: string, member: Member) => Effect.Effect<A, RouteFailure, R>,
    ) => forMember(request, (member) => Effect.andThen(requireOwner(member), answer(member.org.org.id, member)))

    /** A webhook of the organisation, by its name among all. */
    const nameOf = Effect.fnUntraced(function* (owner: string, webhook: string) {
      const known = yield* webhooks.list(owner)
      if (!known.some(({ id }) => id === webhook)) return yield* unknownWebhook
      return { owner, webhook }
    })

    const list = (orgId: string) =>
      Effect.map(webhooks.list(orgId), (found) => ({ webhooks: found.map(({ owner, ...webhook }) => webhook) }))

    const make = Effect.fnUntraced(function* (request: Request, orgId: string, member: Member) {
      return yield* webhooks.make(orgId, yield* readJson(OwnWebhookTerms, request, maxBodyBytes), actorOf(member))
    })

    const rotate = Effect.fnUntraced(function* (request: Request, orgId: string, id: string, member: Member) {
      const terms = yield* readJson(RotationTerms, request, maxBodyBytes)
      return (yield* webhooks.rotate(orgId, id, terms, actorOf(member))) ?? (yield* unknownWebhook)
    })

    const remove = Effect.fnUntraced(function* (orgId: string, id: string, member: Member) {
      if (!(yield* webhooks.remove(orgId, id, actorOf(member)))) return yield* unknownWebhook
    })

    const delivered = (orgId: string, id: string, state: DeliveryState | undefined) =>
      Effect.flatMap(nameOf(orgId, id), (name) =>
        Effect.map(deliveries.list({ ...name, state }, mostDeliveries), (found) => ({ deliveries: found })),
      )

    const resend = Effect.fnUntraced(function* (orgId: string, id: string, event: string) {
      return (yield* deliveries.resend({ owner: orgId, webhook: id }, event)) ?? (yield* notEnded)
    })

    return handlers
      .handleRaw("ownWebhooks", ({ request }) => forOwner(request, list))
      .handleRaw("makeWebhook", ({ request }) => forOwner(request, (org, member) => make(request, org, member)))
      .handleRaw("removeWebhook", ({ request, params }) =>
        forOwner(request, (org, member) => remove(org, params.id, member)),
      )
      .handleRaw("rotateWebhook", ({ request, params }) =>
        forOwner(request, (org, member) => rotate(request, org, params.id, member)),
      )
      .handleRaw("testOwnWebhook", ({ request, params }) =>
        forOwner(request, (org) => Effect.flatMap(nameOf(org, params.id), deliveries.test)),
      )
      .handleRaw("ownDeliveries", ({ request, params, query }) =>
        forOwner(request, (org) => delivered(org, params.id, query.state)),
      )
      .handleRaw("resendOwnDelivery", ({ request, params }) =>
        forOwner(request, (org) => resend(org, params.id, params.event)),
      )
  }),
)

type RouteFailure = ServiceError | StoreUnavailable

export const unknownWebhook = serviceError("not_found", "The webhook does not exist")
export const notEnded = serviceError("not_found", "There is no such delivery that has ended")
