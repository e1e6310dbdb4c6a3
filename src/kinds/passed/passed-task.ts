/** One call of a route: its request and its reply are passed on unchanged. */
import { Effect, Result } from "effect"
import type { Asked, Task } from "../../calls/kind.ts"
import type { Bill } from "../../calls/settle/bill.ts"
import type { BrokenReason } from "../../calls/settle/outcome.ts"
import { operationSpan } from "../../calls/vendor/operation.ts"
import type { Reader, Work } from "../../calls/vendor/work.ts"
import type { CallTarget } from "../../catalogue/snapshot.ts"
import { isObject } from "../../dialects/parse/json.ts"
import { malformedReply, type VendorFault } from "../../dialects/vendor/faults.ts"
import type { EncodeRefusal, SentRequest } from "../../dialects/wire.ts"
import type { Amount } from "../../money/amount.ts"
import type { Charge } from "../../money/pricing.ts"
import { costOf } from "../../pass-through/route-price.ts"
import { textsOfJson } from "../../policies/json-texts.ts"
import type { Parts } from "../../policies/parts.ts"
import { type EditText, editJsonTexts } from "../../policies/reply/reply-blocks.ts"
import type { WarnEvent } from "../../protocol/event.ts"
import { exceededLimit, loopLimits } from "../../protocol/json/json-size.ts"
import type { Timeouts } from "../../protocol/timeout-tiers.ts"
import type { UpstreamHead } from "../../upstream/client.ts"
import { BodyReader } from "../whole/whole-readers.ts"
import { passedBill } from "./passed-bill.ts"
import type { PassedIds } from "./passed-ids.ts"
import type { PassedReply, PassedRequest } from "./passed-request.ts"
import { formOf, isRead, type ReplyForm } from "./reply-form.ts"
import { ReportedUnits } from "./reported-units.ts"
import { StreamReader } from "./stream-reader.ts"

/** The call costs as much as it may: it is ended. */
const reachesHold: VendorFault = { status: 200, code: "reaches_hold", blame: "request" }

/** Characters of a stream that are sampled. */
const mostSampled = 256 * 1024

type PassedCall = Asked<PassedRequest, PassedReply>

export class PassedTask implements Task<PassedReply> {
  readonly model: string
  readonly targets: ReadonlyArray<CallTarget>
  readonly currency: string
  readonly holdAmount: Amount
  readonly holdTokens = 0
  readonly warnings: Array<WarnEvent> = []
  readonly estimate = Effect.void
  readonly #call: PassedCall
  readonly #ids: PassedIds
  #units: ReportedUnits
  #head: UpstreamHead | undefined
  #isStreamed = false
  #isWhole = false
  #text = ""
  #json: unknown
  #startedAtMs = 0
  #endedAtMs: number | undefined
  #replyBytes = 0
  #newIds: Array<string> = []
  #cost: Amount = 0n

  constructor(call: PassedCall, targets: ReadonlyArray<CallTarget>, ids: PassedIds) {
    const { caller, request } = call
    const { route } = request
    this.#call = call
    this.#ids = ids
    this.#units = new ReportedUnits(route.usage)
    this.model = route.handle
    this.targets = targets
    this.currency = route.prices?.currency ?? caller.org.currency
    this.holdAmount = route.prices === undefined ? 0n : route.hold
  }

  timeoutsOf(target: CallTarget): Timeouts {
    const { services, catalogue } = this.#call
    return services.timeoutsOf(catalogue, target)
  }

  get opening(): (() => string) | undefined {
    return this.#isStreamed ? () => "" : undefined
  }

  get received(): Work["received"] {
    return { outputBytes: this.#replyBytes, isAnswered: this.#isWhole }
  }

  prepare(target: CallTarget) {
    return this.#ids.check(target)
  }

  accepts(status: number): boolean {
    return status >= 200 && status < 300
  }

  encode(): Result.Result<SentRequest, EncodeRefusal> {
    const { services, request } = this.#call
    const { method, path, headers, body } = request
    this.#startedAtMs = services.nowMs()
    return Result.succeed({ method, path, headers, body: new Uint8Array(body) })
  }

  /** The field that the vendor names, if the client wrote it. */
  clientField(field: string | undefined): string | undefined {
    const { json } = this.#call.request
    const [root = ""] = field?.split(/[.[]/) ?? []
    return isObject(json) && Object.hasOwn(json, root) ? field : undefined
  }

  reader(target: CallTarget, head: UpstreamHead): Reader {
    const { services, request, reply } = this.#call
    this.#head = head
    this.#text = ""
    this.#replyBytes = 0
    this.#newIds = []
    this.#units = new ReportedUnits(request.route.usage)
    this.#units.headers(head.headers)
    const form = formOf(head)
    // A list that is no JSON cannot be divided among its owners.
    const isUndivided = this.#ids.isOfAll && form !== "json"
    // A text is read whole where policies review it.
    this.#isStreamed = !isUndivided && !isRead(form, reply.isReviewed)
    if (isUndivided)
      return new BodyReader(
        () => {},
        () => malformedReply,
      )
    if (!this.#isStreamed)
      return new BodyReader(
        () => {},
        (body, bytes) => this.#takeWhole(body, bytes, form),
      )
    return new StreamReader(
      {
        value: (json, text) => {
          this.#units.json(json, text)
          this.#newIds.push(...this.#ids.newIn(json))
        },
        written: () => {
          const ids = this.#newIds
          if (ids.length === 0) return undefined
          this.#newIds = []
          return Effect.runPromiseWith(services.context)(this.#ids.record(target, ids))
        },
        count: (bytes) => this.#count(bytes),
        send: (bytes) => {
          this.#keepForSample(bytes, form)
          reply.write(reply.events.sound?.(bytes, head.headers["content-type"] ?? "") ?? "")
        },
      },
      form === "json" || form === "text" ? "bytes" : form,
    )
  }

  /** Runs once the reply has come, before it is sent if it is whole. */
  concluded(target: CallTarget) {
    this.#isWhole = true
    this.#endedAtMs = this.#call.services.nowMs()
    const recorded = this.#ids.record(target, this.#newIds)
    if (this.#isStreamed) return Effect.andThen(recorded, this.#ids.removed(target))
    const kept = Effect.andThen(
      recorded,
      Effect.map(this.#ids.filtered(target, this.#json, this.#text), (text) => {
        this.#text = text
      }),
    )
    return Effect.andThen(kept, this.#ids.removed(target))
  }

  bill(broken: BrokenReason | undefined): Bill | undefined {
    if (this.#head === undefined) return undefined
    const { bill, cost } = passedBill(this.#call.request.route, this.#counts(), this.#units, broken)
    this.#cost = cost
    return bill
  }

  charge(): Charge {
    return { cost: this.#cost, cacheNetSaving: 0n }
  }

  implausible(): Record<string, unknown> | undefined {
    return this.#units.reported()
  }

  span(target: CallTarget): ReturnType<Work["span"]> {
    const { route, method } = this.#call.request
    return { name: `pass ${method} ${route.declared.id}`, options: () => operationSpan("pass", target, {}, () => ({})) }
  }

  /** It calls no model, and is not in their metrics. */
  record(): void {}

  stop(): "end" {
    return "end"
  }

  /** The texts of a reply that was read whole. */
  answered(parts: Parts): string {
    if (this.#json !== undefined) return textsOfJson(this.#json, parts).join("\n")
    return parts.has("text") ? this.#text : ""
  }

  finish(_usage: unknown, edit?: EditText): () => PassedReply {
    const { status = 200, headers = {} } = this.#head ?? {}
    const body = edit === undefined ? this.#text : editJsonTexts(this.#text, edit)
    return () => ({ status, contentType: headers["content-type"] ?? "", body })
  }

  /** Policies that only sample streams read their beginning. */
  #keepForSample(bytes: Uint8Array, form: ReplyForm): void {
    if (form === "bytes" || this.#call.caller.policies.outbound.length === 0) return
    if (this.#text.length < mostSampled) this.#text += Buffer.from(bytes).toString("utf8").slice(0, mostSampled)
  }

  #takeWhole(body: Buffer, bytes: number, form: ReplyForm): VendorFault | undefined {
    this.#replyBytes = bytes
    this.#text = body.toString("utf8")
    if (form !== "json" || bytes === 0) return undefined
    if (exceededLimit(body, loopLimits) !== undefined) return malformedReply
    try {
      this.#json = JSON.parse(this.#text)
    } catch {
      return malformedReply
    }
    this.#units.json(this.#json, this.#text)
    this.#newIds.push(...this.#ids.newIn(this.#json))
    return undefined
  }

  #count(bytes: number): VendorFault | undefined {
    const { services, request } = this.#call
    this.#replyBytes += bytes
    if (this.#replyBytes > services.config.upstreamMaxBytes) return malformedReply
    const { prices, hold } = request.route
    return prices !== undefined && costOf(prices, this.#counts()) > hold ? reachesHold : undefined
  }

  #counts() {
    const { services, request } = this.#call
    return {
      milliseconds: (this.#endedAtMs ?? services.nowMs()) - this.#startedAtMs,
      bytes: request.body.length + this.#replyBytes,
      reported: this.#units.counts,
    }
  }
}
