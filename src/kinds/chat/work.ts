/** The vendor's side of an exchange: its request in each target's dialect, and its reply, counted while it arrives. */
import { type Context, Effect, Result } from "effect"
import type { CarryingNotes } from "../../calls/connection.ts"
import type { CacheableReply } from "../../calls/reply/cacheable-reply.ts"
import { type CallFailure, recordOperation } from "../../calls/vendor/operation.ts"
import type { Reader, Work } from "../../calls/vendor/work.ts"
import type { CallTarget } from "../../catalogue/snapshot.ts"
import type { VendorEvent } from "../../dialects/chat-dialect.ts"
import { clientField } from "../../dialects/client/client-field.ts"
import type { EncodeRefusal, SentRequest } from "../../dialects/wire.ts"
import { inputTokens } from "../../money/pricing.ts"
import type { Vendor } from "../../protocol/catalogue/vendor.ts"
import type { WarnEvent } from "../../protocol/event.ts"
import type { ToolChoice } from "../../protocol/exchange.ts"
import { recordNewFields } from "../../telemetry/metrics.ts"
import { isEventStream, type UpstreamHead } from "../../upstream/client.ts"
import type { AddedPrompt, EncodedPrompt, Prompt, PromptParams } from "./prompt.ts"
import { type ChatClient, ChatReader, type ReaderOptions, takeEvents } from "./reader.ts"
import { lineOf, type ReplyNotes, readLine } from "./reply-lines.ts"
import { chatSpan } from "./span.ts"
import { UsageMeter } from "./usage-meter.ts"

export interface ChatWorkOptions extends ReaderOptions {
  readonly prompt: Prompt
  /** The rest of the request, without the target's own name of the model. */
  readonly vendorRequest: Omit<PromptParams, "model">
  readonly warnings: ReadonlyArray<WarnEvent>
  readonly omittingTools?: (types: ReadonlyArray<string>) => void
  /** The organisation's rule for tools that vendors run, if a target does not have them. */
  readonly lostTools?: PromptParams["lostTools"]
  /** Receives the blocks of vendors' tools that the vendor that is asked cannot read. */
  readonly omitting?: (types: ReadonlyArray<string>) => void
  /** Receives the parameters that the model that is asked takes with other values, or not at all. */
  readonly clamping?: (names: ReadonlyArray<string>) => void
  /** Takes the losses of the client's own request on its way; undefined if it is translated. */
  readonly carrying?: (notes: CarryingNotes | undefined) => void
  /** The names of the client's own users at a vendor. */
  readonly endUsersAt?: ((vendor: Pick<Vendor, "endUser">) => PromptParams["endUsers"]) | undefined
  /** Whether the reply is kept whole, also where it is a stream. */
  readonly isKept?: boolean
  /** The part of the prompt that the gateway adds; absent if there is none. */
  readonly added?: AddedPrompt | undefined
  readonly context: Context.Context<never>
}

export class ChatWork implements Work {
  /** Receives the lines of the reply as they arrive. */
  tap: CacheableReply["tap"]
  /** Counts the request that is made now. */
  meter: UsageMeter
  readonly warnings: Array<WarnEvent>
  readonly #options: ChatWorkOptions
  /** Blocks of the reply before this request's, and whether the client has its beginning. */
  #earlierBlocks = 0
  #hasBegun = false
  #added: AddedPrompt | undefined
  #toolChoice: ToolChoice | undefined
  /** Whether the target that was asked last got the client's own request. */
  #carries = false
  /** The fields of the client's own request, if that target got it. */
  #written: EncodedPrompt["written"]
  /** Functions of the target that was asked last, which replace the client's tools of texts. */
  #functionsOfTexts: ReadonlyArray<string> = []
  /** The target that gets no sealed blocks of other vendors. */
  #unsealedFor: string | undefined
  /** The values that the client got at the beginning, until a line has them. */
  #notes: ReplyNotes = {}

  constructor(options: ChatWorkOptions) {
    this.#options = options
    this.#added = options.added
    this.#toolChoice = options.vendorRequest.toolChoice
    this.meter = this.#newMeter()
    this.warnings = [...options.warnings]
  }

  #newMeter(): UsageMeter {
    const { client, isKept, added } = this.#options
    return new UsageMeter({ keepsBlocks: client === undefined || isKept === true || added !== undefined })
  }

  /** The reply begins with blocks that no request has made. */
  protected beginWith(added: AddedPrompt, blocks: number): void {
    this.#added = added
    this.#earlierBlocks = blocks
  }

  /**
   * The next request goes on from here.
   * @param blocks of the reply so far
   */
  protected goOn(added: AddedPrompt, blocks: number, toolChoice: ToolChoice | undefined): void {
    this.beginWith(added, blocks)
    this.#hasBegun = true
    this.#toolChoice = toolChoice
    this.#unsealedFor = undefined
    this.meter = this.#newMeter()
  }

  unseal(target: CallTarget): boolean {
    const { prompt } = this.#options
    if (this.#unsealedFor === target.key || !prompt.canUnseal) return false
    this.#unsealedFor = target.key
    return true
  }

  clientField(field: string | undefined, mentioned: ReadonlyArray<string>): string | undefined {
    const written = this.#written?.()
    return written && clientField(written, field, mentioned)
  }

  get received(): Work["received"] {
    return { outputBytes: this.meter.outputBytes, isAnswered: this.meter.stop !== undefined }
  }

  get prepare(): Work["prepare"] {
    const { prompt } = this.#options
    return prompt.prepare && ((target) => prompt.prepare?.(target, this.#paramsAt(target)) ?? Effect.void)
  }

  #paramsAt(target: CallTarget): PromptParams {
    const { vendorRequest, endUsersAt, lostTools } = this.#options
    const endUsers = endUsersAt?.(target.vendor)
    return {
      ...vendorRequest,
      model: target.model,
      ...(target.family !== undefined && { family: target.family }),
      ...(endUsers !== undefined && { endUsers }),
      ...(this.#unsealedFor === target.key && { isUnsealed: true }),
      ...(lostTools !== undefined && { lostTools }),
      toolChoice: this.#toolChoice,
      ...(this.#added !== undefined && { added: this.#added }),
    }
  }

  encode(target: CallTarget): Result.Result<SentRequest, EncodeRefusal> {
    const { prompt } = this.#options
    if (target.dialect.chat === undefined) return Result.fail(noChat)
    const encoded = prompt.encode(target, this.#paramsAt(target))
    const { wire, omittedTools, omitted, clamped, carried, functionsOfTexts = [] } = encoded
    this.#note({ omittedTools, omitted, clamped, carried })
    this.#functionsOfTexts = functionsOfTexts
    this.#written = encoded.written
    if (carried !== undefined) recordNewFields(this.#options.context, target.vendor.dialect, carried.newFields)
    return wire
  }

  reader({ dialect: { chat } }: CallTarget, head: UpstreamHead): Reader {
    if (chat === undefined) throw new Error("A target without chat was called")
    const { tap } = this
    const told = (events: ReadonlyArray<VendorEvent>) => {
      tap?.(lineOf({ ...this.#notes, events }))
      this.#notes = {}
    }
    // A vendor may stream although the client asked for a whole reply, or the reverse: that is translated.
    const carries = this.#carries && isEventStream(head) === (this.#options.client !== undefined)
    const functionsOfTexts = this.#functionsOfTexts
    const options = {
      ...this.#options,
      carries,
      functionsOfTexts,
      ...(tap !== undefined && { tap: told }),
      ...(this.#hasBegun && { opening: none }),
      ...(this.#earlierBlocks > 0 && { client: laterClient(this.#options.client, this.#earlierBlocks) }),
    }
    return new ChatReader(chat, isEventStream(head), this.meter, options)
  }

  /** Takes a line of another call's reply. */
  recall(text: string, isFirst: boolean): void {
    const line = readLine(text)
    if (line === undefined) return
    if (isFirst) this.#note(line)
    takeEvents(this.meter, this.#options, line.events, isFirst)
  }

  #note(notes: ReplyNotes): void {
    const { omittedTools, omitted, clamped = [], carried } = notes
    this.#notes = { omittedTools, omitted, clamped, carried }
    this.#carries = carried !== undefined
    this.#options.carrying?.(carried)
    if (omittedTools !== undefined) this.#options.omittingTools?.(omittedTools)
    if (omitted !== undefined) this.#options.omitting?.(omitted)
    this.#options.clamping?.(clamped)
  }

  span(target: CallTarget): ReturnType<Work["span"]> {
    const { vendorRequest } = this.#options
    return { name: `chat ${target.model}`, options: () => chatSpan(vendorRequest, this.meter, target) }
  }

  record(target: CallTarget, millis: number, error: CallFailure | undefined): void {
    const { usage } = this.meter
    const used = usage && { inTokens: inputTokens(usage), outTokens: usage.outTokens }
    recordOperation(this.#options.context, "chat", target, millis, used, error)
  }
}

const none = () => ""

/** The client of a later request, whose blocks have numbers of their own. */
const laterClient = (client: ChatClient | undefined, earlierBlocks: number): ChatClient | undefined =>
  client && {
    write: client.write.bind(client),
    events: {
      delta: (delta, json) => client.events.delta({ ...delta, i: delta.i + earlierBlocks }, json),
    },
  }

/** The catalogue refuses such targets. */
const noChat: EncodeRefusal = { capability: "chat", message: "this vendor has no chat" }
