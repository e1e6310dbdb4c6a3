/**
 * The description of one kind of call. A kind plans a call; the plan is a task, which knows the vendor's side, the bill and
 * the reply of this one call. Everything else is the same for all kinds, and is in this folder.
 */
import type { Effect, Result } from "effect"
import type { DailyCount } from "../admission/gate.ts"
import type { CallTarget, CatalogueSnapshot } from "../catalogue/snapshot.ts"
import type { Caller } from "../identity/caller.ts"
import type { Marked } from "../media/marked.ts"
import type { Amount } from "../money/amount.ts"
import type { Charge } from "../money/pricing.ts"
import type { JobFacts } from "../money/settlement.ts"
import type { Marks } from "../policies/masks/marks.ts"
import type { Parts, TextOfParts, TextReader } from "../policies/parts.ts"
import type { EditText } from "../policies/reply/reply-blocks.ts"
import type { ReplyCaching } from "../protocol/control/reply-cache.ts"
import type { ServiceError } from "../protocol/error.ts"
import type { ExchangeMeta, Stop } from "../protocol/exchange.ts"
import type { Timeouts } from "../protocol/timeout-tiers.ts"
import type { VendorClient } from "../upstream/client.ts"
import type { OpenTools } from "./offered-tools.ts"
import type { CacheableReply } from "./reply/cacheable-reply.ts"
import type { ClientReply } from "./reply/reply.ts"
import type { SettledUsage } from "./reply/reply-body.ts"
import type { CallServices } from "./services.ts"
import type { Bill } from "./settle/bill.ts"
import type { BrokenReason } from "./settle/outcome.ts"
import type { Work } from "./vendor/work.ts"

/** The fields that every request has. */
export interface CallRequest {
  readonly meta?: typeof ExchangeMeta.Type | undefined
  /** Whether the reply is a stream of events. */
  readonly stream?: boolean | undefined
  readonly cache?: { readonly reply?: ReplyCaching | undefined } | undefined
  /** Whether the reply is kept for its caller: it is then read whole, also where it is a stream. */
  readonly isKept?: boolean | undefined
  /** The id under which it is kept, if the client's API has such ids. */
  readonly keptAs?: string | undefined
}

export type PlanError = ServiceError

/** The arguments from which a task is planned. */
export interface Asked<Request, Body extends object> {
  readonly services: CallServices
  /** The gateway's own request id. */
  readonly requestId: string
  readonly request: Request
  readonly caller: Caller
  readonly catalogue: CatalogueSnapshot
  readonly nowMs: number
  readonly reply: ClientReply<Body>
}

/** The sources of a request's missing parts. */
export interface CompletingFrom {
  readonly openTools: OpenTools
  readonly caller: Caller
  /** The marks in the request; undefined if it has none. */
  readonly marks: Marks | undefined
}

/** @typeParam Body the body of a reply that is not streamed */
export interface Kind<Request extends CallRequest, Body extends object> {
  readonly name: string
  /** The purpose in usage records, if the caller names none. */
  readonly purpose: string
  /** The handle that the request names; undefined if its kind has no models. */
  readonly modelOf: (request: Request) => string | undefined
  /** The name in records of a request whose kind has no models; its purpose if absent. */
  readonly recordedAs?: (request: Request) => string
  /** The capability that an organisation needs for calls of its end users. */
  readonly capability?: string
  /** The daily counts that a call uses; a call that fails is not counted. */
  readonly dailyCounts?: (caller: Caller, day: string) => ReadonlyArray<DailyCount>
  /** Tokens of the prompt, estimated from its size, and the most of the output; undefined if the model's limit holds. */
  readonly tokensAsked?: (request: Request) => { readonly prompt: number; readonly output: number | undefined }
  /** The text that inbound policies read; a string if all of it is words. */
  readonly reviewed: (request: Request) => string | TextOfParts
  /** The request with what only other services know, after its admission; absent if a request has all. */
  readonly completed?: (request: Request, asked: CompletingFrom) => Effect.Effect<Request, ServiceError> | undefined
  /** Decides the model, price, targets and hold, before money or vendors are involved. */
  readonly plan: (asked: Asked<Request, Body>) => Result.Result<Task<Body>, PlanError>
}

/** One planned call. */
export interface Task<Body extends object> extends Work {
  /** The model's name in usage records and metrics. */
  readonly model: string
  /** In failover order. */
  readonly targets: ReadonlyArray<CallTarget>
  readonly timeoutsOf: (target: CallTarget) => Timeouts
  readonly currency: string
  /** The highest cost. */
  readonly holdAmount: Amount
  /** The most tokens, for budgets of tokens. */
  readonly holdTokens: number
  /** The way to keep the reply and give it again; undefined if replies of its kind are not kept. */
  readonly cacheableReply?: CacheableReply | undefined
  /** The first events of a stream; undefined if the reply is whole. */
  readonly opening: (() => string) | undefined
  /** Counts what the vendor did not report, before the bill is made for good. */
  readonly estimate: Effect.Effect<void>
  /**
   * The bill at this moment.
   * @returns undefined if nothing is billed
   */
  readonly bill: (broken: BrokenReason | undefined) => Bill | undefined
  readonly charge: (bill: Bill) => Charge
  /** The way to its targets, if it is not that of all vendors. */
  readonly clientOf?: (client: VendorClient["Service"]) => VendorClient["Service"]
  /** Whether the vendor is asked for a job, which is recorded before. */
  readonly asksForJob?: boolean
  /** The job that the vendor works on after this call; the billed amount moves to its account. */
  readonly job?: () => JobFacts | undefined
  /** The status of a reply that is sent whole; 200 if absent. */
  readonly status?: number
  /** A report of usage that cannot be true, for the log. */
  readonly implausible: () => Record<string, unknown> | undefined
  readonly stop: () => Stop
  /** The stop sequence that ended the reply, if the vendor reports it. */
  readonly stopSequence?: () => string | undefined
  /** The stop reason of each reply, if there are several; undefined if there is one. */
  readonly stops?: () => ReadonlyArray<Stop> | undefined
  /** The long parts of its reply; they are closed with the call. */
  readonly marked?: Marked | undefined
  /** The text that outbound policies read. */
  readonly answered: (parts: Parts, reader?: TextReader) => string
  /** The reply that is sent whole, as a function of the balance that it shows. @param edit of each text that a model wrote */
  readonly finish: (usage: SettledUsage, edit?: EditText) => (balance: string) => Body
}
