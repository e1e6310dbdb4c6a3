/**
 * The platform's part of the catalogue, indexed for the hot path: immutable, replaced as a whole when a new revision is
 * applied.
 */
import { Redacted, Result } from "effect"
import type { Dialect } from "../dialects/dialect.ts"
import { dialectOf } from "../dialects/index.ts"
import { type BudgetIndex, indexBudgets, readBudget } from "../money/budget.ts"
import { isSanePrice, type Price, readPrice } from "../money/pricing.ts"
import type {
  Model,
  Plan,
  PlatformDocument,
  PriceEntry,
  SearchProvider,
  Target,
  TimeoutTiers,
  Vendor,
} from "../protocol/catalogue.ts"
import { compilePolicy, type ReviewPolicy } from "../review/policy.ts"
import { type Network, readNetwork } from "../upstream/network.ts"
import type { Pooled } from "../upstream/pool.ts"
import { definedOf } from "./references.ts"
import type { ResolveRef } from "./secrets.ts"

export interface VendorEntry {
  readonly vendor: Vendor
  readonly dialect: Dialect
  /** Undefined if the catalogue names none, or it cannot be resolved. */
  readonly credential: Redacted.Redacted | undefined
  /** How its address is reached, where the catalogue says so. */
  readonly network: Network | undefined
  /** Of its address, e.g. `api.openai.com`. */
  readonly host: string
  /** The vendor's own names of the models for which the catalogue uses it. */
  readonly models: ReadonlyArray<string>
}

export interface ModelTarget extends Pooled, Omit<VendorEntry, "models" | "host"> {
  /** The vendor's own name of the model. */
  readonly model: string
  /** Whether the organisation brings its own key: then the vendor bills the organisation, and Weir does not. */
  readonly isOwn: boolean
  /** Whether the organisation brings its own address too: then calls pass the egress guard. */
  readonly isGuarded: boolean
}

export interface ModelEntry {
  readonly model: Model
  /** In the catalogue's order. */
  readonly targets: ReadonlyArray<ModelTarget>
}

export interface SearchProviderEntry {
  readonly provider: SearchProvider
  /** Undefined if the catalogue names none, or it cannot be resolved. */
  readonly credential: Redacted.Redacted | undefined
  readonly network: Network | undefined
  /** When the provider last changed in the catalogue. */
  readonly changedAtMs: number
}

export interface CatalogueSnapshot {
  readonly revision: bigint
  readonly fingerprint: string
  readonly document: PlatformDocument
  readonly plan: (id: string) => Plan | undefined
  /** A safety policy, compiled. */
  readonly policy: (id: string) => ReviewPolicy | undefined
  readonly vendor: (id: string) => VendorEntry | undefined
  readonly model: (handle: string) => ModelEntry | undefined
  /** The price at a time; undefined if there is none, or if it is out of range. */
  readonly price: (handle: string, currency: string, nowMs: number) => Price | undefined
  /** Active search providers, in the directory's order. */
  readonly searchProviders: ReadonlyArray<SearchProviderEntry>
  readonly budgets: BudgetIndex
  /** The timeout profile of an environment. */
  readonly timeouts: (env: string) => TimeoutTiers
}

interface DatedPrice {
  readonly price: Price
  readonly fromMs: number
}

type SnapshotOf = [
  document: PlatformDocument,
  revision: bigint,
  fingerprint: string,
  resolve: ResolveRef,
  changedAtMs?: (providerId: string) => number,
]

export const makeSnapshot = (...of: SnapshotOf): CatalogueSnapshot => {
  const steps = snapshotSteps(...of)
  let step = steps.next()
  while (step.done !== true) step = steps.next()
  return step.value
}

/** The same in steps, each of which takes some milliseconds with ten thousand models and prices. */
export function* snapshotSteps(
  ...[document, revision, fingerprint, resolve, changedAtMs = () => 0]: SnapshotOf
): Generator<void, CatalogueSnapshot> {
  const plans = new Map(document.plans?.map((plan) => [plan.id, plan]))
  const policies = indexPolicies(document, resolve)
  yield
  const vendors = indexVendors(document, resolve)
  yield
  const models = indexModels(document, vendors)
  yield
  const prices = indexPrices(document)
  yield
  return {
    revision,
    fingerprint,
    document,
    plan: (id) => plans.get(id),
    policy: (id) => policies.get(id),
    vendor: (id) => vendors.get(id),
    model: (handle) => models.get(handle),
    price: (handle, currency, nowMs) =>
      prices.get(`${handle} ${currency}`)?.find(({ fromMs }) => fromMs <= nowMs)?.price,
    searchProviders: indexSearchProviders(document, resolve, changedAtMs),
    budgets: indexBudgets((document.budgets ?? []).map(({ id, ...terms }) => readBudget(id, terms, "platform"))),
    timeouts: (env) => document.timeouts?.[env] ?? {},
  }
}

/** The snapshot of a node before any catalogue is applied. */
export const emptySnapshot: CatalogueSnapshot = makeSnapshot({ version: 1 }, 0n, "", () => undefined)

/** The secret at a reference, if there is one. */
export function redactedOf(ref: string | undefined, resolve: ResolveRef): Redacted.Redacted | undefined {
  const secret = ref === undefined ? undefined : resolve(ref)
  return secret === undefined ? undefined : Redacted.make(secret)
}

/** Each policy is compiled once and shared by the organisations that use it. */
function indexPolicies(document: PlatformDocument, resolve: ResolveRef): ReadonlyMap<string, ReviewPolicy> {
  const compiled = new Map<string, ReviewPolicy>()
  for (const policy of document.policies ?? []) {
    const ready = compilePolicy(policy, resolve)
    if (Result.isSuccess(ready)) compiled.set(policy.id, ready.success)
  }
  return compiled
}

function indexVendors(document: PlatformDocument, resolve: ResolveRef): ReadonlyMap<string, VendorEntry> {
  const models = new Map<string, Array<string>>()
  for (const { targets = [] } of document.models ?? []) {
    for (const { vendor, model } of targets) {
      const known = models.get(vendor)
      if (known === undefined) models.set(vendor, [model])
      else known.push(model)
    }
  }
  return new Map(
    document.vendors?.map((vendor) => {
      const entry: VendorEntry = {
        vendor,
        dialect: dialectOf(vendor),
        credential: redactedOf(vendor.credential, resolve),
        network: readNetwork(vendor, resolve),
        host: new URL(vendor.baseUrl).host,
        models: models.get(vendor.id) ?? [],
      }
      return [vendor.id, entry]
    }),
  )
}

function indexSearchProviders(
  document: PlatformDocument,
  resolve: ResolveRef,
  changedAtMs: (providerId: string) => number,
): ReadonlyArray<SearchProviderEntry> {
  const active = (document.searchProviders ?? []).filter(({ active }) => active !== false)
  const entries = active.map((provider) => {
    const credential = redactedOf(provider.credential, resolve)
    return { provider, credential, network: readNetwork(provider, resolve), changedAtMs: changedAtMs(provider.id) }
  })
  return entries.sort(byDirectoryOrder)
}

/** By weight, then the most recently changed, then by id: the order of the directory, and of failover. */
function byDirectoryOrder(a: SearchProviderEntry, b: SearchProviderEntry): number {
  const byWeight = (b.provider.weight ?? 1) - (a.provider.weight ?? 1)
  return byWeight || b.changedAtMs - a.changedAtMs || (a.provider.id < b.provider.id ? -1 : 1)
}

function indexModels(
  document: PlatformDocument,
  vendors: ReadonlyMap<string, VendorEntry>,
): ReadonlyMap<string, ModelEntry> {
  return new Map(
    document.models?.map((model) => [
      model.handle,
      {
        model,
        targets: (model.targets ?? []).flatMap((target) => makeTarget(target, vendors.get(target.vendor)) ?? []),
      },
    ]),
  )
}

function makeTarget({ model, tier = 0, weight }: Target, entry: VendorEntry | undefined): ModelTarget | undefined {
  if (entry === undefined) return undefined
  const { vendor, dialect, credential, network, host } = entry
  return {
    vendor,
    dialect,
    credential,
    network,
    model,
    isOwn: false,
    isGuarded: false,
    // The same vendor and model elsewhere is another target.
    key: `${vendor.id}/${model}@${host}`,
    tier,
    weight: weight ?? vendor.weight ?? 1,
  }
}

/** Read once: most entries are those of the catalogue before. */
const datedPrices = new WeakMap<PriceEntry, DatedPrice>()

function datedPrice(entry: PriceEntry): DatedPrice | undefined {
  const known = datedPrices.get(entry)
  if (known !== undefined) return known
  const price = readPrice({ ...entry, dims: definedOf(entry.dims) })
  if (price === undefined || !isSanePrice(price)) return undefined
  const dated = { price, fromMs: Date.parse(entry.from) }
  datedPrices.set(entry, dated)
  return dated
}

/** Newest first. */
function indexPrices(document: PlatformDocument): ReadonlyMap<string, ReadonlyArray<DatedPrice>> {
  const prices = new Map<string, Array<DatedPrice>>()
  for (const entry of document.prices ?? []) {
    const dated = datedPrice(entry)
    if (dated === undefined) continue
    const key = `${entry.model} ${entry.currency}`
    const known = prices.get(key)
    if (known === undefined) prices.set(key, [dated])
    else known.push(dated)
  }
  for (const dated of prices.values()) dated.sort((a, b) => b.fromMs - a.fromMs)
  return prices
}
