/** Opens the vendor's socket of a realtime session: targets in their order, until one is reached. */
import { Effect, Exit, Option, Result } from "effect"
import type { CallServices } from "../../calls/services.ts"
import { coolDownAfter, firstAnswer } from "../../calls/target-loop.ts"
import { authorize } from "../../calls/vendor-credential.ts"
import { type CallError, describe, tierTimeout, VendorRejected, verdictOf } from "../../calls/vendor-errors.ts"
import type { CallTarget } from "../../catalogue/snapshot.ts"
import type { ServiceError } from "../../protocol/error.ts"
import { recordTier, recordTierTimeout } from "../../telemetry/metrics.ts"
import type { Despite, Verdict } from "../../upstream/health.ts"
import { withWait } from "../../upstream/retry-after.ts"
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
  const { health, nowMs } = services
  health.inForce(services.catalogue.current())
  const { targets, entry } = plan
  const ask = Effect.fnUntraced(function* (target: CallTarget, despite: Despite) {
    const isSuspect = health.isSuspect(target.key)
    const opening = openAt(services, vendorSockets, plan, target, headers)
    const opened = yield* Effect.result(
      isSuspect ? health.begin(target.key, opening, { judge: verdictOfExit, despite }) : opening,
    )
    if (Result.isSuccess(opened)) return Result.succeed({ socket: opened.success, target })
    const { failure: error } = opened
    if (error._tag !== "TargetCoolingDown") yield* report(services, target, error, isSuspect, despite)
    return Result.fail({ error })
  })
  const triesAfterRefusal = entry.model.tryNext === true
  const answer = yield* firstAnswer({ targets, health, nowMs, triesAfterRefusal, ask })
  return Result.isSuccess(answer) ? answer.success : yield* answer.failure.told
})

const verdictOfExit = (exit: Exit.Exit<unknown, CallError>): Verdict => {
  if (Exit.isSuccess(exit)) return "healthy"
  const error = Option.getOrUndefined(Exit.findErrorOption(exit))
  return error === undefined ? "ignored" : verdictOf(error)
}

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
  if (path === undefined) return yield* new VendorRejected({ status: 0, code: "no_realtime", blame: "request" })
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
  return socket
})

const report = Effect.fnUntraced(function* (
  { health, context }: CallServices,
  target: CallTarget,
  error: CallError,
  isSuspect: boolean,
  despite: Despite,
) {
  if (!isSuspect && verdictOf(error) === "failing") yield* health.failed(target.key)
  yield* coolDownAfter(health, target, error, despite)
  if (error._tag === "ServiceError" && error.code === "upstream_connect_timeout") {
    recordTierTimeout(context, "connect", target)
  }
  yield* Effect.logWarning("An upstream socket could not be opened", { target: target.key, ...describe(error) })
})
