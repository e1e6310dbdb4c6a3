/**
 * The catalogue service: the current snapshot, and applying a new catalogue. A revision is stored in the database, from
 * where every node loads it; a running exchange keeps the snapshot with which it started.
 */
import { Context, Effect, Layer, Schedule, Semaphore } from "effect"
import { SqlClient } from "effect/sql"
import type { CatalogueDocument } from "../protocol/catalogue.ts"
import { queryDeadline, refreshEvery, withDeadline } from "../store/database.ts"
import type { StoreUnavailable } from "../store/unavailable.ts"
import { isFrom, storeCatalogue } from "./catalogue-store.ts"
import type { Change } from "./diff.ts"
import { knownKeys, planKeys } from "./keys.ts"
import { applyPatch } from "./patch.ts"
import { CatalogueUnreadable, makeCatalogueReader } from "./reader.ts"
import type { Reading } from "./reading.ts"
import type { CatalogueRefused } from "./refusal.ts"
import { ResolveSecret, sha256 } from "./secrets.ts"
import { type CatalogueSnapshot, emptySnapshot, makeSnapshot } from "./snapshot.ts"

export interface Applied {
  readonly revision: bigint
  readonly changes: ReadonlyArray<Change>
  /** Secrets minted for new keys without one. Returned once. */
  readonly minted: ReadonlyArray<{ readonly keyId: string; readonly secret: string }>
  /** Top-ups that this call credited. */
  readonly credited: ReadonlyArray<string>
  /** What needs an action before it works, e.g. a credential that is not set. */
  readonly warnings: ReadonlyArray<string>
}

export interface ApplyOptions {
  /** Whether the caller can receive minted secrets; if not, new keys without a secret are not created yet. */
  readonly mint?: boolean | undefined
  readonly dryRun?: boolean | undefined
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
    /** Loads what another node applied. */
    readonly refresh: Effect.Effect<void, StoreUnavailable>
  }
>()("weir/catalogue/Catalogue") {
  static readonly layer = Layer.effect(
    Catalogue,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const bounded = yield* queryDeadline
      const oneAtATime = yield* Semaphore.make(1)
      const resolveSecret = yield* ResolveSecret
      const reader = yield* makeCatalogueReader
      let snapshot = emptySnapshot
      /** The catalogue in force, as it is stored. */
      let stored = ""

      const takeUp = Effect.fnUntraced(function* (revision: bigint, reading: Reading) {
        const changes = yield* bounded(sql<ProviderChange>`select id, changed_at from search_provider_changes`)
        const changedAt = new Map(changes.map(({ id, changed_at }) => [id, changed_at.getTime()]))
        snapshot = yield* Effect.try({
          try: () => {
            const document = applyPatch(snapshot.document, reading)
            const changedAtMs = (id: string) => changedAt.get(id) ?? 0
            return makeSnapshot(document, revision, reading.fingerprint, resolveSecret, changedAtMs)
          },
          catch: (cause) => new CatalogueUnreadable({ cause }),
        })
        stored = reading.json
      })

      /** Takes up the newest revision. If this version cannot read it, it keeps the current one. @param own what was just stored */
      const refresh = Effect.fnUntraced(function* (own?: Reading) {
        const [newest] = yield* bounded(sql<{ revision: bigint; fingerprint: string }>`
          select revision, fingerprint from catalogue_revisions
          where revision > ${snapshot.revision} order by revision desc limit 1`)
        if (newest === undefined) return
        const { revision } = newest
        const read =
          own?.fingerprint === newest.fingerprint
            ? Effect.succeed(own)
            : Effect.flatMap(
                bounded(sql<{ document: string }>`
                  select document::text from catalogue_revisions where revision = ${revision}`),
                ([row]) => reader.stored(row?.document ?? "{}", stored),
              )
        yield* Effect.flatMap(read, (reading) => takeUp(revision, reading)).pipe(
          Effect.catchTag("CatalogueUnreadable", ({ cause }) =>
            Effect.logError(`Catalogue revision ${revision} cannot be read`, cause),
          ),
        )
      })

      const apply = Effect.fn("Catalogue.apply")(function* (
        text: string,
        { dryRun = false, keySha256 = {}, mint = true }: ApplyOptions = {},
      ): Effect.fn.Return<Applied, CatalogueRefused | StoreUnavailable> {
        yield* refresh()
        const source = sha256(text)
        const digestOf = (ref: string) => {
          const digest = keySha256[ref]
          if (digest !== undefined) return Buffer.from(digest, "hex")
          const secret = resolveSecret(ref)
          return secret === undefined ? undefined : sha256(secret)
        }
        const plan = Effect.fnUntraced(function* (reading: Reading | undefined) {
          const document = reading === undefined ? snapshot.document : applyPatch(snapshot.document, reading)
          const known = yield* knownKeys(sql, document).pipe(withDeadline(applyDeadline))
          const { keys, warnings } = yield* planKeys(document, known, digestOf, reading?.keyLines ?? [], mint)
          return {
            reading,
            document,
            keys,
            warnings: [...warnings, ...missingCredentials(document, resolveSecret)],
          }
        })
        const read = reader
          .text(text, stored)
          .pipe(Effect.catchTag("CatalogueUnreadable", ({ cause }) => Effect.die(cause)))
        const planRead = Effect.flatMap(read, plan)
        // The text in force is not read again, except to tell the lines of what is wrong.
        const isInForce = yield* bounded(isFrom(sql, snapshot.revision, source))
        const planned = isInForce ? Effect.catchTag(plan(undefined), "CatalogueRefused", () => planRead) : planRead
        const { reading, document, keys, warnings } = yield* planned
        const changes = reading?.changes ?? []
        if (dryRun) return { revision: snapshot.revision, changes, minted: [], credited: [], warnings }
        const store = storeCatalogue(sql, { document, keys, inForce: snapshot, source, reading })
        const credited = yield* sql.withTransaction(store).pipe(withDeadline(applyDeadline))
        yield* refresh(reading)
        const minted = keys.flatMap(({ id, minted: secret }) => (secret === undefined ? [] : [{ keyId: id, secret }]))
        return { revision: snapshot.revision, changes, minted, credited, warnings }
      })

      const locked = oneAtATime.withPermits(1)
      yield* refresh()
      yield* Effect.forkScoped(
        Effect.repeat(
          Effect.catch(locked(refresh()), (error) => Effect.logWarning("The catalogue could not be refreshed", error)),
          Schedule.spaced(refreshEvery),
        ),
      )
      return Catalogue.of({
        current: () => snapshot,
        refresh: locked(refresh()),
        apply: (text, applyOptions) => locked(apply(text, applyOptions)),
      })
    }),
  )
}

interface ProviderChange {
  readonly id: string
  readonly changed_at: Date
}

/** A file may contain many keys and top-ups, all stored in one transaction. */
const applyDeadline = "30 seconds"

const missingCredentials = (
  document: CatalogueDocument,
  resolveSecret: (ref: string) => string | undefined,
): ReadonlyArray<string> =>
  [
    ...(document.vendors ?? []),
    ...(document.searchProviders ?? []),
    ...(document.policies ?? []).flatMap(({ id, match }) =>
      "moderation" in match ? [{ ...match.moderation, id }] : [],
    ),
    ...(document.orgs ?? []).flatMap(({ id, sso }) => (sso ? [{ id, credential: sso.clientSecret }] : [])),
  ].flatMap(({ id, credential }) =>
    credential !== undefined && resolveSecret(credential) === undefined
      ? [`${id}: there is no credential at ${credential}; calls to it will fail`]
      : [],
  )
