/** The graph of services below HTTP. Each layer reads its own configuration; this file only composes them. */
import { Effect, Layer } from "effect"
import { AppTokens } from "./admission/app-tokens.ts"
import { layerMemory as layerMemoryGate } from "./admission/gate-memory.ts"
import { layerRedis as layerRedisGate } from "./admission/gate-redis.ts"
import { Overload } from "./admission/overload.ts"
import { PlanCurve } from "./admission/plan-usage.ts"
import { Sessions } from "./admission/sessions.ts"
import { BatchStore } from "./batches/batch-store.ts"
import { OperatorsBatches } from "./batches/operators-batches.ts"
import { Calls } from "./calls/calls.ts"
import { OpenCalls } from "./calls/open-calls.ts"
import { Tokenizer } from "./calls/tokens/tokenizer.ts"
import { Catalogue } from "./catalogue/catalogue.ts"
import { layerIdentityWatch } from "./catalogue/identity-watch.ts"
import { layerResolveStored, StoredSecrets } from "./catalogue/stored-secrets.ts"
import { ClientFiles } from "./client-files/client-files.ts"
import { layerClosedOwners } from "./client-files/closed-owners.ts"
import { FileDirectory } from "./client-files/file-directory.ts"
import { OperatorsFiles } from "./client-files/operators-files.ts"
import { Uploads } from "./client-files/uploads.ts"
import { VendorFiles } from "./client-files/vendor-files.ts"
import { WeirConfig } from "./config.ts"
import { CallDeadlines } from "./deadlines.ts"
import { layerClosedMonths } from "./exports/closed-months.ts"
import { ExportStore } from "./exports/export-store.ts"
import { Exports } from "./exports/exports.ts"
import { OpenSockets } from "./http/sockets/open-sockets.ts"
import { AccessJwts } from "./identity/access-jwts.ts"
import { AccessTokens } from "./identity/access-tokens.ts"
import { Accounts } from "./identity/accounts.ts"
import { AppConfigs } from "./identity/app-configs.ts"
import { AppKeys } from "./identity/app-keys.ts"
import { Bearers } from "./identity/bearers.ts"
import { Callers } from "./identity/callers.ts"
import { DeviceLogin } from "./identity/device-login.ts"
import { EndUserTokens } from "./identity/end-user-tokens.ts"
import { IdentityProviders } from "./identity/identity-providers.ts"
import { Invitations } from "./identity/invitations.ts"
import { KeyAdmin } from "./identity/key-admin.ts"
import { KeyRing } from "./identity/key-ring.ts"
import { KeyUses } from "./identity/key-uses.ts"
import { Licences } from "./identity/licences.ts"
import { Logins } from "./identity/logins.ts"
import { MailLogin } from "./identity/mail-login.ts"
import { MailedCodes } from "./identity/mailed-codes.ts"
import { Mailer } from "./identity/mailer.ts"
import { ClientGrants } from "./identity/oauth/client-grants.ts"
import { OauthClients } from "./identity/oauth/oauth-clients.ts"
import { OauthRequests } from "./identity/oauth/oauth-requests.ts"
import { OneTimeCodes } from "./identity/one-time-codes.ts"
import { layerOwnerMail } from "./identity/owner-mail.ts"
import { ScimGroups } from "./identity/scim/scim-groups.ts"
import { ScimTokens } from "./identity/scim/scim-tokens.ts"
import { ScimUsers } from "./identity/scim/scim-users.ts"
import { SsoLogin } from "./identity/sso-login.ts"
import { Caches } from "./jobs/caches.ts"
import { JobStore } from "./jobs/job-store.ts"
import { Jobs } from "./jobs/jobs.ts"
import { BackgroundResponses } from "./kept-responses/background-responses.ts"
import { BackgroundStore } from "./kept-responses/background-store.ts"
import { ContentObjects } from "./kept-responses/content-objects.ts"
import { ConversationItems } from "./kept-responses/conversation-items.ts"
import { Conversations } from "./kept-responses/conversations.ts"
import { KeptResponses } from "./kept-responses/kept-responses.ts"
import { ObjectRecords } from "./kept-responses/object-records.ts"
import { ResponseDirectory } from "./kept-responses/response-directory.ts"
import { Realtime } from "./kinds/realtime/realtime.ts"
import { layerModelTools } from "./kinds/tool/model-tools.ts"
import { Spool } from "./media/spool.ts"
import { Books } from "./money/books.ts"
import { BalanceWarnings } from "./money/budgets/balance-warnings.ts"
import { BudgetAdjustments } from "./money/budgets/budget-adjustments.ts"
import { BudgetMail } from "./money/budgets/budget-mail.ts"
import { BudgetWarnings } from "./money/budgets/budget-warnings.ts"
import { CallBudgets } from "./money/budgets/call-budgets.ts"
import { OrgBudgets } from "./money/budgets/org-budgets.ts"
import { ClientUsage } from "./money/client-usage.ts"
import { ExchangeLog } from "./money/exchange-log.ts"
import { JobAttempts } from "./money/job-attempts.ts"
import { Ledger } from "./money/ledger.ts"
import { Retention } from "./money/retention.ts"
import { Settler } from "./money/settler.ts"
import { Statements } from "./money/statements.ts"
import { UsageRollups } from "./money/usage-rollups.ts"
import { UsageSummaries } from "./money/usage-summary.ts"
import { IdOwners } from "./pass-through/id-owners.ts"
import { PolicyDenials } from "./policies/denials.ts"
import { PolicyEngines } from "./policies/engines/engines.ts"
import { RequestMasks } from "./policies/masks/engine-masks.ts"
import { Review } from "./policies/review.ts"
import { ReplyCache } from "./reply-cache/reply-cache.ts"
import { layerMemory as layerMemoryReplies } from "./reply-cache/store-memory.ts"
import { layerRedis as layerRedisReplies } from "./reply-cache/store-redis.ts"
import { DeliveredSettings } from "./settings/delivered.ts"
import { Settings } from "./settings/settings.ts"
import { Drafts } from "./setup/drafts.ts"
import { VendorCheck } from "./setup/vendor-check.ts"
import { AuditLog } from "./store/audit-log.ts"
import { ChangeFeed } from "./store/change-feed.ts"
import { layerDatabase } from "./store/database.ts"
import { layerMasterKeys } from "./store/master-keys.ts"
import { Redis } from "./store/redis.ts"
import { Sealing } from "./store/seal.ts"
import { ExchangeReports } from "./telemetry/exchange-reports.ts"
import { TierTimes } from "./telemetry/timeouts/tier-times.ts"
import { Tracing } from "./telemetry/tracing.ts"
import { layerBudgetDirectory } from "./tenants/budget-directory.ts"
import { Directory } from "./tenants/directory.ts"
import { People } from "./tenants/people.ts"
import { TenantChanges } from "./tenants/tenant-changes.ts"
import { Tenants } from "./tenants/tenants.ts"
import { AccountStore } from "./tool-servers/accounts/account-store.ts"
import { AccountConnections } from "./tool-servers/accounts/connections.ts"
import { CallerTools } from "./tool-servers/caller-tools.ts"
import { OperatorsTools } from "./tool-servers/operators-tools.ts"
import { ToolAccounts } from "./tool-servers/tool-accounts.ts"
import { ToolClient } from "./tool-servers/tool-client.ts"
import { ToolLists } from "./tool-servers/tool-lists.ts"
import { ToolPins } from "./tool-servers/tool-pins.ts"
import { ToolSessions } from "./tool-servers/tool-sessions.ts"
import { VendorClient } from "./upstream/client.ts"
import { Egress } from "./upstream/egress.ts"
import { TargetHealth } from "./upstream/health.ts"
import { layerRedis as layerRedisHealth } from "./upstream/health-redis.ts"
import { UpstreamKeys } from "./upstream/upstream-keys.ts"
import { VendorSockets } from "./upstream/vendor-sockets.ts"
import { DeliveryStore } from "./webhooks/delivery-store.ts"
import { OrgWebhooks } from "./webhooks/org-webhooks.ts"
import { layerTargetWatch } from "./webhooks/target-watch.ts"
import { Webhooks } from "./webhooks/webhooks.ts"

/** State that nodes share through Redis; without `SVC_REDIS_URL` a single node keeps it in memory. */
const shared = Layer.unwrap(
  Effect.map(WeirConfig, ({ redisUrl }) =>
    redisUrl === undefined
      ? Layer.mergeAll(layerMemoryGate, layerMemoryReplies, TargetHealth.layer)
      : Layer.mergeAll(layerRedisGate, layerRedisReplies, layerRedisHealth).pipe(Layer.provide(Redis.layer)),
  ),
)

const store = Layer.mergeAll(
  layerMasterKeys.pipe(Layer.provideMerge(Sealing.layer)),
  AuditLog.layer,
  ChangeFeed.layer,
).pipe(Layer.provideMerge(layerDatabase))

/** Identification of callers. */
const identity = Layer.mergeAll(
  Callers.layer,
  Bearers.layer,
  DeviceLogin.layer,
  SsoLogin.layer,
  MailLogin.layer,
  OauthClients.layer,
  OauthRequests.layer,
  ClientGrants.layer,
  ScimTokens.layer,
  ScimUsers.layer,
  ScimGroups.layer,
  BudgetMail.layer.pipe(Layer.provide(layerOwnerMail)),
).pipe(
  Layer.provideMerge(
    Layer.mergeAll(
      AppKeys.layer,
      KeyAdmin.layer,
      AccessTokens.layer,
      Logins.layer,
      MailedCodes.layer,
      Invitations.layer,
    ),
  ),
  Layer.provideMerge(Layer.mergeAll(Accounts.layer, OneTimeCodes.layer, AccessJwts.layer, EndUserTokens.layer)),
  Layer.provideMerge(
    Layer.mergeAll(
      AppConfigs.layer,
      KeyUses.layer,
      Licences.layer,
      KeyRing.layer,
      Mailer.layer,
      IdentityProviders.layer,
    ),
  ),
)

/** The services of tenants: organisations, their people and applications. */
const tenants = Layer.mergeAll(People.layer, Directory.layer, TenantChanges.layer).pipe(
  Layer.provideMerge(Tenants.layer),
)

const admission = Layer.mergeAll(
  Sessions.layer,
  AppTokens.layer,
  PlanCurve.layer,
  Overload.layer,
  CallBudgets.layer.pipe(Layer.provide(layerBudgetDirectory)),
  BudgetAdjustments.layer.pipe(Layer.provide(layerBudgetDirectory)),
)
const money = Layer.mergeAll(
  Settler.layer,
  Books.layer,
  ClientUsage.layer,
  Retention.layer,
  Statements.layer,
  OrgBudgets.layer,
  BalanceWarnings.layer,
  BudgetWarnings.layer,
  JobAttempts.layer,
  UsageRollups.layer,
  UsageSummaries.layer,
  ExchangeLog.layer,
).pipe(Layer.provideMerge(Ledger.layer))
/** Kept responses and conversations. */
const keptResponses = Layer.mergeAll(
  KeptResponses.layer,
  Conversations.layer.pipe(Layer.provideMerge(ConversationItems.layer)),
  ResponseDirectory.layer,
  BackgroundResponses.layer.pipe(Layer.provide(BackgroundStore.layer)),
).pipe(Layer.provideMerge(ContentObjects.layer.pipe(Layer.provide(ObjectRecords.layer))))
const upstream = Layer.mergeAll(Spool.layer, CallDeadlines.layer, UpstreamKeys.layer)
/** References of the catalogue resolve to the machine's variables and files, and to secrets that were read from stores. */
const secrets = layerResolveStored.pipe(
  Layer.provideMerge(StoredSecrets.layer),
  Layer.provideMerge(VendorClient.layer),
  Layer.provideMerge(Egress.layer),
)
const review = Layer.mergeAll(Review.layer, RequestMasks.layer).pipe(
  Layer.provideMerge(Layer.mergeAll(PolicyEngines.layer, PolicyDenials.layer)),
)
const settings = DeliveredSettings.layer.pipe(Layer.provideMerge(Settings.layer))
const jobs = Layer.merge(Jobs.layer, Caches.layer).pipe(Layer.provideMerge(JobStore.layer))
const webhooks = Layer.mergeAll(Webhooks.layer, layerTargetWatch).pipe(
  Layer.provideMerge(Layer.mergeAll(DeliveryStore.layer, OrgWebhooks.layer)),
)
const exports = Layer.mergeAll(Exports.layer, layerClosedMonths).pipe(Layer.provideMerge(ExportStore.layer))
const clientFiles = Layer.mergeAll(Uploads.layer, VendorFiles.layer, OperatorsFiles.layer, layerClosedOwners).pipe(
  Layer.provideMerge(ClientFiles.layer),
  Layer.provide(FileDirectory.layer),
)
const realtime = Realtime.layer.pipe(Layer.provide(VendorSockets.layer))
const telemetry = Layer.mergeAll(Tracing.layer, TierTimes.layer, ExchangeReports.layer)

/** Servers of tools, and their lists. */
const tools = Layer.merge(CallerTools.layer, OperatorsTools.layer).pipe(
  Layer.provideMerge(ToolLists.layer),
  Layer.provideMerge(Layer.mergeAll(ToolSessions.layer, ToolPins.layer)),
  Layer.provide(ToolAccounts.layer),
  Layer.provideMerge(AccountConnections.layer),
  Layer.provide(AccountStore.layer),
  Layer.provide(ToolClient.layer),
)

/** Everything below HTTP, in the order of a request's journey: each line needs only the lines below it. */
export const layerServices = Layer.mergeAll(
  OpenCalls.layer,
  OpenSockets.layer,
  realtime,
  VendorCheck.layer,
  Drafts.layer,
  jobs,
  webhooks,
  exports,
  clientFiles,
  IdOwners.layer,
  Layer.provideMerge(OperatorsBatches.layer, BatchStore.layer),
  layerIdentityWatch,
).pipe(
  Layer.provideMerge(Calls.layer),
  Layer.provideMerge(Layer.provideMerge(layerModelTools, tools)),
  Layer.provideMerge(Layer.mergeAll(admission, review, settings, keptResponses, Tokenizer.layer, ReplyCache.layer)),
  Layer.provideMerge(Layer.mergeAll(identity, upstream)),
  Layer.provideMerge(tenants),
  Layer.provideMerge(Layer.mergeAll(shared, money, telemetry, Catalogue.layer)),
  Layer.provideMerge(secrets),
  Layer.provideMerge(store),
)
