/** Reports of how calls and their vendor calls end, for metrics, reports and the log. */
import { type Context, Effect } from "effect"
import type { CallTarget } from "../../catalogue/snapshot.ts"
import type { Denial, PolicyHit } from "../../policies/review.ts"
import { recordOutcome, recordShed, recordTierTimeout } from "../../telemetry/metrics.ts"
import { isShortage } from "../../upstream/client.ts"
import { callerView } from "../call-view.ts"
import type { AdmittedCall, CallOrigin, HeldCall } from "../held-call.ts"
import type { CallServices } from "../services.ts"
import { type CallError, describe, tierOf } from "../vendor/errors.ts"

/** A refusal before the model was checked. */
export const reportRefusal = (services: CallServices, call: CallOrigin, purpose: string, code: string): void => {
  recordOutcome(services.context, code, unknownModel)
  services.reports.add({
    ...callerOf(call),
    atMs: services.nowMs(),
    requestId: undefined,
    sessionId: undefined,
    purpose,
    model: unknownModel,
    code,
    isBilled: false,
    tookMs: 0,
    attempts: [],
  })
}

interface End {
  /** The stop reason of a call that succeeded. */
  readonly stop?: string | undefined
  /** The error code of one that did not. */
  readonly outcome: string
  readonly isBilled: boolean
}

/**
 * The end of a call whose request was read. One that succeeded at its first vendor call needs no report, unless it
 * is traced: its usage record has no trace id.
 */
export const reportEnd = <Body extends object>(
  admitted: AdmittedCall<Body> | HeldCall<Body>,
  { stop, outcome, isBilled }: End,
): void => {
  const { services, call, meta, kind } = admitted
  const model = "task" in admitted || isKnown(admitted) ? admitted.model : unknownModel
  // Names that a catalogue does not list would be values of a label without end.
  recordOutcome(services.context, stop ?? outcome, kind.recordedAs === undefined ? model : kind.purpose)
  const conversation = "conversation" in admitted ? admitted.conversation : undefined
  const attempts = conversation?.attempts ?? []
  if (stop !== undefined && attempts.length === 0 && call.traceId === undefined) return
  const atMs = services.nowMs()
  services.reports.add({
    ...callerOf(call),
    atMs,
    requestId: meta?.requestId,
    sessionId: meta?.sessionId,
    purpose: meta?.purpose ?? kind.purpose,
    model,
    code: stop === undefined ? outcome : undefined,
    isBilled,
    tookMs: conversation === undefined ? 0 : atMs - conversation.startedAtMs,
    attempts,
  })
}

const callerOf = ({ requestId, caller, traceId }: CallOrigin) => ({
  traceId,
  ref: requestId,
  ...callerView(caller),
})

/** Handles that callers invent are no values of dimensions. */
const unknownModel = "unknown"

/** Whether the catalogue knows the model; a kind without models is called by its purpose. */
const isKnown = ({ services, model, kind }: Pick<AdmittedCall<never>, "services" | "model" | "kind">): boolean =>
  model === kind.purpose || kind.recordedAs !== undefined || services.catalogue.current().model(model) !== undefined

/** A vendor call that failed. @param message for the log */
export const reportFailedCall = (
  context: Context.Context<never>,
  target: CallTarget,
  error: CallError,
  message = "An upstream call failed",
): Effect.Effect<void> => {
  const tier = tierOf(error)
  if (tier !== undefined) recordTierTimeout(context, tier, target)
  if (error._tag === "UpstreamBroken" && isShortage(error)) recordShed(context, "files")
  // A request with a field that a target does not support says nothing about the target.
  const isUnfit = error._tag === "ServiceError" && error.code === "bad_request"
  return isUnfit
    ? Effect.logInfo("A target cannot be asked for this", { target: target.key, ...error.detail })
    : Effect.logWarning(message, { target: target.key, ...describe(error) })
}

/** Sends the event of a denial, without the text. */
export const noteDenial = (
  denials: CallServices["denials"],
  { caller, requestId, model }: CallOrigin & { readonly model: string },
  { policy, reason }: Denial,
  at: PolicyHit["at"],
): void =>
  denials.note({
    orgId: caller.org.id,
    policy,
    reason,
    at,
    appId: caller.app?.id,
    keyId: caller.keyId,
    requestId,
    model,
    tags: caller.tags,
  })
