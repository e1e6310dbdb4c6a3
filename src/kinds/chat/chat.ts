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
import { type Charge, priceUsage, sumOfCharges, tierDimension } from "../../money/pricing.ts"
import type { Parts, TextReader } from "../../policies/parts.ts"
import { type EditText, editBlock, editJsonTexts } from "../../policies/reply/reply-blocks.ts"
import { textOfReply } from "../../policies/texts.ts"
import { textOfReplyOnce } from "../../policies/texts-once.ts"
import { type AnswerBlock, isOwnBlock, type ToolResultBlock } from "../../protocol/block.ts"
import { protocolLabel } from "../../protocol/event.ts"
import type { Stop } from "../../protocol/exchange.ts"
import { hostedUnits } from "../../protocol/hosted-unit.ts"
import type { Timeouts } from "../../protocol/timeout-tiers.ts"
import { entryOf } from "../../protocol/values/entry.ts"
import { type Estimated, isImplausible, makeBill, needsEstimate, sumOfBills } from "./bill.ts"
import type { ChatReply } from "./chat-reply.ts"
import { type ChatRequest, isPinned } from "./chat-request.ts"
import { countExchange } from "./count.ts"
import { endUsersOf } from "./end-users.ts"
import { makePlan, type Plan } from "./plan.ts"
import { tokensOfPrompt } from "./prompt-tokens.ts"
import { samenessOf } from "./sameness.ts"
import { ToolRounds, usualRounds } from "./tool-rounds.ts"
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
  completed: ({ servers, ...request }, { openTools, caller, marks }) =>
    servers &&
    Effect.map(openTools(servers.tools, caller, marks), (offered) => ({
      ...request,
      servers,
      offered,
    })),
  plan: (asked) => {
    const { request, caller, catalogue, nowMs } = asked
    return Result.map(makePlan(request, caller, catalogue, nowMs), (plan) => new ChatTask(asked, plan))
  },
}

const roundsOf = ({ servers, offered, params, meta }: ChatRequest, requestId: string): ToolRounds | undefined =>
  servers &&
  offered &&
  new ToolRounds({
    offered,
    asked: servers,
    maxRounds: params?.maxRounds ?? usualRounds,
    requestId,
    approvedId: meta?.requestId ?? requestId,
  })

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
  readonly #rounds: ToolRounds | undefined
  /** The bills of the requests before this one. */
  readonly #earlier: Array<Bill> = []
  /** Results of approved calls, which the reply begins with. */
  #first: ReadonlyArray<ToolResultBlock> = []

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
      const begun = this.#first.length === 0 ? open : open + this.#resultEvents(this.#first, 0)
      return this.warnings.length === 0 ? begun : begun + this.warnings.map((each) => reply.events.warn(each)).join("")
    }
    const rounds = roundsOf(request, requestId)
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
      added: rounds?.added,
      context: services.context,
    })
    this.#rounds = rounds
    this.#asked = asked
    this.#plan = plan
    this.model = request.model
    const targets = targetsFor(caller, plan.entry.targets, vendorRequest.cache.key)
    this.targets = targets.filter((target) => isPinned(target, request.pinned))
    this.currency = plan.price.currency
    this.holdAmount = plan.holdAmount
    this.holdTokens = plan.holdTokens
    this.opening = vendorRequest.stream ? opening : undefined
  }

  /** Calls of tools have effects: a reply with them is not kept for others. */
  get cacheableReply(): CacheableReply | undefined {
    return this.#rounds === undefined ? this : undefined
  }

  override get prepare(): ChatWork["prepare"] {
    const rounds = this.#rounds
    const prepare = super.prepare
    if (rounds === undefined) return prepare
    const prepared = (target: CallTarget) => prepare?.(target) ?? Effect.void
    return (target) =>
      Effect.flatMap(rounds.approved, (results) => {
        if (results.length > 0) {
          this.#first = results
          this.beginWith(rounds.added, results.length)
        }
        return prepared(target)
      })
  }

  /** While calls are made, no reply waits for its usage. */
  override get received(): ChatWork["received"] {
    const { outputBytes, isAnswered } = super.received
    return { outputBytes, isAnswered: isAnswered && this.#rounds?.isCalling !== true }
  }

  get goesOn(): Task<ChatReply>["goesOn"] {
    const rounds = this.#rounds
    return rounds && (() => this.#nextRound(rounds))
  }

  /** Makes the model's calls, and gives their results to the client and to the next request. */
  #nextRound(rounds: ToolRounds): Effect.Effect<boolean> {
    const blocks = this.meter.blocks()
    const from = rounds.blocks.length + blocks.length
    return Effect.flatMap(rounds.make(blocks), (made) => {
      if (made === undefined) return Effect.succeed(false)
      const { reply } = this.#asked
      if (this.opening !== undefined) reply.write(this.#resultEvents(made.results, from))
      if (!made.goesOn) return Effect.succeed(false)
      return Effect.map(this.estimate, () => {
        const bill = this.#ownBill(undefined)
        if (bill !== undefined) this.#earlier.push(bill)
        this.#estimated = undefined
        this.goOn(rounds.added, rounds.blocks.length, rounds.toolChoice)
        return true
      })
    })
  }

  /** @param from the number of the first one's block */
  #resultEvents(results: ReadonlyArray<ToolResultBlock>, from: number): string {
    const { events } = this.#asked.reply
    return results
      .map(({ cacheable: _, ...result }, at) => events.toolResult?.({ i: from + at, ...result }) ?? "")
      .join("")
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
    const { added } = this.#rounds ?? {}
    return Effect.map(countExchange(services.tokenizer, request.prompt, this.meter, added), (estimated) => {
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
    const bill = this.#ownBill(broken)
    return this.#earlier.length === 0 ? bill : sumOfBills(bill === undefined ? this.#earlier : [...this.#earlier, bill])
  }

  /** The bill of the present request. */
  #ownBill(broken: BrokenReason | undefined): Bill | undefined {
    const { promptTokens, usageLimits } = this.#plan
    const estimated = this.#estimated ?? {
      promptTokens: promptTokens + tokensOfPrompt(this.#rounds?.added.thread ?? [], []),
      outTokens: tokensOfBytes(this.meter.outputBytes),
    }
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

  charge({ counts, requests }: Bill): Charge {
    const { price } = this.#plan
    return requests === undefined
      ? priceUsage(price, counts)
      : sumOfCharges(requests.map((each) => priceUsage(price, each)))
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
    const textOf = reader === "rules" ? textOfReply : textOfReplyOnce
    const earlier = (this.#rounds?.blocks ?? []).filter(isOwnBlock)
    const before = earlier.length === 0 ? [] : [textOf(earlier, parts)]
    if (this.opening !== undefined) return [...before, this.meter.keptText()].join("\n")
    const { replies } = this.meter
    if (replies === 1 && before.length === 0) return textOf(this.meter.blocks(0), parts)
    const texts = Array.from({ length: replies }, (_, reply) => textOf(this.meter.blocks(reply), parts))
    return [...before, ...texts].join("\n")
  }

  finish(usage: SettledUsage, edit?: EditText): (balance: string) => ChatReply {
    const { requestId, request } = this.#asked
    const clientRequestId = request.meta?.requestId
    const stops = this.stops()
    const whole = this.meter.carried
    const carried = whole === undefined || edit === undefined ? whole : editJsonTexts(whole, edit)
    const { blocks: earlier = [], trailing = [] } = this.#rounds ?? {}
    const edited = (block: AnswerBlock): AnswerBlock =>
      edit === undefined || block.t === "tool_result" ? block : editBlock(block, edit)
    const blocksOf = (reply = 0) => [...earlier, ...this.meter.blocks(reply), ...trailing].map(edited)
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
