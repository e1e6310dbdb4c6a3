/**
 * The task of a call whose reply is whole: embedding, rerank, moderation, search. The vendor's body is read at its end;
 * a request that is too large for a vendor is made in parts, which are billed together or not at all.
 */
import { Effect, type Result } from "effect"
import type { Asked, CallRequest, Task } from "../../calls/kind.ts"
import type { CacheableReply } from "../../calls/reply/cacheable-reply.ts"
import type { SettledUsage } from "../../calls/reply/reply-body.ts"
import type { Bill } from "../../calls/settle/bill.ts"
import type { BrokenReason } from "../../calls/settle/outcome.ts"
import { type CallFailure, operationSpan, recordOperation, type TokensUsed } from "../../calls/vendor/operation.ts"
import type { Reader, Work } from "../../calls/vendor/work.ts"
import type { CallTarget } from "../../catalogue/snapshot.ts"
import { type JsonObject, parseReply } from "../../dialects/parse/json.ts"
import { malformedReply, type VendorFault } from "../../dialects/vendor/faults.ts"
import type { ReplyHeaders } from "../../dialects/whole-dialect.ts"
import type { AnyWireRequest, EncodeRefusal } from "../../dialects/wire.ts"
import type { LongParts, Marked } from "../../media/marked.ts"
import type { Amount } from "../../money/amount.ts"
import { type Charge, inputTokens } from "../../money/pricing.ts"
import type { JobFacts } from "../../money/settlement.ts"
import type { Parts } from "../../policies/parts.ts"
import type { EditText } from "../../policies/reply/reply-blocks.ts"
import type { WarnEvent } from "../../protocol/event.ts"
import type { Timeouts } from "../../protocol/timeout-tiers.ts"
import { isEventStream, type UpstreamHead } from "../../upstream/client.ts"
import { BodyReader, EventReader, type WholeStream } from "./whole-readers.ts"

/** The part of one planned call that depends on its kind. @typeParam Got the value that a dialect reads of one part */
export interface WholeCall<Got, Body extends object> {
  readonly model: string
  /** In failover order. */
  readonly targets: ReadonlyArray<CallTarget>
  readonly timeoutsOf: (target: CallTarget) => Timeouts
  readonly currency: string
  readonly holdAmount: Amount
  readonly holdTokens: number
  /** The beginning of its span's name; `gen_ai.operation.name` if it is a call of a model. */
  readonly operation: string
  /** Whether it calls no model, and is not in their metrics. */
  readonly hasNoModel?: boolean
  readonly partsAt?: (target: CallTarget) => number
  readonly encode: (target: CallTarget, part: number) => Result.Result<AnyWireRequest, EncodeRefusal>
  /** @returns undefined if the reply does not answer what was asked */
  readonly decode: (target: CallTarget, body: JsonObject, part: number, headers: ReplyHeaders) => Got | undefined
  /** The reason why a reply that was not decoded has nothing; undefined if it is malformed. */
  readonly faultIn?: (target: CallTarget, body: JsonObject) => VendorFault | undefined
  /** Whether clients get the vendor's machine code of a refusal. */
  readonly tellsCode?: boolean
  readonly triesAfterRefusal?: boolean
  readonly maxBodyBytes?: number
  /** The long parts of its reply, which are not in its JSON. */
  readonly long?: LongReply
  /** Counts what the vendor did not report, if that takes time. */
  readonly estimate?: (parts: ReadonlyArray<Got>) => Effect.Effect<void>
  readonly bill: (parts: ReadonlyArray<Got>, target: CallTarget) => Bill
  /** A report of usage that cannot be true, for the log. */
  readonly implausible?: (parts: ReadonlyArray<Got>) => Record<string, unknown> | undefined
  readonly charge: (bill: Bill, target: CallTarget) => Charge
  readonly finish: (parts: ReadonlyArray<Got>, usage: SettledUsage) => (balance: string) => Body
  /** The job that the vendor works on now; {@link Task.job}. */
  readonly job?: (parts: ReadonlyArray<Got>, target: CallTarget) => JobFacts | undefined
  readonly status?: number
  /** The events of its reply, if the client asked for events. */
  readonly stream?: WholeStream<Got>
  /** A part with other texts; absent if its parts have no text that a model or a website wrote. */
  readonly edited?: (part: Got, edit: EditText) => Got
  /** The text that outbound policies read. */
  readonly answered?: (parts: ReadonlyArray<Got>) => string
  /** The way to keep its reply and give it again, if it is kept. */
  readonly keeping?: Keeping<Got>
}

export interface LongReply {
  readonly marked: Marked
  /** Takes them out of the vendor's reply to one part of the request; undefined if the reply's head shows that it has none. */
  readonly taken: (head: UpstreamHead) => LongParts | undefined
  /** The vendor's reply with its parts in their places, if its dialect reads them. */
  readonly restored?: (json: JsonObject) => JsonObject
}

/** The parts of {@link CacheableReply} that depend on a kind. */
export interface Keeping<Got> {
  readonly sameness: () => object | undefined
  readonly share: Amount | undefined
  /** Whether JSON is a part of a reply; it was sealed by this program. */
  readonly isPart: (json: object) => json is Got & object
}

/** The fields of a request that can change its answer. */
export const withoutMeta = <Request extends CallRequest>({ meta: _meta, cache: _cache, ...asked }: Request) => asked

const onePart = () => 1

type Context = Pick<Asked<unknown, object>["services"], "context">

export class WholeTask<Got, Body extends object> implements Task<Body> {
  readonly model: string
  readonly targets: ReadonlyArray<CallTarget>
  readonly timeoutsOf: (target: CallTarget) => Timeouts
  readonly currency: string
  readonly holdAmount: Amount
  readonly holdTokens: number
  readonly opening: (() => string) | undefined
  readonly cacheableReply: CacheableReply | undefined
  readonly warnings: Array<WarnEvent> = []
  readonly partsAt: (target: CallTarget) => number
  readonly tellsCode: boolean
  readonly triesAfterRefusal: boolean
  readonly asksForJob: boolean
  readonly maxBodyBytes?: number
  readonly status?: number
  readonly marked: Marked | undefined
  readonly #call: WholeCall<Got, Body>
  readonly #context: Context
  #parts: Array<Got> = []
  #bytes = 0
  /** The target whose reply is whole; undefined until then. */
  #answeredBy: CallTarget | undefined
  /** The target whose events have reached the client. */
  #begunBy: CallTarget | undefined

  constructor(call: WholeCall<Got, Body>, context: Context) {
    this.#call = call
    this.#context = context
    this.model = call.model
    this.targets = call.targets
    this.timeoutsOf = call.timeoutsOf
    this.currency = call.currency
    this.holdAmount = call.holdAmount
    this.holdTokens = call.holdTokens
    this.opening = call.stream && (() => call.stream?.opening() ?? "")
    this.partsAt = call.partsAt ?? onePart
    this.tellsCode = call.tellsCode === true
    this.triesAfterRefusal = call.triesAfterRefusal === true
    this.asksForJob = call.job !== undefined
    this.cacheableReply = call.keeping && {
      sameness: Effect.sync(call.keeping.sameness),
      share: call.keeping.share ?? 0n,
      tap: undefined,
      recall: (line) => this.#recall(line),
    }
    this.marked = call.long?.marked
    if (call.status !== undefined) this.status = call.status
    if (call.maxBodyBytes !== undefined) this.maxBodyBytes = call.maxBodyBytes
  }

  get received(): Work["received"] {
    return { outputBytes: this.#bytes, isAnswered: this.#answeredBy !== undefined }
  }

  encode(target: CallTarget, part: number): Result.Result<AnyWireRequest, EncodeRefusal> {
    return this.#call.encode(target, part)
  }

  /** The parts of a target that failed are not used. */
  reader(target: CallTarget, head: UpstreamHead, part: number): Reader {
    if (part === 0) {
      this.#parts = []
      this.#bytes = 0
    }
    const { stream, long } = this.#call
    if (stream !== undefined && isEventStream(head)) {
      const listener = {
        begun: () => {
          this.#begunBy = target
        },
        whole: (got: Got) => {
          this.#parts.push(got)
          this.#answeredBy = target
        },
      }
      return new EventReader(stream, target, listener, long?.taken(head))
    }
    const tell = () => {
      if (stream !== undefined && this.#answeredBy !== undefined)
        stream.write(stream.opening() + stream.told(this.#parts))
    }
    const take = (body: Buffer, bytes: number) => {
      const read = parseReply(body.toString("utf8"))
      const json = read === undefined ? undefined : (long?.restored?.(read) ?? read)
      const got = json === undefined ? undefined : this.#call.decode(target, json, part, head.headers)
      if (got === undefined) return (json && this.#call.faultIn?.(target, json)) ?? malformedReply
      this.#parts.push(got)
      this.#bytes += bytes
      if (this.#parts.length === this.partsAt(target)) {
        this.#answeredBy = target
        this.cacheableReply?.tap?.({ bytes: this.#bytes, json: () => JSON.stringify(this.#parts) })
      }
      return undefined
    }
    return new BodyReader(tell, take, long?.taken(head))
  }

  #recall(line: string): void {
    const parts: unknown = JSON.parse(line)
    const isPart = this.#call.keeping?.isPart
    if (isPart === undefined || !Array.isArray(parts)) return
    this.#parts = parts.filter(
      (part): part is Got & object => typeof part === "object" && part !== null && isPart(part),
    )
    this.#answeredBy = this.targets[0]
  }

  span(target: CallTarget): ReturnType<Work["span"]> {
    const { operation } = this.#call
    return {
      name: `${operation} ${target.model}`,
      options: () =>
        operationSpan(operation, target, {}, () => {
          const usage = this.#usage()
          return usage === undefined ? {} : { "gen_ai.usage.input_tokens": usage.inTokens }
        }),
    }
  }

  record(target: CallTarget, millis: number, error: CallFailure | undefined): void {
    if (this.#call.hasNoModel === true) return
    recordOperation(this.#context.context, this.#call.operation, target, millis, this.#usage(), error)
  }

  get estimate(): Effect.Effect<void> {
    const { estimate } = this.#call
    return this.#answeredBy === undefined || estimate === undefined ? Effect.void : estimate(this.#parts)
  }

  bill(broken: BrokenReason | undefined): Bill | undefined {
    if (this.#answeredBy !== undefined) return this.#call.bill(this.#parts, this.#answeredBy)
    return this.#begunBy && this.#call.stream?.brokenBill(broken ?? "upstream_disconnected")
  }

  charge(bill: Bill): Charge {
    // Before a kept reply is taken, it is priced.
    const target = this.#answeredBy ?? this.#begunBy ?? this.targets[0]
    return target === undefined ? { cost: 0n, cacheNetSaving: 0n } : this.#call.charge(bill, target)
  }

  job(): JobFacts | undefined {
    return this.#answeredBy && this.#call.job?.(this.#parts, this.#answeredBy)
  }

  implausible(): Record<string, unknown> | undefined {
    return this.#answeredBy && this.#call.implausible?.(this.#parts)
  }

  stop(): "end" {
    return "end"
  }

  /** Vectors, orders, marks and pictures are not text that policies read. */
  answered(parts: Parts): string {
    return parts.has("text") ? (this.#call.answered?.(this.#parts) ?? "") : ""
  }

  finish(usage: SettledUsage, edit?: EditText): (balance: string) => Body {
    const { edited, finish } = this.#call
    const parts =
      edit === undefined || edited === undefined ? this.#parts : this.#parts.map((part) => edited(part, edit))
    return finish(parts, usage)
  }

  #usage(): TokensUsed | undefined {
    if (this.#answeredBy === undefined) return undefined
    const { counts } = this.#call.bill(this.#parts, this.#answeredBy)
    return { inTokens: inputTokens(counts) }
  }
}
