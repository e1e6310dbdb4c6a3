/** The runtime routes beside calls: sessions, configuration, usage. */
import { Clock, Effect } from "effect"
import { HttpServerResponse } from "effect/http"
import { Sessions } from "../../admission/sessions.ts"
import { Catalogue } from "../../catalogue/catalogue.ts"
import { maxSearchResults } from "../../catalogue/search-directory.ts"
import { WeirConfig } from "../../config.ts"
import { budgetSubjects, type Caller } from "../../identity/caller.ts"
import { CallBudgets } from "../../money/budgets/call-budgets.ts"
import { ClientUsage } from "../../money/client-usage.ts"
import type { Budgets } from "../../protocol/control/budget.ts"
import { serviceError } from "../../protocol/error.ts"
import { protocolLabel } from "../../protocol/event.ts"
import {
  HandshakeRequest,
  type HandshakeResponse,
  HeartbeatRequest,
  type HeartbeatResponse,
} from "../../protocol/session.ts"
import { maxUsageEvents, UsageReport } from "../../protocol/usage-report.ts"
import { audioFeature, bundleOf, tierOf } from "../../settings/bundle.ts"
import { DeliveredSettings } from "../../settings/delivered.ts"
import type { Authenticated } from "../caller-request.ts"
import { decodeBody } from "../request.ts"

/** The capability header; replies vary on it. */
const featuresHeader = "x-svc-client-features"

const json = (body: unknown, requestId: string, headers: Readonly<Record<string, string>> = {}) =>
  HttpServerResponse.jsonUnsafe(body, { headers: { "x-svc-request-id": requestId, ...headers } })

const admitOf = ({ org, keyId }: Caller) => ({ owner: org.id, keyId, rates: [] })

export const makeRuntime = Effect.gen(function* () {
  const config = yield* WeirConfig
  const catalogue = yield* Catalogue
  const sessions = yield* Sessions
  const usage = yield* ClientUsage
  const delivered = yield* DeliveredSettings
  const callBudgets = yield* CallBudgets

  const bundleFor = ({ caller, request }: Authenticated) =>
    Effect.map(delivered.of(caller), (settings) =>
      bundleOf(catalogue.current(), caller, tierOf(caller, request.headers[featuresHeader]), settings),
    )

  const heartbeat = Effect.fnUntraced(function* (call: Authenticated) {
    const { caller, requestId } = call
    const body = yield* decodeBody(HeartbeatRequest, call.body)
    const sessionId = yield* sessions.heartbeat(admitOf(caller), caller, body.sessionId)
    const { configVersion } = yield* bundleFor(call)
    const response: HeartbeatResponse = {
      sessionId,
      serverTime: new Date(yield* Clock.currentTimeMillis).toISOString(),
      configVersion,
      configStale: body.configVersion !== undefined && body.configVersion !== configVersion,
      bundleEtag: configVersion,
      // An application that requires a licence is refused earlier if it has none.
      licenseStatus: caller.app?.licenceRequired === true ? "active" : "none",
      features: [audioFeature],
    }
    return json(response, requestId, vary)
  })

  const endSession = Effect.fnUntraced(function* ({ caller, requestId }: Authenticated, id: string) {
    yield* sessions.archive(caller, id)
    return HttpServerResponse.empty({ status: 204, headers: { "x-svc-request-id": requestId } })
  })

  const readConfig = Effect.fnUntraced(function* (call: Authenticated) {
    const bundle = yield* bundleFor(call)
    const etag = `"${bundle.configVersion}"`
    const headers = { etag, ...vary, "cache-control": "private, no-cache" }
    if (matches(call.request.headers["if-none-match"], etag)) {
      return HttpServerResponse.empty({ status: 304, headers: { "x-svc-request-id": call.requestId, ...headers } })
    }
    return json(bundle, call.requestId, headers)
  })

  const handshake = Effect.fnUntraced(function* (call: Authenticated) {
    const { protocols } = yield* decodeBody(HandshakeRequest, call.body)
    if (!protocols.includes(protocolLabel)) {
      return yield* serviceError("protocol_unsupported", `This server supports ${protocolLabel}`, {
        detail: { supported: [protocolLabel] },
      })
    }
    const response: HandshakeResponse = {
      protocol: protocolLabel,
      features: [audioFeature],
      serverTime: new Date(yield* Clock.currentTimeMillis).toISOString(),
      configVersion: (yield* bundleFor(call)).configVersion,
      limits: {
        bodyMaxBytes: config.bodyMaxBytes,
        streamHeartbeatMs: config.streamHeartbeatMs,
        sessionWindowMs: config.sessionWindowS * 1000,
        usageEventsMax: maxUsageEvents,
        searchResultsMax: maxSearchResults,
      },
    }
    return json(response, call.requestId, vary)
  })

  const reportUsage = Effect.fnUntraced(function* ({ requestId, caller, body }: Authenticated) {
    const { events } = yield* decodeBody(UsageReport, body)
    return json(
      yield* usage.report({ orgId: caller.org.id, keyId: caller.keyId, appId: caller.app?.id }, events),
      requestId,
    )
  })

  const readBudgets = Effect.fnUntraced(function* ({ caller, requestId }: Authenticated) {
    const nowMs = yield* Clock.currentTimeMillis
    const told = callBudgets.covering(caller, budgetSubjects(caller), nowMs).filter(({ isTold }) => isTold)
    const budgets = yield* callBudgets.states(caller.org.id, told)
    return json({ budgets } satisfies Budgets, requestId, { "cache-control": "no-store" })
  })

  return { heartbeat, endSession, readConfig, readBudgets, handshake, reportUsage }
})

/** Varies on the origin too, because of CORS (cross-origin.ts). */
const vary = { vary: `${featuresHeader}, Origin` }

/** `If-None-Match`: a list of strong or weak tags, or `*`. RFC 9110 section 13.1.2. */
const matches = (header: string | undefined, etag: string): boolean =>
  (header ?? "").split(",").some((candidate) => ["*", etag].includes(candidate.trim().replace(/^W\//, "")))
