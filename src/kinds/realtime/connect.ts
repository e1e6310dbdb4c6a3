/** Opens the vendor's socket of a realtime session: targets in their order, until one is reached. */
import { Effect, Result } from "effect"
import type { CallServices } from "../../calls/services.ts"
import { reportFailedCall } from "../../calls/settle/report.ts"
import { authorize } from "../../calls/vendor/credential.ts"
import { type AttemptError, type CallError, tierTimeout, VendorRejected } from "../../calls/vendor/errors.ts"
import { beginning, firstAnswer } from "../../calls/vendor/target-loop.ts"
import type { CallTarget } from "../../catalogue/snapshot.ts"
import type { ServiceError } from "../../protocol/error.ts"
import { recordTier } from "../../telemetry/metrics.ts"
import type { Despite } from "../../upstream/health.ts"
import { withWait } from "../../upstream/retry-after.ts"
import type { VendorSocket, VendorSockets } from "../../upstream/vendor-sockets.ts"
import { begun } from "./first-answer.ts"
import type { RealtimePlan } from "./plan.ts"

export interface Reached {
  readonly socket: VendorSocket
  readonly target: CallTarget
}

/**
 * @param headers of the client that the vendor must know, such as the preview of the API that it speaks
 * @param first makes the first message for a target; absent if the API has none
 */
export const connectVendor = Effect.fnUntraced(function* (
  services: CallServices,
  vendorSockets: VendorSockets["Service"],
  plan: RealtimePlan,
  headers: Readonly<Record<string, string>>,
  first?: (target: CallTarget) => string,
): Effect.fn.Return<Reached, ServiceError> {
  const { health, nowMs, catalogue, context } = services
  health.inForce(catalogue.current())
  const open = Effect.fnUntraced(function* (
    target: CallTarget,
    despite: Despite | undefined,
  ): Effect.fn.Return<Result.Result<Reached, AttemptError>> {
    const opening = openAt(services, vendorSockets, plan, target, headers, first)
    const begun: Effect.Effect<VendorSocket, AttemptError> =
      despite === undefined ? opening : beginning(health, target, despite, opening)
    const opened = yield* Effect.result(begun)
    if (Result.isSuccess(opened)) return Result.succeed({ socket: opened.success, target })
    const { failure: error } = opened
    if (error._tag !== "TargetCoolingDown") {
      yield* reportFailedCall(context, target, error, "An upstream socket could not be opened")
    }
    return Result.fail(error)
  })
  const { targets, entry } = plan
  const answer = yield* firstAnswer({ targets, health, nowMs, triesAfterRefusal: entry.model.tryNext === true, open })
  return Result.isSuccess(answer) ? answer.success : yield* answer.failure.told
})

const openAt = Effect.fnUntraced(function* (
  services: CallServices,
  vendorSockets: VendorSockets["Service"],
  { entry }: RealtimePlan,
  target: CallTarget,
  headers: Readonly<Record<string, string>>,
  first: ((target: CallTarget) => string) | undefined,
): Effect.fn.Return<VendorSocket, CallError> {
  const { vendor, dialect, isGuarded, network } = target
  const { realtime } = dialect
  const timeouts = services.timeoutsOf(services.catalogue.current(), target, entry)
  if (realtime === undefined) return yield* new VendorRejected({ status: 0, code: "no_realtime", blame: "request" })
  const path = realtime.path(target.model)
  const authorization = yield* authorize(services.client, target, { path, body: "" })
  const startedAtMs = services.nowMs()
  const socket = yield* vendorSockets
    .open({ baseUrl: vendor.baseUrl, path, headers: { ...headers, ...authorization }, isGuarded, network })
    .pipe(
      Effect.catchTag("UpgradeRefused", ({ status, headers: told, body }) => {
        const fault = withWait(dialect.decodeError(status, body), told, services.nowMs())
        return Effect.fail(new VendorRejected(fault))
      }),
      Effect.timeoutOrElse({
        duration: timeouts.connect,
        orElse: () => Effect.fail(tierTimeout("connect", timeouts.connect)),
      }),
    )
  recordTier(services.context, "connect", target, services.nowMs() - startedAtMs)
  if (first === undefined) return socket
  return yield* Effect.timeoutOrElse(begun(socket, first(target), realtime), {
    duration: timeouts.ttfb,
    orElse: () => Effect.fail(tierTimeout("ttfb", timeouts.ttfb)),
  })
})
