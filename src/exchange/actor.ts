/**
 * Runs one exchange, from admission to its last event, in its own fiber. The order is the contract's: rate limits →
 * decode → idempotency → model, price, context window → hold → vendor → settle → idempotency record → last event. This
 * file contains the steps before admission; `flight.ts` contains the others.
 */
import { Effect, Result } from "effect"
import type { AdmissionError, AdmitRequest } from "../admission/gate.ts"
import { rateWindows } from "../admission/rates.ts"
import { isRegistryComplete } from "../admission/request-id.ts"
import type { Admitted } from "../admission/sessions.ts"
import { serviceError } from "../protocol/error.ts"
import { toServiceError } from "../store/unavailable.ts"
import { recordOutcome } from "../telemetry/metrics.ts"
import { spanned } from "../telemetry/tracing.ts"
import type { ActorServices } from "./admitted.ts"
import type { ClientLink } from "./client-link.ts"
import { type DecodedExchange, decodeExchange } from "./decode.ts"
import type { ExchangeCall } from "./due.ts"
import { Flight } from "./flight.ts"
import { isAuthorised } from "./plan.ts"
import { type RegisteredExchange, replay } from "./replay.ts"
import { inProgressReply } from "./replies.ts"
import { Tally } from "./tally.ts"

/** Runs one exchange; everything for the client goes through the link. */
export const runExchange = (services: ActorServices, call: ExchangeCall, link: ClientLink): Effect.Effect<void> =>
  Effect.gen(function* () {
    const decoded = decodeExchange(call.body)
    const registration = registrationOf(call, decoded)
    const admission = yield* spanned("admit")(admit(services, call, decoded, registration))
    const { request } = yield* Effect.fromResult(decoded)
    switch (admission._tag) {
      case "InProgress":
        return link.answer(inProgressReply(registration?.requestId ?? ""))
      case "Completed":
        return registration && link.answer(yield* replay(services, registration))
      case "Admitted": {
        const tally = new Tally({ keepsBlocks: request.stream !== true })
        const flight = new Flight({ services, call, link, request, registration, tally, warnings: [] })
        return yield* flight.run(mayBeForgotten(services, link, registration, admission.remembersSinceMs))
      }
    }
  }).pipe(
    Effect.catch((error) =>
      Effect.sync(() => {
        // Refused before its model was checked.
        recordOutcome(services.context, toServiceError(error).code, "unknown")
        link.refuse(error, call.requestId)
      }),
    ),
    // A defect: the client gets an internal error, and the hold is left to its lease.
    Effect.onError((cause) =>
      Effect.sync(() =>
        link.refuse(
          serviceError("internal_error", "The service could not complete the request", { cause }),
          call.requestId,
        ),
      ),
    ),
  )

/** One call of the gate, including the session if the caller may use the model. */
const admit = (
  { gate, sessions, catalogue, config }: ActorServices,
  { caller }: ExchangeCall,
  decoded: Result.Result<DecodedExchange, unknown>,
  registration: RegisteredExchange | undefined,
): Effect.Effect<Admitted, AdmissionError> => {
  const request: AdmitRequest = {
    owner: caller.org.id,
    keyId: caller.keyId,
    nonce: caller.nonce,
    rates: rateWindows(caller),
    register: registration && { ...registration, leaseMs: config.leaseMs },
  }
  const sessionId = Result.isSuccess(decoded) ? decoded.success.request.meta?.sessionId : undefined
  const mayHave = Result.isSuccess(decoded) && isAuthorised(decoded.success.request.model, caller, catalogue.current())
  if (sessionId !== undefined && mayHave) return sessions.admit(request, caller, sessionId)
  return Effect.map(gate.admit(request), (admission) => (admission._tag === "UnknownSession" ? passed : admission))
}

/** Whether the registry may have forgotten a request id that was used before. */
const mayBeForgotten = (
  { config }: ActorServices,
  link: ClientLink,
  registration: RegisteredExchange | undefined,
  remembersSinceMs: number | undefined,
): boolean => {
  if (registration === undefined) return false
  const keptMs = config.idempotencyTtlS * 1000
  return !isRegistryComplete(registration.requestId, { nowMs: link.nowMs(), keptMs, remembersSinceMs })
}

const passed: Admitted = { _tag: "Admitted" }

const registrationOf = (
  { caller, requestId: claim }: ExchangeCall,
  decoded: Result.Result<DecodedExchange, unknown>,
): RegisteredExchange | undefined => {
  if (Result.isFailure(decoded)) return undefined
  const { request, payloadHash } = decoded.success
  const requestId = request.meta?.requestId
  if (requestId === undefined || payloadHash === undefined) return undefined
  return { owner: caller.org.id, keyId: caller.keyId, requestId, claim, payloadHash }
}
