/** Routes of applications and plans: end-user tokens, application configuration, plan usage, search directory. */
import { Effect, Schema } from "effect"
import { HttpServerResponse } from "effect/http"
import { HttpApiBuilder } from "effect/http-api"
import { AppTokens } from "../../admission/app-tokens.ts"
import { PlanCurve } from "../../admission/plan-usage.ts"
import { Catalogue } from "../../catalogue/catalogue.ts"
import { searchDirectory } from "../../catalogue/search-directory.ts"
import { AppConfigs } from "../../identity/app-configs.ts"
import type { AppCaller } from "../../identity/app-keys.ts"
import { Api } from "../../protocol/api.ts"
import { AppConfig } from "../../protocol/control/app-config.ts"
import { AppTokenRequest, type AppTokenResponse } from "../../protocol/control/app-token.ts"
import { serviceError } from "../../protocol/error.ts"
import { invalidInput } from "../../protocol/json/issues.ts"
import { parseNetwork } from "../../protocol/values/network.ts"
import { Tenants } from "../../tenants/tenants.ts"
import { type Member, makeForBearer, requireAdmin } from "../bearer.ts"
import { type Authenticated, fromRouter, makeForCaller } from "../caller-request.ts"
import { maxBodyBytes } from "../operator.ts"
import { decodeBody, type Request, readJson } from "../request.ts"

const defaultTtlSeconds = 3600
const defaultDays = 30

/** 1 to 90, in decimal. */
const Days = Schema.FiniteFromString.pipe(
  Schema.decodeTo(Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 90 }))),
)

export const applicationRoutes = HttpApiBuilder.group(
  Api,
  "applications",
  Effect.fn(function* (handlers) {
    const { forApplication } = yield* makeForCaller
    const { forMember } = yield* makeForBearer
    const appTokens = yield* AppTokens
    const appConfigs = yield* AppConfigs
    const catalogue = yield* Catalogue
    const tenants = yield* Tenants
    const curve = yield* PlanCurve

    const mint = Effect.fnUntraced(function* ({ requestId, caller, body }: Authenticated<AppCaller>) {
      const { endUserId, ttlSeconds = defaultTtlSeconds } = yield* decodeBody(AppTokenRequest, body)
      const { token, expiresAt } = yield* appTokens.mint(caller, endUserId, ttlSeconds)
      const response: AppTokenResponse = { token, expiresAt: expiresAt.toISOString(), appId: caller.app.id, endUserId }
      return HttpServerResponse.jsonUnsafe(response, {
        headers: { "x-svc-request-id": requestId, "cache-control": "no-store" },
      })
    })

    /** An application of the member's organisation. Applications of other organisations do not exist for the member. */
    const ownApp = ({ org }: Member, id: string) =>
      Effect.flatMap(tenants.app(id), (entry) =>
        entry?.org.id === org.org.id
          ? Effect.succeed(entry)
          : Effect.fail(serviceError("not_found", "The application does not exist")),
      )

    const readConfig = (member: Member, id: string) => Effect.map(ownApp(member, id), ({ config }) => config)

    const setConfig = Effect.fnUntraced(function* (request: Request, member: Member, id: string) {
      yield* requireAdmin(member)
      yield* ownApp(member, id)
      const config = yield* readJson(AppConfig, request, maxBodyBytes)
      const wrong = (config.ipAllow ?? []).findIndex((network) => parseNetwork(network) === undefined)
      if (wrong >= 0) {
        return yield* invalidInput([{ path: `ipAllow[${wrong}]`, message: "an address or a network is required" }])
      }
      const { searchProviderId } = config
      const isKnown = catalogue.current().searchProviders.some(({ provider }) => provider.id === searchProviderId)
      if (typeof searchProviderId === "string" && !isKnown) {
        return yield* invalidInput([{ path: "searchProviderId", message: "no such active search provider" }])
      }
      yield* appConfigs.set(id, config)
      return config
    })

    const planUsage = Effect.fnUntraced(function* ({ org }: Member, text: string | undefined) {
      return yield* curve.of(org.org.id, yield* daysOf(text))
    })

    return handlers
      .handleRaw("appToken", ({ request }) => forApplication(fromRouter(request), mint))
      .handleRaw("appConfig", ({ request, params }) => forMember(request, (member) => readConfig(member, params.id)))
      .handleRaw("setAppConfig", ({ request, params }) =>
        forMember(request, (member) => setConfig(request, member, params.id)),
      )
      .handleRaw("planUsage", ({ request, query }) => forMember(request, (member) => planUsage(member, query.days)))
      .handleRaw("searchProviders", ({ request }) =>
        forMember(request, () => Effect.sync(() => searchDirectory(catalogue.current()))),
      )
  }),
)

/** The days of a plan's curve. */
export const daysOf = (text: string | undefined) =>
  text === undefined
    ? Effect.succeed(defaultDays)
    : Effect.mapError(Schema.decodeUnknownEffect(Days)(text), () =>
        invalidInput([{ path: "days", message: "an integer from 1 to 90 is required" }]),
      )
