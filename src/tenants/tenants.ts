/**
 * Tenants as calls need them: a row of an organisation or application together with its plan and policies, which are the
 * platform's.
 */
import { Context, Effect, Layer, type Redacted } from "effect"
import { Catalogue } from "../catalogue/catalogue.ts"
import { type CatalogueSnapshot, redactedOf } from "../catalogue/snapshot.ts"
import { StoredSecrets } from "../catalogue/stored-secrets.ts"
import type { BudgetIndex } from "../money/budgets/budget.ts"
import type { Direction, ReviewPolicy } from "../policies/policy.ts"
import type { Plan } from "../protocol/catalogue/plan.ts"
import type { SsoProvider } from "../protocol/catalogue/sso-provider.ts"
import type { App, Org } from "../protocol/catalogue/tenant.ts"
import { ResolveSecret } from "../secrets.ts"
import { type Sealer, Sealing } from "../store/seal.ts"
import type { StoreUnavailable } from "../store/unavailable.ts"
import { openUpstreamKeys, type UpstreamKey } from "../upstream/upstream-keys.ts"
import { makeRowCache, type RowCache } from "./row-cache.ts"
import type { AppRow, KeyRow, OrgRow } from "./rows.ts"

export interface OrgEntry {
  readonly org: Org
  readonly plan: Plan | undefined
  /** The organisation's safety policies, in its order. */
  readonly policies: Readonly<Record<Direction, ReadonlyArray<ReviewPolicy>>>
  /** The budgets that the organisation has set for itself. */
  readonly budgets?: BudgetIndex | undefined
  /** Its own keys for vendors, by vendor. */
  readonly upstreamKeys?: ReadonlyMap<string, UpstreamKey> | undefined
  /** Whether an operator has disabled it: its calls are refused. */
  readonly isDisabled?: boolean
}

export interface AppEntry extends OrgEntry {
  readonly app: App
  /** The configuration by its organisation. */
  readonly config: AppRow["config"]
  /** Empty allows every address. */
  readonly ipAllow: AppRow["ipAllow"]
}

/** An organisation's identity provider. */
export interface SsoEntry {
  readonly orgId: string
  readonly provider: SsoProvider
  /** Undefined if the organisation names none, or it cannot be resolved. */
  readonly clientSecret: Redacted.Redacted | undefined
}

export class Tenants extends Context.Service<
  Tenants,
  {
    /** Undefined if there is none, or it is closed. Returned at once if it is in memory. */
    readonly org: (id: string) => Effect.Effect<OrgEntry | undefined, StoreUnavailable>
    readonly app: (id: string) => Effect.Effect<AppEntry | undefined, StoreUnavailable>
    readonly key: (id: string) => Effect.Effect<KeyRow | undefined, StoreUnavailable>
    /** The policies in force for calls by a key of an application; the application's own list if the key has none. */
    readonly policiesOf: (row: KeyRow, entry: AppEntry) => OrgEntry["policies"]
    /** The identity provider of an organisation, if it has one. */
    readonly sso: (orgId: string) => Effect.Effect<SsoEntry | undefined, StoreUnavailable>
    readonly size: RowCache["size"]
  }
>()("weir/tenants/Tenants") {
  static readonly layer = Layer.effect(
    Tenants,
    Effect.gen(function* () {
      const catalogue = yield* Catalogue
      const resolveSecret = yield* ResolveSecret
      const stored = yield* StoredSecrets
      const { sealer } = yield* Sealing
      const rows = yield* makeRowCache

      /** No catalogue in force has it on every node, so it is read when somebody signs in. */
      const readStored = (ref: string) =>
        Effect.tap(stored.readOld([ref]), (unresolved) =>
          Effect.forEach(unresolved, ({ ref, problem }) => Effect.logError(`${ref} cannot be read: ${problem}`)),
        )

      const orgEntry = (row: OrgRow): Effect.Effect<OrgEntry, StoreUnavailable> => {
        const snapshot = catalogue.current()
        const known = orgEntries.get(row)
        if (known?.snapshot === snapshot) return Effect.succeed(known.entry)
        // Another node has just applied the catalogue that has the rest.
        if (!hasAll(row.org, snapshot)) {
          return Effect.map(catalogue.refresh, () => orgEntryOf(row, catalogue.current(), sealer))
        }
        const entry = orgEntryOf(row, snapshot, sealer)
        orgEntries.set(row, { snapshot, entry })
        return Effect.as(tellUnopened(entry), entry)
      }

      const org = (id: string) =>
        Effect.flatMap(rows.get(`org:${id}`), (row) =>
          row?.kind === "org" && row.status !== "closed" ? orgEntry(row) : Effect.undefined,
        )

      return Tenants.of({
        org,
        app: (id) =>
          Effect.flatMap(rows.get(`app:${id}`), (row) =>
            row?.kind === "app" && !row.isClosed
              ? Effect.map(org(row.app.org), (entry) => entry && appEntryOf(row, entry, catalogue.current()))
              : Effect.undefined,
          ),
        key: (id) =>
          Effect.flatMap(rows.get(`key:${id}`), (row) => {
            if (row?.kind !== "key") return Effect.undefined
            return row.policies === undefined || hasPolicies(row.policies, catalogue.current())
              ? Effect.succeed(row)
              : Effect.as(catalogue.refresh, row)
          }),
        policiesOf: (row, entry) =>
          row.policies === undefined ? entry.policies : keyPolicies(row, entry.policies, catalogue.current()),
        sso: (orgId) =>
          Effect.flatMap(org(orgId), (entry) => {
            const provider = entry?.org.sso
            if (provider === undefined) return Effect.undefined
            const { clientSecret } = provider
            const found = () => ({ orgId, provider, clientSecret: redactedOf(clientSecret, resolveSecret) })
            return clientSecret === undefined ? Effect.sync(found) : Effect.map(readStored(clientSecret), found)
          }),
        size: rows.size,
      })
    }),
  )
}

const hasAll = ({ plan, policies = [] }: Org, snapshot: CatalogueSnapshot): boolean =>
  (plan === undefined || snapshot.plan(plan) !== undefined) && hasPolicies(policies, snapshot)

const hasPolicies = (ids: ReadonlyArray<string>, snapshot: CatalogueSnapshot): boolean =>
  ids.every((id) => snapshot.policy(id) !== undefined)

/** The same row and snapshot give the same entry; incomplete ones are not kept. */
const orgEntries = new WeakMap<OrgRow, { readonly snapshot: CatalogueSnapshot; readonly entry: OrgEntry }>()

const orgEntryOf = (row: OrgRow, snapshot: CatalogueSnapshot, sealer: Sealer): OrgEntry => {
  const { org, budgets, status, upstreamKeys: keys } = row
  return {
    org,
    plan: org.plan === undefined ? undefined : snapshot.plan(org.plan),
    policies: byDirection([...snapshot.policiesForAll, ...named(org.policies, snapshot)]),
    budgets,
    upstreamKeys: keys.length === 0 ? undefined : openUpstreamKeys(sealer, org.id, keys),
    isDisabled: status === "disabled",
  }
}

const tellUnopened = ({ org, upstreamKeys }: OrgEntry): Effect.Effect<void> => {
  const vendors = [...(upstreamKeys ?? [])].flatMap(([vendor, { key }]) => (key === undefined ? [vendor] : []))
  return vendors.length === 0
    ? Effect.void
    : Effect.logError("Upstream keys cannot be opened: the master key that sealed them is gone", {
        org: org.id,
        vendors,
      })
}

const named = (ids: ReadonlyArray<string> = [], snapshot: CatalogueSnapshot): ReadonlyArray<ReviewPolicy> =>
  ids.flatMap((id) => snapshot.policy(id) ?? [])

const noPolicies: OrgEntry["policies"] = { inbound: [], outbound: [] }

/** The policies of an organisation with those of one of its subjects. */
export const withMore = (
  { inbound, outbound }: OrgEntry["policies"],
  ids: ReadonlyArray<string> | undefined,
  snapshot: CatalogueSnapshot,
): OrgEntry["policies"] =>
  ids === undefined || ids.length === 0
    ? { inbound, outbound }
    : byDirection([...inbound, ...outbound, ...named(ids, snapshot)])

/** Each policy once, in its first place. */
const byDirection = (all: ReadonlyArray<ReviewPolicy>): OrgEntry["policies"] => {
  if (all.length === 0) return noPolicies
  const each = [...new Map(all.map((policy) => [policy.id, policy])).values()]
  const toward = (direction: Direction) =>
    each.filter((policy) => policy.direction === direction || policy.direction === "both")
  return { inbound: toward("inbound"), outbound: toward("outbound") }
}

const appEntries = new WeakMap<AppRow, AppEntry & { readonly of: OrgEntry }>()

const appEntryOf = (row: AppRow, of: OrgEntry, snapshot: CatalogueSnapshot): AppEntry => {
  const known = appEntries.get(row)
  // The organisation's entry is another one for another catalogue.
  if (known?.of === of) return known
  const policies = withMore(of.policies, row.app.policies, snapshot)
  const entry = { ...of, of, policies, app: row.app, config: row.config, ipAllow: row.ipAllow }
  appEntries.set(row, entry)
  return entry
}

interface KeyPolicies {
  readonly of: OrgEntry["policies"]
  readonly snapshot: CatalogueSnapshot
  readonly policies: OrgEntry["policies"]
}

/** The same row, application and catalogue give the same lists. */
const policiesOfKeys = new WeakMap<KeyRow, KeyPolicies>()

const keyPolicies = (row: KeyRow, of: OrgEntry["policies"], snapshot: CatalogueSnapshot): OrgEntry["policies"] => {
  const known = policiesOfKeys.get(row)
  if (known?.of === of && known.snapshot === snapshot) return known.policies
  const policies = withMore(of, row.policies, snapshot)
  policiesOfKeys.set(row, { of, snapshot, policies })
  return policies
}
