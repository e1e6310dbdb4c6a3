/** The model of a call: whether its caller may use it, its price, and its targets in failover order. */
import { Result } from "effect"
import { lackingPrice } from "../catalogue/price-of-kind.ts"
import type { CallTarget, CatalogueSnapshot, ModelEntry } from "../catalogue/snapshot.ts"
import { ownIdentity } from "../cloud-identities/own-identity.ts"
import type { Caller } from "../identity/caller.ts"
import { batchPrice } from "../money/batch-price.ts"
import type { Price } from "../money/pricing.ts"
import { ServiceError, serviceError } from "../protocol/error.ts"
import type { ModelKind } from "../protocol/kinds/call-kind.ts"
import { allowsModel, type ModelHolder } from "../tenants/subject-limits.ts"
import type { OrgEntry } from "../tenants/tenants.ts"
import { ownTargetKey } from "../upstream/health.ts"
import { orderTargets } from "../upstream/pool.ts"
import type { UpstreamKey } from "../upstream/upstream-keys.ts"

/** Whether a caller may use a model. */
export const isAuthorised = (model: string, holder: ModelHolder, catalogue: CatalogueSnapshot): boolean => {
  const entry = catalogue.model(model)
  return entry !== undefined && entry.model.mode !== "direct" && allowsModel(holder, entry.model)
}

/** Whether a list forbids a model now. A reply of one that has left the catalogue may still be sent again. */
export const isForbidden = (model: string | undefined, holder: ModelHolder, catalogue: CatalogueSnapshot): boolean => {
  const entry = model === undefined ? undefined : catalogue.model(model)
  return entry !== undefined && !allowsModel(holder, entry.model)
}

/** The same for models that do not exist and for those that the caller may not use. */
export const modelNotAuthorised = serviceError("model_not_authorized", "This model is not available to the caller")

export interface PricedModel {
  readonly entry: ModelEntry
  readonly price: Price
}

/** The client's error if the catalogue has no model of a kind. */
export type NotConfigured =
  | "imagegen_not_configured"
  | "tts_not_configured"
  | "asr_not_configured"
  | "videogen_not_configured"

/**
 * Unknown handles, handles outside the caller's surface, direct-mode handles and models of another kind are refused
 * identically.
 */
export const modelFor = (
  handle: string,
  kind: ModelKind,
  caller: ModelHolder & Pick<OrgEntry, "org"> & Pick<Caller, "batch">,
  catalogue: CatalogueSnapshot,
  nowMs: number,
): Result.Result<PricedModel, ServiceError<"model_not_authorized" | "pricing_guard_tripped">> => {
  const entry = isAuthorised(handle, caller, catalogue) ? catalogue.model(handle) : undefined
  if (entry === undefined || kindOf(entry) !== kind) {
    return Result.fail(modelNotAuthorised)
  }
  const price = catalogue.price(handle, caller.org.currency, caller.batch?.pricedAtMs ?? nowMs)
  return price === undefined || lackingPrice(kind, price) !== undefined
    ? Result.fail(serviceError("pricing_guard_tripped", "This model has no valid price"))
    : Result.succeed({ entry, price: caller.batch === undefined ? price : batchPrice(price) })
}

/** A fault that says so if the catalogue has no model of the kind at all. */
export const orNotConfigured = <A, E>(
  found: Result.Result<A, E | ServiceError<"model_not_authorized">>,
  kind: ModelKind,
  { document }: CatalogueSnapshot,
  code: NotConfigured,
): Result.Result<A, E | ServiceError<"model_not_authorized" | NotConfigured>> =>
  Result.mapError(found, (error) =>
    document.models?.some((model) => kindOf({ model }) === kind) === true || !isUnknownModel(error)
      ? error
      : serviceError(code, "No model of this kind is configured"),
  )

const isUnknownModel = (error: unknown): error is ServiceError<"model_not_authorized"> =>
  error instanceof ServiceError && error.code === "model_not_authorized"

export const kindOf = ({ model }: { readonly model: Pick<ModelEntry["model"], "kind"> }): ModelKind =>
  model.kind ?? "chat"

/**
 * Targets in failover order, with the organisation's own key where it has one.
 * @param affinity calls with the same one prefer the same target
 */
export const targetsFor = (
  { org, upstreamKeys: own }: Caller,
  targets: ReadonlyArray<CallTarget>,
  affinity?: string,
): ReadonlyArray<CallTarget> => orderTargets(withOwnKeys(targets, org.id, own), affinity)

/** The targets with the organisation's own key where it has one. */
export const withOwnKeys = (
  targets: ReadonlyArray<CallTarget>,
  orgId: string,
  own: ReadonlyMap<string, UpstreamKey> | undefined,
): ReadonlyArray<CallTarget> => (own === undefined ? targets : targets.map((target) => withOwnKey(target, orgId, own)))

const withOwnKey = (target: CallTarget, orgId: string, keys: ReadonlyMap<string, UpstreamKey>): CallTarget => {
  const own = keys.get(target.vendor.id)
  if (own === undefined) return target
  const isGuarded = own.baseUrl !== undefined
  const { identity: brought } = own
  const vendor = isGuarded ? { ...target.vendor, baseUrl: own.baseUrl } : target.vendor
  return {
    ...target,
    vendor,
    credential: brought === undefined ? own.key : undefined,
    identity: brought === undefined ? undefined : ownIdentity(brought, target.vendor),
    isOwn: true,
    isGuarded,
    key: ownTargetKey(orgId, own.version, target.key),
  }
}
