/** Admin routes for the catalogue, top-ups, books, audit log and tier times; the CLI calls them. */

import { Clock, Effect, Schema } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { Catalogue } from "../../catalogue/catalogue.ts"
import { identityProblems } from "../../catalogue/snapshot.ts"
import { isWatchedText } from "../../catalogue/watch.ts"
import { WeirConfig } from "../../config.ts"
import { formatAmount, parseAmount } from "../../money/amount.ts"
import { Books } from "../../money/books.ts"
import { JobAttempts } from "../../money/job-attempts.ts"
import { Ledger } from "../../money/ledger.ts"
import { Api } from "../../protocol/api.ts"
import {
  type ApplyProgress,
  ApplyRequest,
  type ApplyResponse,
  type AuditResponse,
  type DoctorResponse,
  type LedgerResponse,
  TopupRequest,
  type TopupResponse,
} from "../../protocol/control/admin.ts"
import { serviceError } from "../../protocol/error.ts"
import { environmentsOf, resolveTimeout, type Tier, tiers } from "../../protocol/timeout-tiers.ts"
import { cursorOf, cursorReader } from "../../protocol/values/cursor.ts"
import { duration } from "../../protocol/values/duration.ts"
import { Instant } from "../../protocol/values/instant.ts"
import { AuditLog, auditStart } from "../../store/audit-log.ts"
import { keyOf } from "../../telemetry/timeouts/observed.ts"
import { TierTimes } from "../../telemetry/timeouts/tier-times.ts"
import { Tenants } from "../../tenants/tenants.ts"
import {
  knownOrg,
  makeForOperator,
  makeReplyToOperator,
  maxBodyBytes,
  maxCatalogueBytes,
  refuseCatalogue,
} from "../operator.ts"
import { type PageQuery, partOf } from "../page-query.ts"
import { progressEvents } from "../progress-events.ts"
import { type Request, readJson } from "../request.ts"

export const adminRoutes = HttpApiBuilder.group(
  Api,
  "admin",
  Effect.fn(function* (handlers) {
    const forOperator = yield* makeForOperator
    const replyToOperator = yield* makeReplyToOperator
    const catalogue = yield* Catalogue
    const tenants = yield* Tenants
    const ledger = yield* Ledger
    const books = yield* Books
    const jobAttempts = yield* JobAttempts
    const auditLog = yield* AuditLog
    const tierTimes = yield* TierTimes
    const { catalogueFile, env, upstreamTimeouts } = yield* WeirConfig

    const limitsOf = (vendorId: string, handle: string, tier: Tier) => {
      const snapshot = catalogue.current()
      const model = snapshot.model(handle)
      const platform = snapshot.document.timeouts
      const { vendors = [], toolServers = [] } = snapshot.document
      // One that no model names has passed routes through, or is a server of tools.
      const vendor =
        model?.targets.find(({ vendor }) => vendor.id === vendorId)?.vendor.timeouts ??
        [...vendors, ...toolServers].find(({ id }) => id === vendorId)?.timeouts
      const inForce = (environment: string) =>
        resolveTimeout(tier, {
          environment,
          // The variables are this gateway's: they count for its own environment only.
          variables: environment === env ? upstreamTimeouts : {},
          model: model?.model.timeouts,
          vendor,
          platform,
        })
      const named = [platform, vendor, model?.model.timeouts].flatMap(environmentsOf)
      const limits = [...new Set([env, ...named])].map((name) => [name, inForce(name).ms] as const)
      const { ms, source, beaten } = inForce(env)
      return {
        limitMs: ms,
        source: beaten === undefined ? source : `${source}, over ${duration(beaten.ms)} of ${beaten.source}`,
        limits: Object.fromEntries(limits),
      }
    }

    const apply = Effect.fn("admin.apply")(function* (
      { text, ...options }: typeof ApplyRequest.Type,
      onProgress?: (progress: ApplyProgress) => void,
    ) {
      const applied = yield* Effect.catchTag(
        catalogue.apply(text, { ...options, onProgress }),
        "CatalogueRefused",
        refuseCatalogue,
      )
      const dropped = yield* withBalances(applied.dropped)
      const isFile = catalogueFile === undefined || (yield* isWatchedText(catalogueFile, text))
      const warnings = isFile ? applied.warnings : [...applied.warnings, endsWith(catalogueFile)]
      return { ...applied, dropped, warnings, revision: String(applied.revision) } satisfies ApplyResponse
    })

    /** Dropped entries with their balances. */
    const withBalances = Effect.fnUntraced(function* (entries: ReadonlyArray<string>) {
      const ids = entries.flatMap((entry) => (entry.startsWith(orgEntry) ? [entry.slice(orgEntry.length)] : []))
      const rows = ids.length === 0 ? [] : yield* books.balances(ids.slice(0, mostBalances))
      const byEntry = Map.groupBy(rows, ({ orgId }) => `${orgEntry}${orgId}`)
      return entries.map((entry) => {
        const balances = byEntry.get(entry)?.map(({ currency, available, held }) => ({ currency, available, held }))
        return { entry, ...(balances !== undefined && { balances }) }
      })
    })
    const applyRequestOf = (request: Request) => readJson(ApplyRequest, request, maxCatalogueBytes)

    const topup = Effect.fn("admin.topup")(function* (request: Request) {
      const { id, org: orgId, amount } = yield* readJson(TopupRequest, request, maxBodyBytes)
      const { currency } = (yield* knownOrg(tenants, orgId)).org
      const credit = { id, orgId, currency, amount: parseAmount(amount) ?? 0n }
      const credited = yield* ledger.topup(credit)
      if (!credited && !(yield* ledger.isTopup(credit))) {
        return yield* serviceError("conflict", "A top-up with this id credited another organisation or amount")
      }
      const balance = formatAmount(yield* ledger.balance(orgId, currency))
      return { credited, balance, currency } satisfies TopupResponse
    })

    /** Every target of the catalogue, without observations. */
    const allTargets = () =>
      (catalogue.current().document.models ?? []).flatMap(({ handle, targets = [] }) =>
        [...new Set(targets.map(({ vendor }) => vendor))].flatMap((vendor) =>
          tiers.map((tier) => ({
            vendor,
            model: handle,
            tier,
            ...limitsOf(vendor, handle, tier),
            buckets: [],
            ended: 0,
          })),
        ),
      )

    const tiersBetween = Effect.fnUntraced(function* (from: string, to?: string, all?: "true") {
      const until = to ?? new Date(yield* Clock.currentTimeMillis).toISOString()
      for (const instant of [from, until]) {
        if (!isInstant(instant)) return yield* serviceError("bad_request", "from and to must be dates or instants")
      }
      const { data } = yield* tierTimes.between(from, until, limitsOf)
      if (all === undefined) return { data }
      const known = new Set(data.map(keyOf))
      return { data: [...data, ...allTargets().filter((row) => !known.has(keyOf(row)))] }
    })

    const verifyAudit = Effect.fnUntraced(function* (query: PageQuery) {
      const { limit, cursor } = yield* partOf(query)
      const [seq, hash] = yield* auditPlaceOf(cursor)
      const { place, head, broken } = yield* auditLog.verify({ seq: BigInt(seq), hash }, limit)
      return {
        entries: Number(place.seq),
        of: Number(head.seq),
        head: head.hash,
        ...(broken !== undefined && { broken: String(broken) }),
        nextCursor: broken === undefined && place.seq < head.seq ? cursorOf([String(place.seq), place.hash]) : null,
      } satisfies AuditResponse
    })

    return handlers
      .handleRaw("applyCatalogue", ({ request }) =>
        forOperator(
          request,
          Effect.flatMap(applyRequestOf(request), (asked) => apply(asked)),
        ),
      )
      .handleRaw("applyCatalogueEvents", ({ request }) =>
        replyToOperator(
          request,
          Effect.map(applyRequestOf(request), (asked) =>
            progressEvents<ApplyProgress, ApplyResponse>((tell) => apply(asked, tell)),
          ),
        ),
      )
      .handleRaw("topup", ({ request }) => forOperator(request, topup(request)))
      .handleRaw("ledger", ({ request, params }) =>
        forOperator<LedgerResponse, never>(
          request,
          Effect.andThen(knownOrg(tenants, params.org), books.ledger(params.org)),
        ),
      )
      .handleRaw("tierTimes", ({ request, query }) =>
        forOperator(request, tiersBetween(query.from, query.to, query.all)),
      )
      .handleRaw("auditVerify", ({ request, query }) => forOperator(request, verifyAudit(query)))
      .handleRaw("doctor", ({ request }) =>
        forOperator<DoctorResponse, never>(
          request,
          Effect.gen(function* () {
            return {
              ...(yield* books.audit),
              nodes: yield* books.nodes,
              shards: yield* books.shards,
              lostJobs: yield* jobAttempts.lost,
              identities: identityProblems(catalogue.current()),
            }
          }),
        ),
      )
  }),
)

const endsWith = (file: string): string =>
  `${file} is watched and has another text: it is applied again at its next change and at each start; write this text to it`

/** The beginning of an organisation's entry. */
const orgEntry = "orgs/"
/** The maximum number of dropped organisations whose balances are returned: more than anybody reads. */
const mostBalances = 100

const isInstant = Schema.is(Instant)

/** The last entry that was found valid: its number and its hash. */
const auditPlaceOf = cursorReader(
  Schema.Tuple([
    Schema.String.check(Schema.isPattern(/^\d{1,18}$/, { expected: "a revision such as 7" })),
    Schema.String.check(Schema.isPattern(/^(?:[0-9a-f]{64})?$/)),
  ]),
  [String(auditStart.seq), auditStart.hash],
)
