/** Opens the vendor's socket of a realtime session: targets in their order, until one is reached. */
import { Effect, Result } from "effect"
import { coolDownAsAsked, noTarget } from "../../calls/failover.ts"
import type { CallServices } from "../../calls/services.ts"
import { authorizationOf, credentialMissing, lacksCredential, withoutIdentity } from "../../calls/vendor-credential.ts"
import {
  type AttemptError,
  type CallError,
  describe,
  errorForClient,
  isWorthFailover,
  tierTimeout,
  VendorRejected,
  verdictOf,
} from "../../calls/vendor-errors.ts"
import type { CallTarget } from "../../catalogue/snapshot.ts"
import type { ServiceError } from "../../protocol/error.ts"
import { recordTier, recordTierTimeout } from "../../telemetry/metrics.ts"
import { retryAfterOf } from "../../upstream/retry-after.ts"
import type { VendorSocket, VendorSockets } from "../../upstream/vendor-sockets.ts"
import type { RealtimePlan } from "./plan.ts"

export interface Reached {
  readonly socket: VendorSocket
  readonly target: CallTarget
}

/** @param headers of the client that the vendor must know, such as the preview of the API that it speaks */
export const connectVendor = Effect.fnUntraced(function* (
  services: CallServices,
  vendorSockets: VendorSockets["Service"],
  plan: RealtimePlan,
  headers: Readonly<Record<string, string>>,
): Effect.fn.Return<Reached, ServiceError> {
  let last: AttemptError = noTarget
  // If all targets are cooling down because of their breakers, they are called anyway.
  for (const despiteBreaker of [false, true]) {
    for (const target of plan.targets) {
      const cooling = services.health.coolingDown(target.key, despiteBreaker)
      if (cooling !== undefined) {
        last = cooling
        continue
      }
      const opened = yield* Effect.result(openAt(services, vendorSockets, plan, target, headers))
      if (Result.isSuccess(opened)) return { socket: opened.success, target }
      last = opened.failure
      yield* report(services, target, opened.failure, despiteBreaker)
      if (!isWorthFailover(last)) return yield* errorForClient(last, services.nowMs())
    }
    if (last._tag !== "TargetCoolingDown") break
  }
  return yield* errorForClient(last, services.nowMs())
})

const openAt = Effect.fnUntraced(function* (
  services: CallServices,
  vendorSockets: VendorSockets["Service"],
  { entry }: RealtimePlan,
  target: CallTarget,
  headers: Readonly<Record<string, string>>,
): Effect.fn.Return<VendorSocket, CallError> {
  const { vendor, dialect, isGuarded, network } = target
  const timeouts = services.timeoutsOf(services.catalogue.current(), target, entry)
  const path = dialect.realtime?.path(target.model)
  if (path === undefined) return yield* new VendorRejected({ status: 0, code: "no_realtime" })
  const authorization = yield* authorize(services, target, path)
  const startedAtMs = services.nowMs()
  const socket = yield* vendorSockets
    .open({ baseUrl: vendor.baseUrl, path, headers: { ...headers, ...authorization }, isGuarded, network })
    .pipe(
      Effect.catchTag("UpgradeRefused", ({ status, headers: told, body }) => {
        const retryAfterMs = retryAfterOf(told, services.nowMs())
        return Effect.fail(new VendorRejected({ ...dialect.decodeError(status, body), retryAfterMs }))
      }),
      Effect.timeoutOrElse({
        duration: timeouts.connect,
        orElse: () => Effect.fail(tierTimeout("connect", timeouts.connect)),
      }),
    )
  recordTier(services.context, "connect", target, services.nowMs() - startedAtMs)
  return socket
})

const authorize = (
  { client }: CallServices,
  target: CallTarget,
  path: string,
): Effect.Effect<Readonly<Record<string, string>>, VendorRejected> => {
  if (lacksCredential(target)) return Effect.fail(credentialMissing)
  return Effect.mapError(authorizationOf(client, target, { path, body: "" }), withoutIdentity)
}

const report = Effect.fnUntraced(function* (
  { health, context }: CallServices,
  target: CallTarget,
  error: CallError,
  despiteBreaker: boolean,
) {
  if (!despiteBreaker && verdictOf(error) === "failing") yield* health.failed(target.key)
  yield* coolDownAsAsked(health, target, error)
  if (error._tag === "ServiceError" && error.code === "upstream_connect_timeout") {
    recordTierTimeout(context, "connect", target)
  }
  yield* Effect.logWarning("An upstream socket could not be opened", { target: target.key, ...describe(error) })
})
