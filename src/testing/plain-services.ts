/** Services that an exchange needs besides those under test: no safety policies, healthy targets. */
import { Effect, Layer, Result } from "effect"
import { Gate } from "../admission/gate.ts"
import { Overload } from "../admission/overload.ts"
import { Sessions } from "../admission/sessions.ts"
import { Tokenizer } from "../calls/tokens/tokenizer.ts"
import { CallDeadlines } from "../deadlines.ts"
import { ContentObjects } from "../kept-responses/content-objects.ts"
import { Spool } from "../media/spool.ts"
import { noRoom } from "../media/spooled-bytes.ts"
import { BalanceWarnings } from "../money/budgets/balance-warnings.ts"
import { BudgetWarnings } from "../money/budgets/budget-warnings.ts"
import { CallBudgets } from "../money/budgets/call-budgets.ts"
import { JobAttempts } from "../money/job-attempts.ts"
import { PolicyDenials } from "../policies/denials.ts"
import { nothingFound, Review } from "../policies/review.ts"
import { Flight } from "../reply-cache/flights.ts"
import { ReplyCache } from "../reply-cache/reply-cache.ts"
import { ExchangeReports } from "../telemetry/exchange-reports.ts"
import { TargetHealth } from "../upstream/health.ts"

const noDenials = Layer.succeed(PolicyDenials, PolicyDenials.of({ note: () => {} }))
const noReview = Layer.succeed(
  Review,
  Review.of({ judge: () => Effect.succeed(nothingFound), sample: () => Effect.void }),
)

const noBudgets = Layer.mergeAll(
  Layer.succeed(
    CallBudgets,
    CallBudgets.of({
      covering: () => [],
      all: () => Effect.succeed([]),
      states: () => Effect.succeed([]),
    }),
  ),
  Layer.succeed(BalanceWarnings, BalanceWarnings.of({ charged: () => {} })),
  Layer.succeed(BudgetWarnings, BudgetWarnings.of({ charged: () => {}, take: () => [], look: Effect.void })),
)

/** Sessions that accept every id. */
const anySession = Layer.effect(
  Sessions,
  Effect.map(Gate, (gate) =>
    Sessions.of({
      admit: (request) =>
        Effect.map(gate.admit(request), (admission) =>
          admission._tag === "UnknownSession" ? { _tag: "Admitted" } : admission,
        ),
      heartbeat: (_request, _caller, id = "ses_test") => Effect.succeed(id),
      archive: () => Effect.void,
    }),
  ),
)

/** Load shedding that never refuses. */
const noOverload = Layer.succeed(
  Overload,
  Overload.of({
    check: () => Effect.void,
    enter: () => ({ pause: () => {}, resume: () => {}, held: () => {}, over: () => {} }),
    checkOwn: () => Effect.void,
    maxConnections: undefined,
  }),
)

const noJobs = Layer.succeed(
  JobAttempts,
  JobAttempts.of({ begin: () => Effect.void, end: () => Effect.void, lost: Effect.succeed([]) }),
)

const noReports = Layer.succeed(ExchangeReports, ExchangeReports.of({ add: () => {}, flush: Effect.void }))

/** A cache that keeps nothing: no model here asks for one. */
const noReplyCache = Layer.succeed(
  ReplyCache,
  ReplyCache.of({
    placeOf: ({ owner, model }) => ({ owner, model, key: "" }),
    find: () => Effect.succeed({ kept: undefined, generation: Effect.undefined }),
    keep: () => Effect.void,
    flight: () => undefined,
    lead: () => new Flight(),
    remove: () => {},
    clear: () => Effect.succeed(0),
  }),
)

/** A disk without room. */
const noDisk = Layer.succeed(
  Spool,
  Spool.of({
    create: Effect.fail(noRoom()),
    open: () => Result.fail(noRoom()),
    used: () => ({ files: 0, bytes: 0 }),
  }),
)

export const layerPlainServices: Layer.Layer<
  | ExchangeReports
  | Review
  | PolicyDenials
  | TargetHealth
  | CallDeadlines
  | Tokenizer
  | Sessions
  | Overload
  | CallBudgets
  | BalanceWarnings
  | BudgetWarnings
  | JobAttempts
  | Spool
  | ReplyCache
  | ContentObjects,
  never,
  Gate
> = Layer.mergeAll(
  ContentObjects.layerInRows,
  noReports,
  noReview,
  noDenials,
  noOverload,
  noBudgets,
  noJobs,
  noDisk,
  noReplyCache,
  TargetHealth.layer,
  CallDeadlines.layer,
  anySession,
  Tokenizer.layerBytes,
)
