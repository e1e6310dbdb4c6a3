/** Which implementation of each service a configuration asks for; `main.ts` runs them, tests take them as they are. */

import { mkdtempSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Duration, Effect, Layer, Redacted } from "effect"
import { layerMemory } from "./admission/gate-memory.ts"
import { withGateMode } from "./admission/gate-mode.ts"
import { layerRedisGate } from "./admission/gate-redis.ts"
import { Overload } from "./admission/overload.ts"
import { AuditLog } from "./audit/audit-log.ts"
import { layerCatalogue } from "./catalogue/catalogue.ts"
import { WeirConfig } from "./config.ts"
import { Exchanges } from "./exchange/exchange.ts"
import { Tokenizer } from "./exchange/tokenizer.ts"
import { VendorTrial } from "./exchange/trial.ts"
import { Draining } from "./http/draining.ts"
import { AccessJwts } from "./identity/access-jwts.ts"
import { layerAccessTokens } from "./identity/access-tokens.ts"
import { layerAccounts } from "./identity/accounts.ts"
import { layerAppConfigs } from "./identity/app-configs.ts"
import { layerAppKeys } from "./identity/app-keys.ts"
import { Bearers } from "./identity/bearers.ts"
import { Callers } from "./identity/callers.ts"
import { layerDeviceLogin } from "./identity/device-login.ts"
import { EndUserTokens } from "./identity/end-user-tokens.ts"
import { IdentityProviders } from "./identity/identity-providers.ts"
import { layerKeyDesk } from "./identity/key-desk.ts"
import { KeyRing } from "./identity/key-ring.ts"
import { layerLogins } from "./identity/logins.ts"
import { MailLogin } from "./identity/mail-login.ts"
import { MailedCodes } from "./identity/mailed-codes.ts"
import { layerOneTimeCodes } from "./identity/one-time-codes.ts"
import { layerSsoLogin } from "./identity/sso-login.ts"
import { layerLicences } from "./licence/licences.ts"
import { Mailer } from "./mail/mailer.ts"
import { layerBooks } from "./money/books.ts"
import { layerClientUsage } from "./money/client-usage.ts"
import { layerLedger } from "./money/ledger.ts"
import { layerRetention } from "./money/retention.ts"
import { layerSettler } from "./money/settler.ts"
import { layerStatements } from "./money/statements.ts"
import { Egress } from "./net/egress.ts"
import { layerAppTokens } from "./plan/app-tokens.ts"
import { layerPlanCurve } from "./plan/plan-usage.ts"
import { ModerationEngine } from "./review/moderation.ts"
import { Review } from "./review/review.ts"
import { WebSearch } from "./search/web-search.ts"
import { layerSessions } from "./session/sessions.ts"
import { DeliveredSettings } from "./settings/delivered.ts"
import { layerSettings } from "./settings/settings.ts"
import { layerDatabase } from "./store/database.ts"
import { layerRedis } from "./store/redis.ts"
import { makeSealer, type Sealer } from "./store/seal.ts"
import { Tracing } from "./telemetry/tracing.ts"
import { TierTimes } from "./timeouts/tier-times.ts"
import { VendorClient } from "./vendor/client.ts"
import { layerTargetHealth } from "./vendor/health.ts"
import { layerRedisTargetHealth } from "./vendor/health-redis.ts"
import { layerUpstreamKeys } from "./vendor/upstream-keys.ts"

/** The database alone, migrated. */
export const layerMigratedDatabase = Layer.unwrap(
  Effect.map(WeirConfig, ({ databaseUrl, databaseConnections, dataDir, migrates }) =>
    layerDatabase({
      url: databaseUrl,
      migrates,
      dataDir: dataDir === ":memory:" ? undefined : join(dataDir, "postgres"),
      maxConnections: databaseConnections,
    }),
  ),
)

/** What nodes share through Redis where there is one, and a node alone keeps in memory. */
const shared = Layer.unwrap(
  Effect.map(WeirConfig, (config) => {
    const { redisUrl, redisDeadlineMs, idempotencyTtlS, gateMode } = config
    const options = { idempotencyTtlMs: idempotencyTtlS * 1000, sealer: sealerOf(config) }
    if (redisUrl === undefined) return Layer.merge(layerMemory(options), layerTargetHealth)
    const redis = layerRedis({ url: redisUrl, deadlineMs: redisDeadlineMs })
    const gate = layerRedisGate(options).pipe(Layer.provide(redis), withGateMode(gateMode))
    return Layer.merge(gate, layerRedisTargetHealth.pipe(Layer.provide(redis)))
  }),
)

const sealerOf = ({ masterKey, masterKeyPrevious }: WeirConfig["Service"]): Sealer =>
  makeSealer(
    masterKey === undefined ? undefined : Redacted.value(masterKey),
    masterKeyPrevious === undefined ? undefined : Redacted.value(masterKeyPrevious),
  )

const upstreamKeys = Layer.unwrap(
  Effect.map(WeirConfig, (config) =>
    layerUpstreamKeys({
      sealer: config.masterKey === undefined ? undefined : sealerOf(config),
      deadline: Duration.millis(config.databaseDeadlineMs),
      refreshEvery: "2 seconds",
    }),
  ),
)

const ledger = Layer.unwrap(
  Effect.map(WeirConfig, ({ databaseDeadlineMs }) => layerLedger({ deadline: Duration.millis(databaseDeadlineMs) })),
)

const books = Layer.unwrap(
  Effect.map(WeirConfig, ({ databaseDeadlineMs }) => layerBooks({ deadline: Duration.millis(databaseDeadlineMs) })),
)

const statements = Layer.unwrap(
  Effect.map(WeirConfig, ({ databaseDeadlineMs }) =>
    layerStatements({ deadline: Duration.millis(databaseDeadlineMs) }),
  ),
)

const retention = Layer.unwrap(
  Effect.map(WeirConfig, ({ retentionDays }) => layerRetention({ keepDays: retentionDays })),
)

const settler = Layer.unwrap(
  Effect.map(WeirConfig, ({ dataDir, settlePatienceMs }) =>
    layerSettler({
      folder: join(dataDir === ":memory:" ? mkdtempSync(join(tmpdir(), "weir-")) : dataDir, "journal"),
      patienceMs: settlePatienceMs,
    }),
  ),
)

const catalogue = Layer.unwrap(
  Effect.map(WeirConfig, ({ databaseDeadlineMs }) =>
    layerCatalogue({ deadline: Duration.millis(databaseDeadlineMs), refreshEvery: "2 seconds" }),
  ),
)

const appKeys = Layer.unwrap(
  Effect.map(WeirConfig, ({ databaseDeadlineMs, requireSignature, authStaleMs }) =>
    layerAppKeys({ deadline: Duration.millis(databaseDeadlineMs), requireSignature, staleMs: authStaleMs }),
  ),
)

const review = Review.layer.pipe(Layer.provide(ModerationEngine.layer))

const appConfigs = Layer.unwrap(
  Effect.map(WeirConfig, ({ databaseDeadlineMs }) =>
    layerAppConfigs({ deadline: Duration.millis(databaseDeadlineMs), refreshEvery: "2 seconds" }),
  ),
)

const keyDesk = Layer.unwrap(
  Effect.map(WeirConfig, ({ databaseDeadlineMs }) => layerKeyDesk({ deadline: Duration.millis(databaseDeadlineMs) })),
)

const accessTokens = Layer.unwrap(
  Effect.map(WeirConfig, ({ databaseDeadlineMs, authStaleMs }) =>
    layerAccessTokens({ deadline: Duration.millis(databaseDeadlineMs), staleMs: authStaleMs }),
  ),
)

const people = Layer.unwrap(
  Effect.map(WeirConfig, ({ databaseDeadlineMs, authStaleMs }) => {
    const deadline = Duration.millis(databaseDeadlineMs)
    return Layer.mergeAll(layerDeviceLogin({ deadline }), layerSsoLogin({ deadline }), MailLogin.layer).pipe(
      Layer.provideMerge(Layer.mergeAll(layerLogins({ deadline, staleMs: authStaleMs }), MailedCodes.layer)),
      Layer.provideMerge(
        Layer.mergeAll(layerAccounts({ deadline }), layerOneTimeCodes({ deadline }), AccessJwts.layer, Mailer.layer),
      ),
      Layer.provideMerge(IdentityProviders.layer),
    )
  }),
)

const settings = Layer.unwrap(
  Effect.map(WeirConfig, ({ databaseDeadlineMs }) => layerSettings({ deadline: Duration.millis(databaseDeadlineMs) })),
)

const licences = Layer.unwrap(
  Effect.map(WeirConfig, ({ databaseDeadlineMs, authStaleMs }) =>
    layerLicences({ deadline: Duration.millis(databaseDeadlineMs), staleMs: authStaleMs }),
  ),
)

/** Who calls. */
const identity = Layer.mergeAll(Callers.layer, Bearers.layer).pipe(
  Layer.provideMerge(Layer.mergeAll(appKeys, keyDesk, accessTokens, EndUserTokens.layer, people)),
  Layer.provideMerge(Layer.mergeAll(appConfigs, licences, KeyRing.layer)),
)

const sessions = Layer.unwrap(
  Effect.map(WeirConfig, ({ databaseDeadlineMs, sessionWindowS, gateMode }) =>
    layerSessions({
      deadline: Duration.millis(databaseDeadlineMs),
      windowMs: sessionWindowS * 1000,
      mode: gateMode,
      writeBehindEvery: "2 seconds",
    }),
  ),
)

const clientUsage = Layer.unwrap(
  Effect.map(WeirConfig, ({ databaseDeadlineMs }) =>
    layerClientUsage({ deadline: Duration.millis(databaseDeadlineMs) }),
  ),
)

const planCurve = Layer.unwrap(
  Effect.map(WeirConfig, ({ databaseDeadlineMs }) => layerPlanCurve({ deadline: Duration.millis(databaseDeadlineMs) })),
)

const appTokens = Layer.unwrap(
  Effect.map(WeirConfig, ({ databaseDeadlineMs, sessionWindowS, gateMode }) =>
    layerAppTokens({
      deadline: Duration.millis(databaseDeadlineMs),
      windowMs: sessionWindowS * 1000,
      mode: gateMode,
    }),
  ),
)

/** Everything below HTTP. */
export const layerServices = Layer.mergeAll(
  Exchanges.layer,
  VendorTrial.layer,
  WebSearch.layer,
  DeliveredSettings.layer,
  AuditLog.layer,
  TierTimes.layer,
).pipe(
  Layer.provideMerge(
    Layer.mergeAll(settler, review, sessions, clientUsage, planCurve, appTokens, settings, statements, Tokenizer.layer),
  ),
  Layer.provideMerge(
    Layer.mergeAll(
      shared,
      ledger,
      books,
      retention,
      identity,
      upstreamKeys,
      VendorClient.layer,
      Draining.layer,
      Tracing.layer,
      Overload.layer,
    ),
  ),
  Layer.provideMerge(Egress.layer),
  Layer.provideMerge(catalogue),
  Layer.provideMerge(layerMigratedDatabase),
)
