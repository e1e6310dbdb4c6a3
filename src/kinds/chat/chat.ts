/** Exchanges with a model: the kind `chat`. */

import { Effect, Result } from "effect"
import type { Asked, Kind, Task } from "../../calls/kind.ts"
import { targetsFor } from "../../calls/model.ts"
import type { CacheableReply } from "../../calls/reply/cacheable-reply.ts"
import type { SettledUsage } from "../../calls/reply/reply-body.ts"
import type { Bill } from "../../calls/settle/bill.ts"
import type { BrokenReason } from "../../calls/settle/outcome.ts"
import { tokensOfBytes } from "../../calls/tokens/tokens.ts"
import type { CallTarget } from "../../catalogue/snapshot.ts"
import { type Charge, priceUsage, tierDimension } from "../../money/pricing.ts"
import type { Parts, TextReader } from "../../policies/parts.ts"
import { type EditText, editBlock, editJsonTexts } from "../../policies/reply/reply-blocks.ts"
import { textOfReply } from "../../policies/texts.ts"
import { textOfReplyOnce } from "../../policies/texts-once.ts"
import { protocolLabel } from "../../protocol/event.ts"
import type { Stop } from "../../protocol/exchange.ts"
import { hostedUnits } from "../../protocol/hosted-unit.ts"
import type { Timeouts } from "../../protocol/timeout-tiers.ts"
import { entryOf } from "../../protocol/values/entry.ts"
import { type Estimated, isImplausible, makeBill, needsEstimate } from "./bill.ts"
import type { ChatReply } from "./chat-reply.ts"
import { type ChatRequest, isPinned } from "./chat-request.ts"
import { countExchange } from "./count.ts"
import { endUsersOf } from "./end-users.ts"
import { makePlan, type Plan } from "./plan.ts"
import { samenessOf } from "./sameness.ts"
import { ChatWork } from "./work.ts"

type ChatAsked = Asked<ChatRequest, ChatReply>

export const chat: Kind<ChatRequest, ChatReply> = {
  name: "chat",
  purpose: "exchange",
  modelOf: ({ model }) => model,
  tokensAsked: ({ prompt, params }) => {
    const { maxTokens, n = 1 } = params ?? {}
    return { prompt: prompt.tokens, output: maxTokens === undefined ? undefined : maxTokens * n }
  },
  reviewed: ({ prompt, params, carried }) => {
    const { prediction, output } = params ?? {}
    const schema = typeof output === "object" ? JSON.stringify(output.schema) : undefined
    const more = [prediction, schema].filter((each) => each !== undefined)
    return (parts, reader) => {
      const text = prompt.reviewed(parts, reader)
      // A client's own request has them already.
      const isWhole = more.length === 0 || (reader === "engine" && carried !== undefined)
      return isWhole || !parts.has("text") ? text : Effect.map(text, (read) => [read, ...more].join("\n"))
    }
  },
  plan: (asked) => {
    const { request, caller, catalogue, nowMs } = asked
    return Result.map(makePlan(request, caller, catalogue, nowMs), (plan) => new ChatTask(asked, plan))
  },
}

class ChatTask extends ChatWork implements Task<ChatReply>, CacheableReply {
  readonly model: string
  readonly targets: ReadonlyArray<CallTarget>
  readonly currency: string
  readonly holdAmount: bigint
  readonly holdTokens: number
  readonly opening: (() => string) | undefined
  readonly #asked: ChatAsked
  readonly #plan: Plan
  /** An exact count if the vendor reported none; until there is one, an estimate by bytes. */
  #estimated: Estimated | undefined

  constructor(asked: ChatAsked, plan: Plan) {
    const { request, requestId, services, caller, reply } = asked
    const opening = () => {
      const { requestId: clientRequestId, sessionId } = request.meta ?? {}
      const open = reply.events.open({
        requestId,
        ...(clientRequestId !== undefined && { clientRequestId }),
        model: request.model,
        protocol: protocolLabel,
        ...(sessionId !== undefined && { sessionId }),
        ...(reply.cacheState !== undefined && { cache: reply.cacheState }),
      })
      return this.warnings.length === 0 ? open : open + this.warnings.map((each) => reply.events.warn(each)).join("")
    }
    const { vendorRequest } = plan
    super({
      prompt: request.prompt,
      vendorRequest,
      warnings: plan.warnings,
      client: vendorRequest.stream ? reply : undefined,
      isKept: request.isKept === true,
      opening: vendorRequest.stream ? opening : () => "",
      omittingTools: (types) => reply.omittingTools(types),
      lostTools: caller.org.hostedTools,
      omitting: (types) => reply.omitting(types),
      clamping: (names) => reply.clamping(names),
      carrying: (notes) => reply.carrying(notes),
      endUsersAt: endUsersOf(request.carried?.endUsers, caller.org.id, services.config.masterKey),
      maxReplyBytes: services.config.upstreamMaxBytes,
      maxOutputBytes: plan.usageLimits.outTokens * services.config.outputTokenBytes,
      replies: plan.n,
      context: services.context,
    })
    this.#asked = asked
    this.#plan = plan
    this.model = request.model
    const targets = targetsFor(caller, plan.entry.targets, vendorRequest.cache.key)
    this.targets = targets.filter((target) => isPinned(target, request.pinned))
    this.currency = plan.price.currency
    this.holdAmount = plan.holdAmount
    this.holdTokens = plan.promptTokens + plan.outTokens
    this.opening = vendorRequest.stream ? opening : undefined
  }

  get cacheableReply(): CacheableReply {
    return this
  }

  get share(): bigint {
    return this.#plan.price.cachedReply ?? 0n
  }

  get sameness(): Effect.Effect<object | undefined> {
    const { prompt, carried } = this.#asked.request
    const isOwn = this.targets.some(({ dialect }) => dialect.chat?.carry?.api === carried?.api)
    const sameness = carried !== undefined && isOwn ? prompt.ownSameness : prompt.sameness
    return Effect.map(sameness, (prompt) => samenessOf(this.#plan.vendorRequest, prompt))
  }

  timeoutsOf(target: CallTarget): Timeouts {
    const { services, catalogue } = this.#asked
    return services.timeoutsOf(catalogue, target, this.#plan.entry)
  }

  get estimate(): Effect.Effect<void> {
    if (!needsEstimate(this.meter, this.#plan.usageLimits)) return Effect.void
    const { services, request } = this.#asked
    return Effect.map(countExchange(services.tokenizer, request.prompt, this.meter), (estimated) => {
      this.#estimated = estimated
    })
  }

  /** Uses of tools that were not asked for are the vendor's own: Anthropic runs the code of its searches without charge. */
  #asAsked(bill: Bill | undefined): Bill | undefined {
    const asked = this.#asked.request.carried?.hosted.map(({ unit }) => unit) ?? []
    const others = hostedUnits.filter((unit) => unit !== "web_search" && !asked.includes(unit))
    if (bill === undefined || !others.some((unit) => bill.counts.dims[unit] !== undefined)) return bill
    const dims = Object.entries(bill.counts.dims).map(([name, count]) => {
      return [others.some((unit) => unit === name) ? `obs_${name}` : name, count]
    })
    return { ...bill, counts: { ...bill.counts, dims: Object.fromEntries(dims) } }
  }

  bill(broken: BrokenReason | undefined): Bill | undefined {
    const { promptTokens, usageLimits } = this.#plan
    const estimated = this.#estimated ?? { promptTokens, outTokens: tokensOfBytes(this.meter.outputBytes) }
    const made = this.#asAsked(makeBill(this.meter, broken, estimated, usageLimits))
    const { region } = this.meter
    const bill = made && region !== undefined ? { ...made, region } : made
    const tier = this.#tier()
    if (bill === undefined || tier === undefined) return bill
    const { counts } = bill
    return { ...bill, counts: { ...counts, dims: { ...counts.dims, [tierDimension(tier)]: 1 } } }
  }

  /** The tier that is billed: the one asked for, unless the vendor reports another. */
  #tier(): string | undefined {
    const { serviceTier: asked } = this.#plan.vendorRequest.extras ?? {}
    const { tier: served } = this.meter
    if (asked === undefined || served === undefined) return asked
    return entryOf(this.#plan.price.tiers ?? {}, served) === undefined ? undefined : served
  }

  charge({ counts }: Bill): Charge {
    return priceUsage(this.#plan.price, counts)
  }

  implausible(): Record<string, unknown> | undefined {
    const { usageLimits } = this.#plan
    return isImplausible(this.meter, usageLimits) ? { reported: this.meter.usage, limits: usageLimits } : undefined
  }

  stop(): Stop {
    return this.meter.stop ?? "end"
  }

  stopSequence(): string | undefined {
    return this.meter.sequenceOf(0)
  }

  stops(): ReadonlyArray<Stop> | undefined {
    if (this.#plan.n === 1) return undefined
    // A vendor may send fewer replies than it was asked for.
    return Array.from({ length: this.meter.replies }, (_, reply) => this.meter.stopOf(reply) ?? "end")
  }

  #endOf(reply: number): Pick<ChatReply, "stop" | "stopSequence"> {
    const stopSequence = this.meter.sequenceOf(reply)
    return { stop: this.meter.stopOf(reply) ?? "end", ...(stopSequence !== undefined && { stopSequence }) }
  }

  /** The kept text of a stream has all parts. */
  answered(parts: Parts, reader: TextReader = "rules"): string {
    if (this.opening !== undefined) return this.meter.keptText()
    const { replies } = this.meter
    const textOf = reader === "rules" ? textOfReply : textOfReplyOnce
    return Array.from({ length: replies }, (_, reply) => textOf(this.meter.blocks(reply), parts)).join("\n")
  }

  finish(usage: SettledUsage, edit?: EditText): (balance: string) => ChatReply {
    const { requestId, request } = this.#asked
    const clientRequestId = request.meta?.requestId
    const stops = this.stops()
    const whole = this.meter.carried
    const carried = whole === undefined || edit === undefined ? whole : editJsonTexts(whole, edit)
    const blocksOf = (reply = 0) => {
      const blocks = this.meter.blocks(reply)
      return edit === undefined ? blocks : blocks.map((block) => editBlock(block, edit))
    }
    const blocks = carried === undefined ? blocksOf() : []
    const replies =
      carried === undefined ? stops?.map((_, reply) => ({ blocks: blocksOf(reply), ...this.#endOf(reply) })) : undefined
    return (balance) => ({
      requestId,
      ...(clientRequestId !== undefined && { clientRequestId }),
      model: request.model,
      ...(carried !== undefined && { carried }),
      ...(request.keptAs !== undefined && { keptAs: request.keptAs }),
      blocks,
      ...this.#endOf(0),
      ...(replies !== undefined && { replies }),
      usage: { ...usage, balance },
    })
  }
}
