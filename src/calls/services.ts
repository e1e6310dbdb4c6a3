/** The services that calls of every kind need, and the calls that run. */
import type { Context } from "effect"
import type { Gate } from "../admission/gate.ts"
import type { Overload } from "../admission/overload.ts"
import type { Sessions } from "../admission/sessions.ts"
import type { Catalogue } from "../catalogue/catalogue.ts"
import type { Members } from "../collections.ts"
import type { WeirConfig } from "../config.ts"
import type { Deadlines } from "../deadlines.ts"
import type { ContentObjects } from "../kept-responses/content-objects.ts"
import type { Spool } from "../media/spool.ts"
import type { BalanceWarnings } from "../money/budgets/balance-warnings.ts"
import type { BudgetWarnings } from "../money/budgets/budget-warnings.ts"
import type { CallBudgets } from "../money/budgets/call-budgets.ts"
import type { JobAttempts } from "../money/job-attempts.ts"
import type { Ledger } from "../money/ledger.ts"
import type { Settler } from "../money/settler.ts"
import type { PolicyDenials } from "../policies/denials.ts"
import type { Review } from "../policies/review.ts"
import type { OpenExchanges } from "../protocol/control/exchange-log.ts"
import type { ReplyCache } from "../reply-cache/reply-cache.ts"
import type { Sealer } from "../store/seal.ts"
import type { ExchangeReports } from "../telemetry/exchange-reports.ts"
import type { VendorClient } from "../upstream/client.ts"
import type { TargetHealth } from "../upstream/health.ts"
import type { OpenTools } from "./offered-tools.ts"
import type { FirstRecords } from "./settle/first-records.ts"
import type { LeasedCall } from "./settle/leases.ts"
import type { Tokenizer } from "./tokens/tokenizer.ts"
import type { UsualOutputs } from "./tokens/usual-outputs.ts"
import type { TimeoutsOf } from "./vendor/timeouts.ts"

/** An open call, without the name of its node, which the node adds. */
export type OpenCall = Omit<OpenExchanges["data"][number], "node">

/** A realtime session, without the name of its node, which the node adds. */
export type OpenSession = Omit<OpenExchanges["sessions"][number], "node">

/** A call with a hold, as its node sees it. */
export interface RunningCall extends LeasedCall {
  /** The present state, for operators. */
  readonly view: () => OpenCall
}

export interface CallServices {
  /** The tools of servers, for exchanges that name them. */
  readonly openTools: OpenTools
  readonly config: WeirConfig["Service"]
  readonly catalogue: Catalogue["Service"]
  readonly gate: Gate["Service"]
  readonly overload: Overload["Service"]
  readonly sessions: Sessions["Service"]
  readonly budgets: CallBudgets["Service"]
  readonly balanceWarnings: BalanceWarnings["Service"]
  readonly budgetWarnings: BudgetWarnings["Service"]
  readonly ledger: Ledger["Service"]
  readonly settler: Settler["Service"]
  readonly jobAttempts: JobAttempts["Service"]
  readonly firstRecords: FirstRecords
  readonly client: VendorClient["Service"]
  readonly spool: Spool["Service"]
  readonly health: TargetHealth["Service"]
  readonly review: Review["Service"]
  readonly denials: PolicyDenials["Service"]
  readonly replyCache: ReplyCache["Service"]
  readonly tokenizer: Tokenizer["Service"]
  readonly usualOutputs: UsualOutputs
  readonly reports: ExchangeReports["Service"]
  /** Large contents of replies that are kept. */
  readonly contents: ContentObjects["Service"]
  /** Seals replies that are kept. */
  readonly sealer: Sealer
  readonly deadlines: Deadlines
  readonly timeoutsOf: TimeoutsOf
  /** Calls with a hold; checkpoints are written of them. */
  readonly leased: Members<RunningCall>
  /** Realtime sessions, for operators. */
  readonly sessionViews: Set<() => OpenSession>
  /** Calls that wait for the reply of another one; they own their request ids meanwhile. */
  readonly sharing: Members<Pick<LeasedCall, "registration">>
  /** For metrics, which are recorded outside effects. */
  readonly context: Context.Context<never>
  readonly nowMs: () => number
}
