/** Speech: the kind `speech`. */
import { Effect, Result } from "effect"
import type { Asked, Kind, Task } from "../../calls/kind.ts"
import { modelFor, orNotConfigured, type PricedModel, targetsFor } from "../../calls/model.ts"
import type { ClientReply } from "../../calls/reply/reply.ts"
import type { Bill } from "../../calls/settle/bill.ts"
import type { BrokenReason } from "../../calls/settle/outcome.ts"
import { tokensOfBytes } from "../../calls/tokens/tokens.ts"
import { type CallFailure, operationSpan, recordOperation } from "../../calls/vendor/operation.ts"
import type { Work } from "../../calls/vendor/work.ts"
import type { CallTarget } from "../../catalogue/snapshot.ts"
import type { SpeechAsked, SpeechStream } from "../../dialects/media-dialect.ts"
import { makersName } from "../../dialects/vendor/family.ts"
import type { AnyWireRequest, EncodeRefusal } from "../../dialects/wire.ts"
import type { Amount } from "../../money/amount.ts"
import { type Charge, hasUnitPrice, maxCharge, priceUsage, unitCharge, unitDims } from "../../money/pricing.ts"
import type { WarnEvent } from "../../protocol/event.ts"
import type { SpeechRequest } from "../../protocol/kinds/speech.ts"
import type { Timeouts } from "../../protocol/timeout-tiers.ts"
import type { UpstreamHead } from "../../upstream/client.ts"
import { dailyCountsOf } from "../daily-counts.ts"
import { implausibleMedia, isByTokens, type MediaTokens, mediaBill } from "../media/media-bill.ts"
import { openingOf } from "../whole/whole-call.ts"
import { SoundReader } from "./sound-reader.ts"

/** A reply of sound is a stream always. */
export type NoBody = Record<never, never>

export const speech: Kind<SpeechRequest, NoBody> = {
  name: "speech",
  purpose: "speech",
  modelOf: ({ model }) => model,
  capability: "textToSpeech",
  dailyCounts: dailyCountsOf("tts"),
  reviewed: ({ input, instructions = "" }) => `${input}\n${instructions}`,
  plan: (asked) => {
    const { request, caller, catalogue, nowMs } = asked
    const found = modelFor(request.model, "speech", caller, catalogue, nowMs)
    return Result.map(
      orNotConfigured(found, "speech", catalogue, "tts_not_configured"),
      (model) => new SpeechTask(asked, model),
    )
  },
}

/** Tokens of sound for one character at most: slow speech in a language of few characters. */
const soundTokensPerCharacter = 16

class SpeechTask implements Task<NoBody> {
  readonly model: string
  readonly targets: ReadonlyArray<CallTarget>
  readonly currency: string
  readonly holdAmount: Amount
  readonly holdTokens: number
  readonly warnings: Array<WarnEvent> = []
  readonly estimate = Effect.void
  readonly #asked: Asked<SpeechRequest, NoBody>
  readonly #priced: PricedModel
  readonly #tokens: MediaTokens
  readonly #units: Readonly<Record<string, number>>
  #stream: SpeechStream | undefined
  #sentBytes = 0
  #isAnswered = false

  constructor(asked: Asked<SpeechRequest, NoBody>, priced: PricedModel) {
    const { request, caller } = asked
    const { price, entry } = priced
    const { input, instructions = "" } = request
    const characters = [...input].length
    const textBytes = Buffer.byteLength(input) + Buffer.byteLength(instructions)
    this.#asked = asked
    this.#priced = priced
    this.#tokens = {
      price,
      held: { inTokens: tokensOfBytes(textBytes), outTokens: characters * soundTokensPerCharacter },
      limit: { inTokens: textBytes + 1024, outTokens: 1024 + characters * soundTokensPerCharacter * 4 },
    }
    this.#units = hasUnitPrice(price, "characters") ? unitDims(price, "characters", characters) : { characters }
    const { inTokens, outTokens } = this.#tokens.held
    this.model = request.model
    this.targets = targetsFor(caller, entry.targets)
    this.currency = price.currency
    this.holdAmount = maxCharge(price, inTokens, outTokens) + unitCharge(price, this.#units)
    this.holdTokens = isByTokens(price) ? inTokens + outTokens : 0
  }

  timeoutsOf(target: CallTarget): Timeouts {
    const { services, catalogue } = this.#asked
    return services.timeoutsOf(catalogue, target, this.#priced.entry)
  }

  opening(): string {
    return openingOf(this.#asked, this.warnings)
  }

  get received(): Work["received"] {
    return { outputBytes: this.#sentBytes, isAnswered: this.#isAnswered }
  }

  encode(target: CallTarget): Result.Result<AnyWireRequest, EncodeRefusal> {
    const { speech: dialect } = target.dialect
    return dialect === undefined
      ? Result.fail({ capability: "speech", message: "this vendor has no speech" })
      : dialect.encode(this.#speechAsked(), target.model, makersName(target))
  }

  reader({ dialect: { speech: dialect } }: CallTarget, { headers }: UpstreamHead) {
    if (dialect === undefined) throw new Error("A target without speech was called")
    const stream = dialect.reader(this.#speechAsked(), headers["content-type"] ?? "")
    this.#stream = stream
    return new SoundReader(stream, {
      reply: this.#reply,
      opening: () => this.opening(),
      sent: (bytes) => {
        this.#sentBytes += bytes
      },
      whole: () => {
        this.#isAnswered = true
      },
      maxBytes: this.#asked.services.config.upstreamMaxBytes,
    })
  }

  get #reply(): ClientReply<NoBody> {
    return this.#asked.reply
  }

  #speechAsked(): SpeechAsked {
    const { input, voice, format, speed, instructions } = this.#asked.request
    return {
      input,
      voice,
      format,
      needsTokens: !hasUnitPrice(this.#priced.price, "characters"),
      ...(speed !== undefined && { speed }),
      ...(instructions !== undefined && { instructions }),
    }
  }

  span(target: CallTarget): ReturnType<Work["span"]> {
    return { name: `speech ${target.model}`, options: () => operationSpan("speech", target, {}, () => ({})) }
  }

  record(target: CallTarget, millis: number, error: CallFailure | undefined): void {
    const usage = this.#stream?.usage
    const used = usage && { inTokens: usage.inTokens ?? 0, outTokens: usage.outTokens ?? 0 }
    recordOperation(this.#asked.services.context, "speech", target, millis, used, error)
  }

  /** The vendor charges the text and not the bytes: all of it, from its first byte. */
  bill(broken: BrokenReason | undefined): Bill | undefined {
    if (this.#sentBytes === 0) return undefined
    return mediaBill(this.#tokens, [this.#stream?.usage], this.#units, broken, "audioOut")
  }

  charge({ counts }: Bill): Charge {
    return priceUsage(this.#priced.price, counts)
  }

  implausible(): Record<string, unknown> | undefined {
    return implausibleMedia(this.#tokens, [this.#stream?.usage])
  }

  stop(): "end" {
    return "end"
  }

  /** Sound is not text that policies read. */
  answered(): string {
    return ""
  }

  finish(): () => NoBody {
    return () => ({})
  }
}
