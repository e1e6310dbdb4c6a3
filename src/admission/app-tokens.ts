/** Mints end-user tokens within the plan's limits. A token takes no concurrency slot. */
import { Clock, Context, Effect, Layer } from "effect"
import { WeirConfig } from "../config.ts"
import type { AppCaller } from "../identity/app-keys.ts"
import { EndUserTokens, type MintedToken } from "../identity/end-user-tokens.ts"
import { type ServiceError, serviceError } from "../protocol/error.ts"
import { dayOf } from "../protocol/values/utc8.ts"
import { CallQueries } from "../store/connections.ts"
import { queryDeadline } from "../store/database.ts"
import type { StoreUnavailable } from "../store/unavailable.ts"
import { recordConcurrency } from "../telemetry/metrics.ts"
import { type AdmissionError, concurrencyExceeded, Gate } from "./gate.ts"
import { plainRequest } from "./rates/caller-limits.ts"

export class AppTokens extends Context.Service<
  AppTokens,
  {
    readonly mint: (
      caller: AppCaller,
      endUserId: string,
      ttlSeconds: number,
    ) => Effect.Effect<MintedToken, AdmissionError | ServiceError<"plan_end_users_exceeded">>
    /** End users of the present month (UTC+8) of an organisation whose plan is of the test tier. */
    readonly endUsers: (orgId: string) => Effect.Effect<EndUsers, StoreUnavailable>
  }
>()("weir/admission/AppTokens") {
  static readonly layer = Layer.effect(
    AppTokens,
    Effect.gen(function* () {
      const { sessionWindowS, gateMode } = yield* WeirConfig
      const { sql } = yield* CallQueries
      const gate = yield* Gate
      const tokens = yield* EndUserTokens
      const services = yield* Effect.context<never>()
      const bounded = yield* queryDeadline
      const enforces = gateMode === "enforce"

      const checkConcurrency = Effect.fnUntraced(function* ({ org, plan }: AppCaller) {
        const cap = plan?.concurrency
        if (cap === undefined || gateMode === "off") return
        const active = yield* gate
          .activeSessions(org.id, sessionWindowS * 1000)
          .pipe(Effect.catch((error) => (enforces ? Effect.fail(unavailable(error)) : Effect.succeed(0))))
        if (active < cap) return
        recordConcurrency(services, enforces ? "rejected" : "would_reject")
        if (enforces) return yield* concurrencyExceeded()
      })

      const checkEndUsers = Effect.fnUntraced(function* ({ org, plan }: AppCaller, endUserId: string) {
        if (plan?.testTier !== true || gateMode === "off") return
        const month = dayOf(yield* Clock.currentTimeMillis).slice(0, 7)
        const [taken] = yield* bounded(sql<{ admitted: boolean; used: number }>`
          select * from plan_end_user_take(${org.id}, ${month}, ${endUserId}, ${testTierEndUsers}::int, ${enforces})`)
        if (taken?.admitted !== false) return
        return yield* serviceError("plan_end_users_exceeded", "The plan has no room for another end user this month", {
          detail: { limit: testTierEndUsers, used: taken.used },
        })
      })

      return AppTokens.of({
        endUsers: Effect.fnUntraced(function* (orgId) {
          const month = dayOf(yield* Clock.currentTimeMillis).slice(0, 7)
          const [row] = yield* bounded(sql<{ used: number }>`
            select count(*)::int as used from plan_end_users where org_id = ${orgId} and month = ${month}`)
          return { month, used: row?.used ?? 0, limit: testTierEndUsers }
        }),
        mint: Effect.fnUntraced(function* (caller, endUserId, ttlSeconds) {
          yield* gate.admit(plainRequest(caller))
          yield* checkConcurrency(caller)
          yield* checkEndUsers(caller, endUserId)
          return yield* tokens.mint({ endUserId, appId: caller.app.id, keyId: caller.keyId }, ttlSeconds)
        }),
      })
    }),
  )
}

export interface EndUsers {
  readonly month: string
  readonly used: number
  readonly limit: number
}

/** Distinct end users per month for a plan of the test tier. */
const testTierEndUsers = 100

const unavailable = (cause: StoreUnavailable): ServiceError<"plan_gate_unavailable"> =>
  serviceError("plan_gate_unavailable", "Admission is temporarily unavailable", { retryAfterMs: 1000, cause })
