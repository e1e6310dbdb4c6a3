/**
 * The money of a realtime session: a hold is made before a response begins, and each response is settled once, with a usage
 * record of its own. One hold is ready at any time, because a vendor may begin a response without a request.
 */
import { Effect } from "effect"
import { callerView, targetView } from "../../calls/call-view.ts"
import { newRequestId } from "../../calls/calls.ts"
import type { CallServices, RunningCall } from "../../calls/services.ts"
import { summed } from "../../calls/settle/amount-due.ts"
import { free, settleCharge, settlementOf } from "../../calls/settle/charge.ts"
import { type Reserved, reserve } from "../../calls/settle/reserve.ts"
import type { CallTarget } from "../../catalogue/snapshot.ts"
import type { Member } from "../../collections.ts"
import type { ResponseUsage } from "../../dialects/realtime-dialect.ts"
import type { Hold, HoldError } from "../../money/ledger.ts"
import { type Counts, noTokens, priceUsage } from "../../money/pricing.ts"
import type { Settlement } from "../../money/settlement.ts"
import type { PolicyHit } from "../../protocol/control/usage-record.ts"
import type { Stop } from "../../protocol/exchange.ts"
import type { EstimatedReason } from "../../protocol/usage.ts"
import { dayOf } from "../../protocol/values/utc8.ts"
import {
  recordOutcome,
  recordPolicyHits,
  recordRealtimeResponse,
  recordUsageEstimate,
} from "../../telemetry/metrics.ts"
import { type Output, SessionMeter } from "./meter.ts"
import { isPlausible, mostTranscripts, type Need, needOf, withinPlan, withTranscripts } from "./plan.ts"
import { countResponse } from "./session-limits.ts"
import type { SessionFacts } from "./session-options.ts"

/** A response that the vendor has begun. */
interface Running extends Partial<Reserved> {
  readonly output: Output
  readonly startedAtMs: number
  leased?: Member<RunningCall>
}

/** The end of a response, as the vendor reports it. */
export interface Done {
  readonly usage: ResponseUsage | undefined
  readonly stop: Stop
  readonly hasFailed: boolean
}

export class SessionMoney {
  readonly #services: CallServices
  readonly #facts: SessionFacts
  /** Matches of policies since the last response was charged, whose record gets them. */
  readonly found: Array<PolicyHit> = []
  readonly meter: SessionMeter
  /** Holds for responses that have not begun. */
  #ready: ReadonlyArray<Reserved> = []
  readonly #running = new Map<string, Running>()
  /** Responses that the client asked for and the vendor has not begun. */
  promised = 0
  /** Responses that have ended. */
  ended = 0
  /** The most tokens of a response, as the session sets them. */
  maxOutTokens: number
  /** The target that is billed; set when it is reached. */
  target: CallTarget | undefined

  constructor(services: CallServices, facts: SessionFacts) {
    this.#services = services
    this.#facts = facts
    this.meter = new SessionMeter(facts.plan.rates)
    this.maxOutTokens = facts.plan.maxOutTokens
  }

  get isIdle(): boolean {
    return this.#running.size === 0 && this.promised === 0
  }

  /** Whether a hold is ready for one more response. */
  get isCovered(): boolean {
    return this.#ready.length > this.promised
  }

  /** Ensures that one more response is covered, and those that have begun without a hold. */
  cover(maxOutTokens: number = this.maxOutTokens): Effect.Effect<void, HoldError> {
    return Effect.gen({ self: this }, function* () {
      const { plan } = this.#facts
      const most = Math.min(maxOutTokens, plan.maxOutTokens)
      const need = needOf(plan, this.meter.conversationTokens, most, this.meter.unbilledSeconds)
      const nowMs = this.#services.nowMs()
      const today = dayOf(nowMs)
      const isEnough = ({ hold }: Reserved) => hold.amount >= need.amount && hold.day === today
      const outgrown = this.#ready.filter((each) => !isEnough(each))
      this.#ready = this.#ready.filter(isEnough)
      for (const { hold } of outgrown) yield* this.#services.settler.release(hold)
      for (const [id, running] of this.#running) {
        if (running.hold === undefined) this.#give(id, running, yield* this.#hold(need, nowMs))
      }
      while (!this.isCovered) this.#ready = [...this.#ready, yield* this.#hold(need, nowMs)]
    })
  }

  #hold({ amount, tokens }: Need, nowMs: number): Effect.Effect<Reserved, HoldError> {
    const { caller, plan } = this.#facts
    const { currency } = plan.price
    return reserve(this.#services, { ref: newRequestId(), caller, currency, amount, tokens, nowMs })
  }

  #give(id: string, running: Running, ready: Reserved): void {
    const leased = this.#services.leased.add({
      orgId: this.#facts.caller.org.id,
      registration: undefined,
      checkpoint: () => ({
        hold: ready.hold,
        settlement: this.#settlementNow(ready, running, "gateway_lost", "interrupted"),
      }),
      view: () => this.#view(ready, running),
    })
    this.#running.set(id, { ...running, ...ready, leased })
  }

  /** The vendor has begun a response. @returns whether a hold was ready for it */
  begin(id: string): boolean {
    if (this.#running.has(id)) return true
    this.promised = Math.max(0, this.promised - 1)
    const running: Running = { output: { audioBytes: 0, textBytes: 0 }, startedAtMs: this.#services.nowMs() }
    const [ready, ...others] = this.#ready
    this.#running.set(id, running)
    if (ready === undefined) return false
    this.#ready = others
    this.#give(id, running, ready)
    return true
  }

  output(id: string, audioBytes: number, textBytes: number): void {
    const running = this.#running.get(id)
    if (running !== undefined) this.meter.output(running.output, audioBytes, textBytes)
  }

  /** Settles a response with the vendor's report of it, or with the gateway's own counts. */
  settle(id: string, { usage, stop, hasFailed }: Done): Effect.Effect<void> {
    const running = this.#take(id)
    if (running === undefined) return Effect.void
    this.ended++
    const { plan } = this.#facts
    const { output } = running
    const isSilent = output.audioBytes + output.textBytes === 0
    if (usage === undefined && isSilent && (hasFailed || stop === "interrupted")) return this.#release(running)
    const isBelieved = usage !== undefined && isPlausible(plan, usage.counts)
    const reason = isBelieved
      ? undefined
      : usage === undefined
        ? "upstream_usage_missing"
        : "upstream_usage_implausible"
    const counted = isBelieved ? usage.counts : withinPlan(plan, this.meter.estimate(output))
    const most = mostTranscripts(this.meter.unbilledSeconds).seconds
    const transcripts = this.meter.takeTranscripts()
    // A vendor's report is billed up to the sound that was heard, which is held.
    const seconds = Math.min(transcripts.seconds + (usage?.billedSeconds ?? 0), Math.max(most, transcripts.seconds))
    this.meter.ended(counted)
    return Effect.andThen(
      countResponse(this.#services, this.#facts.caller, plan, counted),
      this.#charge(running, withTranscripts(plan.price, counted, { ...transcripts, seconds }), reason, stop),
    )
  }

  /** Whether transcripts of more than a turn wait for a response that does not come. */
  get owesTranscripts(): boolean {
    return this.isIdle && this.meter.hasTranscripts(mostTranscripts(0))
  }

  /** Settles transcripts that no response was billed with, by a hold that is ready. */
  settleTranscripts(): Effect.Effect<void> {
    return Effect.suspend(() => {
      const [ready, ...others] = this.#ready
      if (ready === undefined || !this.meter.hasTranscripts()) return Effect.void
      const { price } = this.#facts.plan
      const counts = withTranscripts(price, { ...noTokens, dims: {} }, this.meter.takeTranscripts())
      // Without a price they are not billed, and the hold stays for a response.
      if (Object.keys(counts.dims).length === 0) return Effect.void
      this.#ready = others
      const running = { ...ready, output: { audioBytes: 0, textBytes: 0 }, startedAtMs: this.#services.nowMs() }
      return this.#charge(running, counts, undefined, "end")
    })
  }

  /** Settles running responses with the gateway's own counts, and releases unused holds. */
  end(reason: EstimatedReason): Effect.Effect<void> {
    return Effect.gen({ self: this }, function* () {
      const { plan } = this.#facts
      for (const id of [...this.#running.keys()]) {
        const running = this.#take(id)
        if (running === undefined) continue
        const { output } = running
        if (output.audioBytes + output.textBytes === 0) yield* this.#release(running)
        else {
          const counts = withTranscripts(plan.price, this.meter.estimate(output), this.meter.takeTranscripts())
          yield* this.#charge(running, counts, reason, "interrupted")
        }
      }
      yield* this.settleTranscripts()
      const unused = this.#ready
      this.#ready = []
      for (const { hold } of unused) yield* this.#services.settler.release(hold)
    })
  }

  #take(id: string): Running | undefined {
    const running = this.#running.get(id)
    this.#running.delete(id)
    if (running?.leased !== undefined) this.#services.leased.remove(running.leased)
    return running
  }

  #release({ hold }: Running): Effect.Effect<void> {
    recordRealtimeResponse(this.#services.context, "not_billed")
    return hold === undefined ? Effect.void : this.#services.settler.release(hold)
  }

  #charge(
    { hold, covering = [], startedAtMs }: Running,
    counts: Counts,
    reason: EstimatedReason | undefined,
    stop: Stop,
  ): Effect.Effect<void> {
    if (hold === undefined) return Effect.void
    const { context } = this.#services
    const { caller, plan } = this.#facts
    recordRealtimeResponse(context, stop)
    recordOutcome(context, stop, plan.handle)
    if (reason !== undefined) {
      recordUsageEstimate(context, reason, this.target?.vendor.id ?? "", this.target?.model ?? "")
    }
    const settlement = this.#settlement(hold, counts, reason, stop, startedAtMs)
    recordPolicyHits(context, settlement.record.policies ?? [])
    this.found.length = 0
    return Effect.asVoid(settleCharge(this.#services, caller, covering, settlement))
  }

  #settlementNow({ hold }: Reserved, { output, startedAtMs }: Running, reason: EstimatedReason, stop: Stop) {
    return output.audioBytes + output.textBytes === 0
      ? undefined
      : this.#settlement(hold, this.meter.estimate(output), reason, stop, startedAtMs)
  }

  #settlement(
    hold: Hold,
    counts: Counts,
    estimatedReason: EstimatedReason | undefined,
    stop: Stop,
    startedAtMs: number,
  ): Settlement {
    const { caller, plan, sessionId, purpose } = this.#facts
    const { target } = this
    const atMs = this.#services.nowMs()
    return settlementOf({
      hold,
      caller,
      sessionId,
      purpose,
      model: plan.handle,
      target,
      counts,
      estimatedReason,
      stop,
      took: { total: atMs - startedAtMs },
      charge: target?.isOwn === true ? free : priceUsage(plan.price, counts),
      atMs,
      hits: summed([...this.found]),
    })
  }

  #view({ hold }: Reserved, { output, startedAtMs }: Running): ReturnType<RunningCall["view"]> {
    const { caller, plan } = this.#facts
    return {
      id: hold.ref,
      kind: "realtime",
      ...callerView(caller),
      model: plan.handle,
      ...(this.target !== undefined && { target: targetView(this.target) }),
      startedAt: new Date(startedAtMs).toISOString(),
      bytes: output.audioBytes + output.textBytes,
      state: "streaming",
      failedCalls: 0,
    }
  }
}
