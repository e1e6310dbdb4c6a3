/** The services of exchanges, and an exchange from its hold on. */
import type { Context, Result } from "effect"
import type { CallBudgets } from "../admission/budgets.ts"
import type { Gate } from "../admission/gate.ts"
import type { Overload, Waiting } from "../admission/overload.ts"
import type { Sessions } from "../admission/sessions.ts"
import type { Catalogue } from "../catalogue/catalogue.ts"
import type { WeirConfig } from "../config.ts"
import type { Caller } from "../identity/caller.ts"
import type { CoveringBudget } from "../money/budget.ts"
import type { BudgetWarnings } from "../money/budget-warnings.ts"
import type { Hold, Ledger } from "../money/ledger.ts"
import type { Settler } from "../money/settler.ts"
import type { ServiceError } from "../protocol/error.ts"
import type { ExchangeRequest } from "../protocol/exchange.ts"
import type { OpenExchanges } from "../protocol/exchange-log.ts"
import type { Review } from "../review/review.ts"
import type { Sealer } from "../store/seal.ts"
import type { ExchangeReports } from "../telemetry/exchange-reports.ts"
import type { VendorClient } from "../upstream/client.ts"
import type { Deadlines } from "../upstream/deadlines.ts"
import type { TargetHealth } from "../upstream/health.ts"
import type { Conversation } from "./conversation.ts"
import type { DecodedExchange } from "./decode.ts"
import type { Leased } from "./leases.ts"
import type { Plan } from "./plan.ts"
import type { RegisteredExchange } from "./replay.ts"
import type { ClientReply } from "./reply.ts"
import type { TimeoutsOf } from "./timeouts.ts"
import type { Tokenizer } from "./tokenizer.ts"

export interface ExchangeServices {
  readonly config: WeirConfig["Service"]
  readonly catalogue: Catalogue["Service"]
  readonly gate: Gate["Service"]
  readonly overload: Overload["Service"]
  readonly sessions: Sessions["Service"]
  readonly budgets: CallBudgets["Service"]
  readonly budgetWarnings: BudgetWarnings["Service"]
  readonly ledger: Ledger["Service"]
  readonly settler: Settler["Service"]
  readonly client: VendorClient["Service"]
  readonly health: TargetHealth["Service"]
  readonly review: Review["Service"]
  readonly tokenizer: Tokenizer["Service"]
  readonly reports: ExchangeReports["Service"]
  /** Seals replies that are kept. */
  readonly sealer: Sealer
  readonly deadlines: Deadlines
  readonly timeoutsOf: TimeoutsOf
  /** Exchanges with a hold; checkpoints are written of them. */
  readonly leased: Set<RunningExchange>
  /** For metrics, which are recorded outside effects. */
  readonly context: Context.Context<never>
  readonly nowMs: () => number
}

export interface ExchangeCall {
  /** The gateway's own request id. */
  readonly requestId: string
  readonly caller: Caller
  /** The trace that the call is part of, if it is sampled. */
  readonly traceId?: string
  /** The request, or why it cannot be read, which is told after the caller's limits. Its bytes are not kept. */
  readonly decoded: Result.Result<DecodedExchange, ServiceError<"bad_request">>
}

/** Its node adds its own name. */
export type OpenExchange = Omit<OpenExchanges["data"][number], "node">

/** An exchange with a hold, as its node sees it. */
export interface RunningExchange extends Leased {
  /** What it does now, for people. */
  readonly view: () => OpenExchange
}

/** An exchange that is admitted. */
export interface AdmittedExchange {
  readonly services: ExchangeServices
  readonly call: ExchangeCall
  readonly request: ExchangeRequest
  readonly searches: number | undefined
  readonly registration: RegisteredExchange | undefined
  readonly reply: ClientReply
  /** Notified when the hold is made. */
  readonly waiting: Waiting
}

/** An exchange with a hold: it ends with a settlement or a release. */
export interface HeldExchange extends AdmittedExchange {
  readonly plan: Plan
  readonly hold: Hold
  /** The budgets that cover it. */
  readonly covering: ReadonlyArray<CoveringBudget>
  readonly conversation: Conversation
}
