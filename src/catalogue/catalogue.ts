/**
 * The catalogue service: the current snapshot, and applying a new catalogue. A revision is stored in the database, from
 * where every node loads it; a running exchange keeps the snapshot with which it started.
 */
import { Context, Effect, Layer, Semaphore } from "effect"
import { SqlClient } from "effect/sql"
import { runEvery } from "../background.ts"
import { identityReferences } from "../cloud-identities/vendor-identity.ts"
import { WeirConfig } from "../config.ts"
import type { PlatformDocument } from "../protocol/catalogue/document.ts"
import type { AppliedBy } from "../protocol/control/activity.ts"
import type { ApplyProgress } from "../protocol/control/admin.ts"
import {
  isWebhookSecret,
  secretProblem,
  unreadableSecret,
  unusableFormerSecret,
  unusableFormerSecretOfEngine,
} from "../protocol/control/webhook.ts"
import { type ResolveRef, ResolveSecret, rememberSecrets, sha256 } from "../secrets.ts"
import { ChangeFeed } from "../store/change-feed.ts"
import { LongQueries } from "../store/connections.ts"
import { queryDeadline, refreshEvery, withDeadline } from "../store/database.ts"
import { inTransaction } from "../store/transaction.ts"
import type { StoreUnavailable } from "../store/unavailable.ts"
import { isReference, readNetwork } from "../upstream/network.ts"
import {
  conflictsOf,
  declaredCredentials,
  differingTopups,
  isFrom,
  storeCatalogue,
  storedCatalogue,
} from "./catalogue-store.ts"
import type { Declared } from "./declared.ts"
import type { Change } from "./diff.ts"
import { keyReferences, knownKeys, planKeys, strayKeys } from "./keys.ts"
import { applyPatch } from "./patch.ts"
import { policyWarnings } from "./policy-warnings.ts"
import { CatalogueUnreadable, makeCatalogueReader } from "./reader.ts"
import type { Reading } from "./reading.ts"
import { CatalogueRefused } from "./refusal.ts"
import { makeRevisions, type Revisions } from "./revisions.ts"
import { accountOfMatch, secretReferences } from "./secret-references.ts"
import { type CatalogueSnapshot, emptySnapshot, makeSnapshot } from "./snapshot.ts"
import { refuseUnresolved, StoredSecrets } from "./stored-secrets.ts"
import { timeoutWarnings } from "./timeout-warnings.ts"

export interface Applied {
  readonly revision: bigint
  readonly changes: ReadonlyArray<Change>
  /** Entries that the text no longer contains: with `prune` they are removed, without it they stay as they are. */
  readonly dropped: ReadonlyArray<string>
  /** Secrets minted for new keys without one. Returned once. */
  readonly minted: ReadonlyArray<{ readonly keyId: string; readonly secret: string }>
  /** Top-ups that this call credited. */
  readonly credited: ReadonlyArray<string>
  /** Parts that need an action before they work, e.g. a credential that is not set. */
  readonly warnings: ReadonlyArray<string>
}

export interface InForce {
  /** 0 if none was applied. */
  readonly revision: bigint
  /** Undefined if an older version applied it, or if there is none. */
  readonly text: string | undefined
  readonly appliedBy: AppliedBy | undefined
}

export interface ApplyOptions {
  /** Whether the caller can receive minted secrets; if not, new keys without a secret are not created yet. */
  readonly mint?: boolean | undefined
  readonly dryRun?: boolean | undefined
  /** Whether organisations, people, teams, applications, keys and budgets that the text no longer contains are removed. */
  readonly prune?: boolean | undefined
  /** The author of the change, for its history. */
  readonly by?: AppliedBy | undefined
  readonly onProgress?: ((progress: ApplyProgress) => void) | undefined
  /** SHA-256 digests, in hex, of key secrets by reference; they take precedence over what the gateway resolves. */
  readonly keySha256?: Readonly<Record<string, string>> | undefined
}

export class Catalogue extends Context.Service<
  Catalogue,
  {
    /** The current snapshot; cheap, for the hot path. */
    readonly current: () => CatalogueSnapshot
    /** Applies a catalogue's text; with `dryRun` only returns what would change. Applying it again changes nothing. */
    readonly apply: (
      text: string,
      options?: ApplyOptions,
    ) => Effect.Effect<Applied, CatalogueRefused | StoreUnavailable>
    readonly inForce: Effect.Effect<InForce, StoreUnavailable>
    readonly revisions: Revisions
    /** Loads what another node applied. */
    readonly refresh: Effect.Effect<void, StoreUnavailable>
  }
>()("weir/catalogue/Catalogue") {
  static readonly layer = Layer.effect(
    Catalogue,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const { sql: longSql } = yield* LongQueries
      const bounded = yield* queryDeadline
      const oneAtATime = yield* Semaphore.make(1)
      const resolveSecret = yield* ResolveSecret
      const reader = yield* makeCatalogueReader
      const feed = yield* ChangeFeed
      const stored = yield* StoredSecrets
      let snapshot = emptySnapshot
      let secrets = rememberSecrets(resolveSecret)
      /** The platform's part of the catalogue in force, as it is stored. */
      let storedJson: Uint8Array = new Uint8Array()

      const { env, upstreamTimeouts } = yield* WeirConfig
      const warningsOf = (document: PlatformDocument, credentials: Declared["credentials"]) => [
        ...missingCredentials(document, credentials, resolveSecret),
        ...timeoutWarnings(document, env, upstreamTimeouts),
        ...policyWarnings(document),
      ]

      let changedAt: ReadonlyMap<string, number> = new Map()

      const show = (document: PlatformDocument, revision: bigint, fingerprint: string) =>
        Effect.try({
          try: () => {
            const found = rememberSecrets(resolveSecret)
            snapshot = makeSnapshot(document, revision, fingerprint, found.resolve, (id) => changedAt.get(id) ?? 0)
            secrets = found
          },
          catch: (cause) => new CatalogueUnreadable({ cause }),
        })

      const takeUp = Effect.fnUntraced(function* (revision: bigint, fingerprint: string, reading: Reading) {
        const changes = yield* bounded(sql<ProviderChange>`select id, changed_at from search_provider_changes`)
        changedAt = new Map(changes.map(({ id, changed_at }) => [id, changed_at.getTime()]))
        const document = applyPatch(snapshot.document, reading)
        yield* stored.follow(secretReferences(document))
        // Streams go on between the two.
        yield* Effect.yieldNow
        yield* show(document, revision, fingerprint)
        storedJson = reading.json
      })

      /** Loads secrets whose files were replaced. */
      const renewSecrets = Effect.suspend(() => {
        if (!secrets.haveChanged()) return Effect.void
        return Effect.andThen(
          Effect.orDie(show(snapshot.document, snapshot.revision, snapshot.fingerprint)),
          Effect.logInfo("Secrets of the catalogue have changed and are in force"),
        )
      })

      /** Loads the newest revision. If this version of Weir cannot read it, the current one stays in force. */
      const refresh = Effect.gen(function* () {
        const [newest] = yield* bounded(sql<{ revision: bigint; fingerprint: string }>`
          select revision, fingerprint from catalogue_revisions
          where revision > ${snapshot.revision} order by revision desc limit 1`)
        if (newest === undefined) return
        const { revision, fingerprint } = newest
        const [row] = yield* bounded(sql<{ platform: Uint8Array }>`
          select convert_to((document - ${tenantSections}::text[])::text, 'UTF8') as platform
          from catalogue_revisions where revision = ${revision}`)
        yield* reader.stored(row?.platform ?? noCatalogue, storedJson).pipe(
          Effect.flatMap((reading) => takeUp(revision, fingerprint, reading)),
          Effect.catchTag("CatalogueUnreadable", ({ cause }) =>
            Effect.logError(`Catalogue revision ${revision} cannot be read`, cause),
          ),
        )
      })

      const apply = Effect.fn("Catalogue.apply")(function* (
        text: string,
        {
          dryRun = false,
          prune = false,
          keySha256 = {},
          mint = true,
          by = "admin",
          onProgress = () => {},
        }: ApplyOptions = {},
      ): Effect.fn.Return<Applied, CatalogueRefused | StoreUnavailable> {
        yield* refresh
        onProgress({ step: "reading", done: 0, total: 0 })
        const source = sha256(text)
        const digestOf = (ref: string) => {
          const digest = keySha256[ref]
          if (digest !== undefined) return Buffer.from(digest, "hex")
          const secret = resolveSecret(ref)
          return secret === undefined ? undefined : sha256(secret)
        }
        /** Reads secrets of the text; keys whose digests the caller has sent need none here. */
        const demand = (refs: Iterable<string>) =>
          Effect.flatMap(stored.read([...refs].filter((ref) => !Object.hasOwn(keySha256, ref))), (unresolved) =>
            refuseUnresolved(unresolved, text),
          )
        const isInForce = yield* bounded(isFrom(sql, snapshot.revision, source))
        const ofKeys = yield* keyReferences(longSql, snapshot.revision).pipe(withDeadline(applyDeadline))
        yield* stored.read(ofKeys.filter((ref) => !Object.hasOwn(keySha256, ref)))
        const stray = yield* strayKeys(longSql, snapshot.revision, ofKeys, digestOf).pipe(withDeadline(applyDeadline))
        if (isInForce && stray.size === 0) {
          const credentials = yield* bounded(declaredCredentials(sql))
          yield* demand([...secretReferences(snapshot.document), ...credentials.map(({ credential }) => credential)])
          const warnings = warningsOf(snapshot.document, credentials)
          return { revision: snapshot.revision, changes: [], dropped: [], minted: [], credited: [], warnings }
        }
        const inForce = yield* bounded(storedCatalogue(sql, snapshot.revision))
        // The catalogue that development brought along is in no file, and ends with the first one that is applied.
        const isOwn = inForce.by === "development"
        const removes = prune || isOwn
        const plan = Effect.fnUntraced(function* (reading: Reading) {
          const { declared } = reading
          onProgress({ step: "comparing", done: 0, total: 0 })
          const issues = yield* conflictsOf(longSql, declared.changed, reading.changes).pipe(
            withDeadline(applyDeadline),
          )
          if (issues.length > 0) return yield* new CatalogueRefused({ issues })
          const document = applyPatch(snapshot.document, reading)
          yield* demand([
            ...secretReferences(document),
            ...declared.credentials.map(({ credential }) => credential),
            ...declared.keys.flatMap(({ secret }) => secret ?? []),
          ])
          const known = yield* knownKeys(longSql, declared.keys).pipe(withDeadline(applyDeadline))
          const { keys, warnings } = yield* planKeys(declared.keys, known, digestOf, mint)
          const differing = yield* differingTopups(longSql, declared.topups).pipe(withDeadline(applyDeadline))
          return {
            reading,
            document,
            keys,
            warnings: [
              ...warnings,
              ...differing.map(
                (id) => `${id}: this top-up credited another organisation or amount; an id is credited once`,
              ),
              ...warningsOf(document, declared.credentials),
            ],
          }
        })
        const read = reader
          .text(text, inForce.json, { stray, prune: removes })
          .pipe(Effect.catchTag("CatalogueUnreadable", ({ cause }) => Effect.die(cause)))
        const { reading, document, keys, warnings } = yield* Effect.flatMap(read, plan)
        const { changes } = reading
        const dropped = isOwn ? [] : reading.dropped
        if (dryRun) return { revision: snapshot.revision, changes, dropped, minted: [], credited: [], warnings }
        const store = storeCatalogue(longSql, {
          document,
          reading,
          keys,
          inForce: snapshot,
          // A text that is not all that is in force is read again when it is applied again.
          source: dropped.length > 0 && !removes ? null : source,
          text,
          by,
          stored: (done, total) => onProgress({ step: "storing", done, total }),
        })
        const credited = yield* inTransaction(longSql, store).pipe(
          Effect.catchTag("CatalogueRefused", (refused) => Effect.succeed(refused)),
          withDeadline(applyDeadline),
        )
        if (credited instanceof CatalogueRefused) return yield* credited
        onProgress({ step: "taking up", done: 0, total: 0 })
        yield* refresh
        yield* feed.catchUp
        const minted = keys.flatMap(({ id, minted: secret }) => (secret === undefined ? [] : [{ keyId: id, secret }]))
        return { revision: snapshot.revision, changes, dropped, minted, credited, warnings }
      })

      const locked = oneAtATime.withPermits(1)
      yield* refresh
      yield* runEvery(refreshEvery, "Refreshing the catalogue", locked(Effect.andThen(refresh, renewSecrets)))
      return Catalogue.of({
        current: () => snapshot,
        inForce: Effect.suspend(() =>
          Effect.map(
            bounded(sql<{ source: string | null; by: AppliedBy | null }>`
              select source, applied_by as by from catalogue_revisions where revision = ${snapshot.revision}`),
            ([row]) => ({
              revision: snapshot.revision,
              text: row?.source ?? undefined,
              appliedBy: row?.by ?? undefined,
            }),
          ),
        ),
        revisions: makeRevisions(sql, bounded, reader),
        refresh: locked(refresh),
        apply: (text, applyOptions) => locked(apply(text, applyOptions)),
      })
    }),
  )
}

interface ProviderChange {
  readonly id: string
  readonly changed_at: Date
}

const noCatalogue = new TextEncoder().encode("{}")

/** A file may contain many keys and top-ups, all stored in one transaction. */
const applyDeadline = "30 seconds"

/** The sections that nodes do not keep in memory, see {@link PlatformDocument}. */
const tenantSections = ["orgs", "users", "teams", "apps", "keys", "topups"]

const missingCredentials = (
  document: PlatformDocument,
  credentials: Declared["credentials"],
  resolveSecret: ResolveRef,
): ReadonlyArray<string> => {
  const webhooks = (document.webhooks ?? []).map(({ form = "weir", ...webhook }) => ({
    ...webhook,
    form,
    credential: webhook.secret,
  }))
  const engines = (document.policies ?? []).flatMap(({ id, match }) => {
    const account = accountOfMatch(match)
    return account === undefined ? [] : [{ ...account, id }]
  })
  const reached = [...(document.vendors ?? []), ...(document.searchProviders ?? []), ...webhooks, ...engines]
  const called = [...reached, ...credentials]
  const unreadable = webhooks.flatMap(({ id, form, url, secret, formerSecret }) => {
    const resolved = secret === undefined ? undefined : resolveSecret(secret)
    const problem = resolved === undefined ? undefined : secretProblem(form, resolved)
    const former = formerSecret === undefined ? undefined : (resolveSecret(formerSecret) ?? "")
    const isAbsent = url !== undefined && isReference(url) && resolveSecret(url) === undefined
    return [
      ...(problem === undefined ? [] : [`${id}: ${problem}`]),
      ...(former === undefined || isWebhookSecret(former) ? [] : [`${id}: ${unusableFormerSecret}`]),
      ...(isAbsent ? [`${id}: there is no address at ${url}; nothing is sent`] : []),
    ]
  })
  const unsigned = engines.flatMap(({ id, credential, signs = false, former }) => {
    const secret = credential === undefined ? undefined : resolveSecret(credential)
    const before = former === undefined ? undefined : (resolveSecret(former) ?? "")
    return [
      ...(signs && secret !== undefined && !isWebhookSecret(secret) ? [`${id}: ${unreadableSecret}`] : []),
      ...(before === undefined || isWebhookSecret(before) ? [] : [`${id}: ${unusableFormerSecretOfEngine}`]),
    ]
  })
  const unidentified = engines.flatMap(({ id, ...account }) =>
    identityReferences(account).flatMap((ref) =>
      resolveSecret(ref) === undefined ? [`${id}: there is no credential at ${ref}; calls to it will fail`] : [],
    ),
  )
  return [
    ...unreadable,
    ...unsigned,
    ...unidentified,
    ...called.flatMap(({ id, credential }) =>
      credential !== undefined && resolveSecret(credential) === undefined
        ? [`${id}: there is no credential at ${credential}; calls to it will fail`]
        : [],
    ),
    ...reached.flatMap((entry) => {
      const problem = readNetwork(entry, resolveSecret)?.problem
      return problem === undefined ? [] : [`${entry.id}: ${problem}; calls to it will fail`]
    }),
  ]
}
