/** How exchanges end, for metrics and reports. */
import type { Stop } from "../protocol/exchange.ts"
import { recordOutcome } from "../telemetry/metrics.ts"
import type { AdmittedExchange, ExchangeCall, ExchangeServices, HeldExchange } from "./held-exchange.ts"

/** A refusal before the model was checked. */
export const reportRefusal = (services: ExchangeServices, call: ExchangeCall, code: string): void => {
  recordOutcome(services.context, code, unknownModel)
  services.reports.add({
    ...callerOf(call),
    atMs: services.nowMs(),
    requestId: undefined,
    sessionId: undefined,
    purpose: defaultPurpose,
    model: unknownModel,
    code,
    isBilled: false,
    tookMs: 0,
    attempts: [],
  })
}

interface End {
  /** The stop reason of an exchange that succeeded. */
  readonly stop?: Stop | undefined
  /** The error code of one that did not. */
  readonly outcome: string
  readonly isBilled: boolean
}

/**
 * The end of an exchange whose request was read. One that succeeded at its first vendor call needs no report, unless it
 * is traced: its usage record has no trace id.
 */
export const reportEnd = (x: AdmittedExchange | HeldExchange, { stop, outcome, isBilled }: End): void => {
  const { services, call, request } = x
  const model = services.catalogue.current().model(request.model) === undefined ? unknownModel : request.model
  recordOutcome(services.context, stop ?? outcome, model)
  const conversation = "conversation" in x ? x.conversation : undefined
  const attempts = conversation?.attempts ?? []
  if (stop !== undefined && attempts.length === 0 && call.traceId === undefined) return
  const atMs = services.nowMs()
  services.reports.add({
    ...callerOf(call),
    atMs,
    requestId: request.meta?.requestId,
    sessionId: request.meta?.sessionId,
    purpose: request.meta?.purpose ?? defaultPurpose,
    model,
    code: stop === undefined ? outcome : undefined,
    isBilled,
    tookMs: conversation === undefined ? 0 : atMs - conversation.startedAtMs,
    attempts,
  })
}

const callerOf = ({ requestId, caller, traceId }: ExchangeCall) => ({
  traceId,
  ref: requestId,
  org: caller.org.id,
  app: caller.app?.id ?? "",
  key: caller.keyId,
})

/** Handles that callers make up are no values of dimensions. */
const unknownModel = "unknown"
const defaultPurpose = "exchange"
