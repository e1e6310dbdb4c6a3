/**
 * The platform's part of the catalogue, indexed for the hot path: immutable, replaced as a whole when a new revision is
 * applied.
 */
import { Redacted, Result } from "effect"
import type { Identity } from "../cloud-identities/identity.ts"
import { identityOfExport, identityOfVendor } from "../cloud-identities/vendor-identity.ts"
import type { Dialect } from "../dialects/dialect.ts"
import { dialectOf } from "../dialects/index.ts"
import type { VendorFault } from "../dialects/vendor/faults.ts"
import { type BudgetIndex, indexBudgets, readBudget } from "../money/budgets/budget.ts"
import { isSanePrice, type Price, readPrice } from "../money/pricing.ts"
import type { StoragePlace } from "../object-storage/target.ts"
import { handleOfRoute, type Route, readRoute } from "../pass-through/routes.ts"
import { compilePolicy, type ReviewPolicy } from "../policies/policy.ts"
import type { PlatformDocument } from "../protocol/catalogue/document.ts"
import type { Export } from "../protocol/catalogue/export.ts"
import { type Files, mostFileBytes, mostOrgBytes } from "../protocol/catalogue/files.ts"
import type { Model, Target } from "../protocol/catalogue/model.ts"
import type { Plan } from "../protocol/catalogue/plan.ts"
import type { PriceEntry } from "../protocol/catalogue/price.ts"
import type { SearchProvider } from "../protocol/catalogue/search-provider.ts"
import type { ToolServer } from "../protocol/catalogue/tool-server.ts"
import type { AddressedVendor, BatchRunner, Vendor } from "../protocol/catalogue/vendor.ts"
import type { Webhook } from "../protocol/catalogue/webhook.ts"
import type { WebhookForm } from "../protocol/control/webhook.ts"
import type { ModelKind } from "../protocol/kinds/call-kind.ts"
import type { ResolveRef } from "../secrets.ts"
import { type DeclaredServer, readServer } from "../tools/declared-server.ts"
import { toolAccess } from "../tools/tool-access.ts"
import { isReference, type Network, readNetwork } from "../upstream/network.ts"
import type { Pooled } from "../upstream/pool.ts"
import { addressOf } from "./addresses.ts"

export interface VendorEntry {
  readonly vendor: AddressedVendor
  readonly dialect: Dialect
  /** Undefined if the catalogue names none, or it cannot be resolved. */
  readonly credential: Redacted.Redacted | undefined
  /** The identity that calls carry instead of a credential, if the catalogue has one that can be resolved. */
  readonly identity: Identity | undefined
  /** The proxy and certificates for its address, if the catalogue sets them. */
  readonly network: Network | undefined
  /** The host of its address, e.g. `api.openai.com`. */
  readonly host: string
}

/** A target at which a call of any kind can be made. */
export interface CallTarget extends Pooled, Omit<VendorEntry, "host" | "vendor"> {
  readonly vendor: TargetVendor
  /** The vendor's own name of the model. */
  readonly model: string
  /** The model as its maker names it; the same as `model` if absent. */
  readonly family?: string | undefined
  readonly maxInputs?: number | undefined
  /** The runner of batches; the gateway if absent. */
  readonly batch?: BatchRunner | undefined
  /** Whether the organisation brings its own key: then the vendor bills the organisation, and Weir does not. */
  readonly isOwn: boolean
  /** Whether the organisation brings its own address too: then calls pass the egress guard. */
  readonly isGuarded: boolean
}

/** The fields that a call needs of its vendor, which serves models or searches. */
export interface TargetVendor
  extends Pick<
    AddressedVendor,
    | "id"
    | "baseUrl"
    | "background"
    | "credential"
    | "aws"
    | "google"
    | "azure"
    | "clientGone"
    | "endUser"
    | "newFields"
    | "hostedTools"
    | "files"
    | "timeouts"
  > {
  readonly dialect: string
  readonly profile?: Vendor["profile"]
}

/** A target outside every model: of a check, or of a job that began already. */
export const targetOfVendor = (
  { vendor, dialect, credential, identity, network }: VendorEntry,
  model: string,
): CallTarget => ({
  vendor,
  dialect,
  credential,
  identity,
  network,
  model,
  isOwn: false,
  isGuarded: false,
  key: vendor.id,
  tier: 0,
  weight: 1,
})

/** A vendor's target for a route that has no dialect. */
const targetOfRoute = (entry: VendorEntry, handle: string): CallTarget => {
  const { authorize, decodeError } = entry.dialect
  const target = targetOfVendor(entry, handle)
  return {
    ...target,
    key: `${entry.vendor.id}/${handle}@${entry.host}`,
    dialect: { authorize, decodeError: (status, body) => passedFault(status, decodeError(status, body)) },
  }
}

/** No route's refusal says something of its vendor: an id is unknown, a field is wrong. */
const passedFault = (status: number, fault: VendorFault): VendorFault =>
  status >= 400 && status < 500 && ![401, 402, 408, 429].includes(status) ? { ...fault, blame: "request" } : fault

export interface ModelEntry {
  readonly model: Model
  /** In the catalogue's order. */
  readonly targets: ReadonlyArray<CallTarget>
}

export interface SearchProviderEntry {
  readonly provider: SearchProvider
  /** Undefined if the catalogue names none, or it cannot be resolved. */
  readonly credential: Redacted.Redacted | undefined
  readonly network: Network | undefined
  /** When the provider last changed in the catalogue. */
  readonly changedAtMs: number
}

export interface WebhookTarget extends Pick<Webhook, "id" | "events"> {
  readonly form: WebhookForm
  /** The address, or the reference to one, as the catalogue has it. Undefined for the one that its form has. */
  readonly url: string | undefined
  /** The address itself. Undefined if there is none, or it is not set. */
  readonly address: Redacted.Redacted | undefined
  /** Undefined if it is not set. */
  readonly secret: Redacted.Redacted | undefined
  readonly formerSecret: Redacted.Redacted | undefined
  readonly network: Network | undefined
}

/** An export, and the identity for its destination. */
export interface ExportPlace extends StoragePlace {
  readonly entry: Export
}

/** The place of clients' files, and its limits in bytes. */
export interface FilesPlace extends StoragePlace {
  readonly fileBytes: number
  readonly orgBytes: number
}

export interface CatalogueSnapshot {
  readonly revision: bigint
  readonly fingerprint: string
  readonly document: PlatformDocument
  readonly plan: (id: string) => Plan | undefined
  /** A safety policy, compiled. */
  readonly policy: (id: string) => ReviewPolicy | undefined
  /** The policies that hold for every organisation. */
  readonly policiesForAll: ReadonlyArray<ReviewPolicy>
  readonly vendor: (id: string) => VendorEntry | undefined
  /** Vendors that are called with an identity, and the present problem of each, in a sentence. */
  readonly identities: () => ReadonlyArray<VendorIdentity>
  readonly model: (handle: string) => ModelEntry | undefined
  /** The price at a time; undefined if there is none, or if it is out of range. */
  readonly price: (handle: string, currency: string, nowMs: number) => Price | undefined
  /** Active search providers, in the directory's order. */
  readonly searchProviders: ReadonlyArray<SearchProviderEntry>
  readonly budgets: BudgetIndex
  readonly webhooks: ReadonlyArray<WebhookTarget>
  readonly exports: ReadonlyArray<ExportPlace>
  /** Routes of known vendors. */
  readonly passThrough: ReadonlyArray<Route<CallTarget>>
  /** Servers of tools, in the catalogue's order. */
  readonly toolServers: ReadonlyMap<string, ToolServerEntry>
  /** Undefined if the catalogue names none. */
  readonly files: FilesPlace | undefined
  /** The timeout profile of an environment. */
}

/** A server of tools. */
export type ToolServerEntry = DeclaredServer<CallTarget>

export interface VendorIdentity {
  readonly vendor: string
  readonly problem: string | undefined
}

interface DatedPrice {
  readonly price: Price
  readonly currency: string
  readonly fromMs: number
}

/**
 * Models and prices are made when they are first asked for: of ten thousand, few are used, and making a snapshot stops
 * streams.
 */
export const makeSnapshot = (
  document: PlatformDocument,
  revision: bigint,
  fingerprint: string,
  resolve: ResolveRef,
  changedAtMs: (providerId: string) => number = () => 0,
): CatalogueSnapshot => {
  const plans = new Map(document.plans?.map((plan) => [plan.id, plan]))
  const vendors = indexVendors(document, resolve)
  const models = new Map(document.models?.map((model) => [model.handle, model]))
  const modelOf = onFirstUse(models, (model) => makeModel(model, vendors))
  const policies = indexPolicies(document, resolve, (handle) => modelOf(handle)?.targets ?? [])
  const prices = Map.groupBy(document.prices ?? [], ({ model }) => model)
  const pricesOf = onFirstUse(prices, datedPrices)
  return {
    revision,
    fingerprint,
    document,
    plan: (id) => plans.get(id),
    policy: (id) => policies.get(id),
    policiesForAll: [...policies.values()].filter(({ isForAll }) => isForAll),
    vendor: (id) => vendors.get(id),
    identities: () =>
      [...vendors].flatMap(([vendor, entry]) =>
        needsIdentity(entry) ? [{ vendor, problem: identityProblem(entry) }] : [],
      ),
    model: modelOf,
    price: (handle, currency, nowMs) =>
      pricesOf(handle)?.find((price) => price.currency === currency && price.fromMs <= nowMs)?.price,
    searchProviders: indexSearchProviders(document, resolve, changedAtMs),
    budgets: indexBudgets((document.budgets ?? []).map(({ id, ...terms }) => readBudget(id, terms, "platform"))),
    webhooks: (document.webhooks ?? []).map((webhook) => ({
      ...webhook,
      form: webhook.form ?? "weir",
      url: webhook.url,
      address: receiverAddress(webhook.url, resolve),
      secret: redactedOf(webhook.secret, resolve),
      formerSecret: webhook.formerSecret === undefined ? undefined : redactedOf(webhook.formerSecret, resolve),
      network: readNetwork(webhook, resolve),
    })),
    exports: (document.exports ?? []).map((entry) => ({
      entry,
      identity: identityOfExport(entry, resolve),
      network: readNetwork(entry, resolve),
    })),
    passThrough: (document.passThrough ?? []).flatMap((declared) => {
      const entry = vendors.get(declared.vendor)
      return entry === undefined ? [] : [readRoute(declared, targetOfRoute(entry, handleOfRoute(declared.id)))]
    }),
    toolServers: new Map(
      (document.toolServers ?? []).map((server) => [
        server.id,
        readServer(server, targetsOfTools(server, resolve), resolve),
      ]),
    ),
    files: document.files && filesPlaceOf(document.files, resolve),
  }
}

/** A server of tools is asked as a vendor is. */
const targetsOfTools = (server: ToolServer, resolve: ResolveRef): ReadonlyArray<CallTarget> => {
  const { id, url, replicas = [], openapi, credential, timeouts } = server
  const addresses = url === undefined ? [openapi === undefined ? `process:${id}` : `openapi:${id}`] : [url, ...replicas]
  return addresses.map((baseUrl) => ({
    vendor: {
      id,
      baseUrl,
      dialect: "mcp",
      ...(credential !== undefined && { credential }),
      ...(timeouts !== undefined && { timeouts }),
    },
    dialect: toolAccess,
    credential: redactedOf(credential, resolve),
    identity: undefined,
    network: readNetwork(server, resolve),
    model: id,
    isOwn: false,
    isGuarded: false,
    key: `tools/${id}@${baseUrl}`,
    tier: 0,
    weight: 1,
  }))
}

const filesPlaceOf = (files: Files, resolve: ResolveRef): FilesPlace => {
  const { fileBytes = mostFileBytes, orgBytes = mostOrgBytes, ...place } = files
  return {
    entry: place,
    identity: identityOfExport(place, resolve),
    network: readNetwork(files, resolve),
    fileBytes,
    orgBytes,
  }
}

/** The snapshot of a node before any catalogue is applied. */
export const emptySnapshot: CatalogueSnapshot = makeSnapshot({ version: 1 }, 0n, "", () => undefined)

function onFirstUse<A, B extends object>(sources: ReadonlyMap<string, A>, make: (source: A) => B) {
  const made = new Map<string, B>()
  return (key: string): B | undefined => {
    const known = made.get(key)
    if (known !== undefined) return known
    const source = sources.get(key)
    if (source === undefined) return undefined
    const value = make(source)
    made.set(key, value)
    return value
  }
}

/** The secret at a reference, if there is one. */
export function redactedOf(ref: string | undefined, resolve: ResolveRef): Redacted.Redacted | undefined {
  const secret = ref === undefined ? undefined : resolve(ref)
  return secret === undefined ? undefined : Redacted.make(secret)
}

const receiverAddress = (url: string | undefined, resolve: ResolveRef): Redacted.Redacted | undefined =>
  url !== undefined && !isReference(url) ? Redacted.make(url) : redactedOf(url, resolve)

/** Each policy is compiled once and shared by the organisations that use it. */
function indexPolicies(
  document: PlatformDocument,
  resolve: ResolveRef,
  targets: (handle: string) => ReadonlyArray<CallTarget>,
): ReadonlyMap<string, ReviewPolicy> {
  const compiled = new Map<string, ReviewPolicy>()
  for (const policy of document.policies ?? []) {
    const ready = compilePolicy(policy, resolve, targets)
    if (Result.isSuccess(ready)) compiled.set(policy.id, ready.success)
  }
  return compiled
}

function indexVendors(document: PlatformDocument, resolve: ResolveRef): ReadonlyMap<string, VendorEntry> {
  return new Map(
    document.vendors?.flatMap((vendor) => {
      const baseUrl = addressOf(vendor)
      // Every vendor of a checked document has one.
      if (baseUrl === undefined) return []
      const entry: VendorEntry = {
        vendor: { ...vendor, baseUrl },
        dialect: dialectOf(vendor),
        credential: redactedOf(vendor.credential, resolve),
        identity: identityOfVendor(vendor, resolve),
        network: readNetwork(vendor, resolve),
        host: new URL(baseUrl).host,
      }
      return [[vendor.id, entry]]
    }),
  )
}

const needsIdentity = ({ vendor: { aws, google, azure }, credential }: VendorEntry): boolean =>
  (aws ?? google ?? azure) !== undefined && credential === undefined

/** The reason why calls of a vendor would have no identity; undefined if it works, or was not needed yet. */
const identityProblem = ({ identity }: VendorEntry): string | undefined =>
  identity === undefined ? "a secret that the catalogue references is not set here" : identity.problem()

/** The identities that do not work. */
export const identityProblems = ({ identities }: CatalogueSnapshot) =>
  identities().flatMap(({ vendor, problem }) => (problem === undefined ? [] : [{ vendor, problem }]))

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

/** Compares by weight, then by the latest change, then by id: the order of the directory, and of failover. */
function byDirectoryOrder(a: SearchProviderEntry, b: SearchProviderEntry): number {
  const byWeight = (b.provider.weight ?? 1) - (a.provider.weight ?? 1)
  return byWeight || b.changedAtMs - a.changedAtMs || (a.provider.id < b.provider.id ? -1 : 1)
}

function makeModel(model: Model, vendors: ReadonlyMap<string, VendorEntry>): ModelEntry {
  const { kind = "chat" } = model
  const targets = (model.targets ?? []).flatMap((target) => makeTarget(target, kind, vendors.get(target.vendor)) ?? [])
  return { model, targets }
}

function makeTarget(
  { model, family, maxInputs, tier = 0, weight, batch }: Target,
  kind: ModelKind,
  entry: VendorEntry | undefined,
): CallTarget | undefined {
  if (entry === undefined) return undefined
  const { vendor, dialect, credential, identity, network, host } = entry
  return {
    vendor,
    dialect,
    credential,
    identity,
    network,
    model,
    family,
    maxInputs,
    batch: batch ?? (dialect.batch?.kinds.includes(kind) === true ? vendor.batch : undefined),
    isOwn: false,
    isGuarded: false,
    // The same vendor and model at another address is another target.
    key: `${vendor.id}/${model}@${host}`,
    tier,
    weight: weight ?? vendor.weight ?? 1,
  }
}

/** The prices whose dates are in range, newest first. */
function datedPrices(entries: ReadonlyArray<PriceEntry>): ReadonlyArray<DatedPrice> {
  const dated = entries.flatMap((entry) => {
    const price = readPrice(entry)
    const { currency, from } = entry
    return price !== undefined && isSanePrice(price) ? [{ price, currency, fromMs: Date.parse(from) }] : []
  })
  return dated.sort((a, b) => b.fromMs - a.fromMs)
}
