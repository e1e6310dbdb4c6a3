/** The admission of a call: its credential may make it, and the gate counts it. */
import { Effect, Result } from "effect"
import type { Admission, AdmissionError, AdmitRequest, DailyCount, Limited } from "../admission/gate.ts"
import { isRegistryComplete } from "../admission/request-id.ts"
import type { Admitted } from "../admission/sessions.ts"
import type { CatalogueSnapshot } from "../catalogue/snapshot.ts"
import type { Caller } from "../identity/caller.ts"
import { type ServiceError, serviceError } from "../protocol/error.ts"
import { type CountedLimits, limitsOfRequest } from "./counted-limits.ts"
import type { Call } from "./held-call.ts"
import type { CallRequest } from "./kind.ts"
import { isAuthorised } from "./model.ts"
import type { RegisteredCall } from "./reply/replay.ts"
import type { CallServices } from "./services.ts"

/** An application's end users may make only the calls that its organisation allows them. */
export const lackingCapability = <Request extends CallRequest, Body extends object>({
  kind: { capability },
  caller: { endUserId, org },
}: Call<Request, Body>): ServiceError<"forbidden"> | undefined =>
  capability === undefined || endUserId === undefined || org.capabilities?.[capability] === true
    ? undefined
    : serviceError("forbidden", `${capability} is not enabled for end users`, { detail: { capability } })

/** One step at the gate, including the session if the caller may use the model. */
export const admit = <Request extends CallRequest, Body extends object>(
  { gate, sessions, catalogue, config, usualOutputs }: CallServices,
  { caller, kind, decoded }: Call<Request, Body>,
  registration: RegisteredCall | undefined,
  counts: ReadonlyArray<DailyCount>,
  limits: CountedLimits,
): Effect.Effect<Admitted, AdmissionError> => {
  const request = Result.isSuccess(decoded) ? decoded.success.request : undefined
  const ofCaller = limitsOfRequest(caller, kind, request, catalogue.current(), usualOutputs)
  const runsAlone = Result.isSuccess(decoded) && decoded.success.begun !== undefined
  const limited = runsAlone ? inBackground(ofCaller, caller, config.backgroundResponses) : ofCaller
  const asked: AdmitRequest = {
    ...limited,
    keyId: caller.keyId,
    counts: Result.isSuccess(decoded) ? counts : none,
    register: registration && { ...registration, leaseMs: config.leaseMs },
  }
  const counted = (admission: Admission): Admitted => {
    if (admission._tag === "UnknownSession") return passed
    limits.admitted(limited, admission.counted)
    return admission
  }
  const sessionId = request?.meta?.sessionId
  const mayHave = mayUse({ caller, kind, decoded }, catalogue.current())
  return Effect.map(
    sessionId !== undefined && mayHave ? sessions.admit(asked, caller, sessionId) : gate.admit(asked),
    counted,
  )
}

/** The limits of a call whose client does not wait: only so many of its application or person run at a time. */
const inBackground = (limited: Limited, { app, person }: Caller, limit: number): Limited => {
  const scope = app === undefined ? "person" : "app"
  const bucket = `background:${scope}:${encodeURIComponent(app?.id ?? person?.id ?? "")}`
  return { ...limited, slots: [...(limited.slots ?? none), { bucket, limit, scope, of: "background" }] }
}

/** Whether the caller may use the model of a request, if it has one. */
export const mayUse = <Request extends CallRequest, Body extends object>(
  { caller, kind, decoded }: Pick<Call<Request, Body>, "caller" | "kind" | "decoded">,
  catalogue: CatalogueSnapshot,
): boolean => {
  const model = Result.isSuccess(decoded) ? kind.modelOf(decoded.success.request) : undefined
  return model === undefined || isAuthorised(model, caller, catalogue)
}

const passed: Admitted = { _tag: "Admitted" }

export const registrationOf = <Request extends CallRequest, Body extends object>({
  caller,
  requestId: claim,
  decoded,
}: Call<Request, Body>): RegisteredCall | undefined => {
  if (Result.isFailure(decoded)) return undefined
  const { request, payloadHash } = decoded.success
  const requestId = request.meta?.requestId
  if (requestId === undefined || payloadHash === undefined) return undefined
  return { owner: caller.org.id, keyId: caller.keyId, requestId, claim, payloadHash }
}

/** Whether the registry may have lost a request id that was used before. */
export const mayBeForgotten = (
  { config, nowMs }: CallServices,
  { requestId }: RegisteredCall,
  remembersSinceMs: number | undefined,
): boolean =>
  !isRegistryComplete(requestId, { nowMs: nowMs(), keptMs: config.idempotencyTtlS * 1000, remembersSinceMs })

const none: ReadonlyArray<never> = []
