/** State shared by the parts of one admitted exchange. */
import type { Context } from "effect"
import type { Gate } from "../admission/gate.ts"
import type { Overload } from "../admission/overload.ts"
import type { Sessions } from "../admission/sessions.ts"
import type { Catalogue } from "../catalogue/catalogue.ts"
import type { WeirConfig } from "../config.ts"
import type { Ledger } from "../money/ledger.ts"
import type { Settler } from "../money/settler.ts"
import type { WarnEvent } from "../protocol/event.ts"
import type { ExchangeRequest } from "../protocol/exchange.ts"
import type { Review } from "../review/review.ts"
import type { Sealer } from "../store/seal.ts"
import type { VendorClient } from "../upstream/client.ts"
import type { TargetHealth } from "../upstream/health.ts"
import type { UpstreamKeys } from "../upstream/upstream-keys.ts"
import type { ClientLink } from "./client-link.ts"
import type { Conversation } from "./conversation.ts"
import type { ExchangeCall } from "./due.ts"
import type { Leased } from "./leases.ts"
import type { Plan } from "./plan.ts"
import type { RegisteredExchange } from "./replay.ts"
import type { Tally } from "./tally.ts"
import type { Tokenizer } from "./tokenizer.ts"

export interface ActorServices {
  readonly config: WeirConfig["Service"]
  readonly catalogue: Catalogue["Service"]
  readonly gate: Gate["Service"]
  readonly overload: Overload["Service"]
  readonly sessions: Sessions["Service"]
  readonly ledger: Ledger["Service"]
  readonly settler: Settler["Service"]
  readonly client: VendorClient["Service"]
  readonly health: TargetHealth["Service"]
  readonly review: Review["Service"]
  readonly upstreamKeys: UpstreamKeys["Service"]
  readonly tokenizer: Tokenizer["Service"]
  /** Seals replies that are kept. */
  readonly sealer: Sealer
  /** Exchanges with a hold; checkpoints are written of them. */
  readonly leased: Set<Leased>
  /** For metrics, which are recorded outside effects. */
  readonly context: Context.Context<never>
}

export interface Admitted {
  readonly services: ActorServices
  readonly call: ExchangeCall
  readonly link: ClientLink
  readonly request: ExchangeRequest
  readonly registration: RegisteredExchange | undefined
  /** What has been received of the vendor's reply. */
  readonly tally: Tally
  /** Warnings for the client. */
  readonly warnings: Array<WarnEvent>
}

export interface PlannedConversation extends Conversation {
  readonly plan: Plan
}
