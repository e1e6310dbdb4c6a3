/**
 * The prompt of an exchange: its thread and its tools. An exchange uses it through an interface, because a worker has the
 * prompt of a large request, so that no stream waits while it is read and written.
 */
import { Effect, Result } from "effect"
import type { CarryingNotes } from "../../calls/connection.ts"
import type { CallTarget } from "../../catalogue/snapshot.ts"
import type { AskedOutput, ChatDialect, VendorRequest } from "../../dialects/chat-dialect.ts"
import type { WrittenFields } from "../../dialects/client/client-field.ts"
import { leftOut } from "../../dialects/client/left-out.ts"
import { fitTo } from "../../dialects/vendor/fitted.ts"
import { omittedBlocks } from "../../dialects/vendor/vendor-blocks.ts"
import type { EncodeRefusal, WireRequest } from "../../dialects/wire.ts"
import type { Parts, TextOfParts, TextReader } from "../../policies/parts.ts"
import { textOfPrompt } from "../../policies/texts.ts"
import { textOfPromptOnce } from "../../policies/texts-once.ts"
import { type Block, everyBlock, type Message, type ReplyBlock } from "../../protocol/block.ts"
import type { Org } from "../../protocol/catalogue/tenant.ts"
import type { Vendor } from "../../protocol/catalogue/vendor.ts"
import type { ServiceError } from "../../protocol/error.ts"
import type { StructuredOutput } from "../../protocol/exchange.ts"
import type { FunctionTool, Tool } from "../../protocol/tool.ts"
import { type ExactContent, type ExactSource, exactContent } from "./exact-content.ts"
import { offerTo } from "./offer.ts"
import { hasRemoteMedia, type PromptParts, partsOfPrompt, tokensOfPrompt } from "./prompt-tokens.ts"
import { samenessOfPrompt } from "./sameness.ts"

/** A vendor's request without its prompt. */
export interface PromptParams extends Omit<VendorRequest, "thread" | "tools"> {
  /** Whether sealed blocks of other vendors are left out: the target cannot open them. */
  readonly isUnsealed?: true
  /** The organisation's rule for tools that vendors run, if the target does not have them. */
  readonly lostTools?: Org["hostedTools"]
  /** The part of the prompt that the gateway adds; absent if there is none. */
  readonly added?: AddedPrompt | undefined
}

/** Tools of servers, and the rounds of their calls, after the client's own thread and tools. */
export interface AddedPrompt {
  readonly thread: ReadonlyArray<Message>
  readonly tools: ReadonlyArray<FunctionTool>
}

/** The part of a target that a prompt needs to be written for it. */
export interface EncodingTarget extends Pick<CallTarget, "dialect"> {
  readonly vendor?: Pick<Vendor, "newFields" | "hostedTools">
}

/** A request in a vendor's format. */
export interface EncodedPrompt {
  readonly wire: Result.Result<WireRequest<string | Uint8Array>, EncodeRefusal>
  /** Whether the vendor may search the web, if the client asked for that. */
  readonly isSearching?: boolean | undefined
  /** Types of tools that vendors run, which are left out. */
  readonly omittedTools?: ReadonlyArray<string> | undefined
  /** Types of blocks of other vendors' tools, which this one cannot read, and fields that it lacks. */
  readonly omitted?: ReadonlyArray<string> | undefined
  /** Parameters that the model takes with other values, or not at all. */
  readonly clamped?: ReadonlyArray<string> | undefined
  /** Functions that replace the client's tools of texts. */
  readonly functionsOfTexts?: ReadonlyArray<string> | undefined
  /** Present if it is the client's own request: its vendor has the same API. */
  readonly carried?: CarryingNotes | undefined
  /** The fields of the client's own request, as the vendor may name them; computed when the vendor refuses. */
  readonly written?: (() => WrittenFields) | undefined
}

export interface Prompt {
  /** The kinds of its blocks; text is always among them. */
  readonly kinds: ReadonlySet<Block["t"]>
  readonly hasTools: boolean
  /** A conservative count, tools included. */
  readonly tokens: number
  /** Whether it names media whose size only the vendor learns. */
  readonly hasRemoteMedia: boolean
  /** Whether it has reasoning that vendors seal, and can be written without it. */
  readonly canUnseal: boolean
  /** The texts that policies read. */
  readonly reviewed: TextOfParts
  /** The texts that are counted if a vendor reports no usage. */
  readonly parts: Effect.Effect<PromptParts>
  /** The fields that can change the answer; undefined if the prompt names content that may change later. */
  readonly sameness: Effect.Effect<object | undefined>
  /** The same if a vendor of the client's own API may answer: its reply is stored unchanged, as a stream or whole. */
  readonly ownSameness: Effect.Effect<object | undefined>
  /** The preparation before {@link encode} at a target; absent if there is none. */
  readonly prepare?: (target: CallTarget, params: PromptParams) => Effect.Effect<void, ServiceError<"internal_error">>
  readonly encode: (target: EncodingTarget, params: PromptParams) => EncodedPrompt
}

/** The rest of the request that a prompt was read from. */
export interface PromptSource {
  /** Present if the prompt can be read once more. */
  readonly readAgain?: (() => PromptContent) | undefined
  /** Present if the body has JSON that goes on as its text. */
  readonly exact?: ExactSource | undefined
  /** The output that was asked for beside the prompt. */
  readonly output?: StructuredOutput | undefined
}

export interface PromptContent {
  readonly thread: ReadonlyArray<Message>
  readonly tools?: ReadonlyArray<Tool>
}

/**
 * A prompt in memory. A prompt that can be read again is released when it has been written for a target: it is needed again
 * only if that target fails or reports no usage, and most of a call's time and memory comes after that.
 */
export class OwnPrompt implements Prompt {
  #content: PromptContent | undefined
  readonly #source: PromptSource
  #kinds: ReadonlySet<Block["t"]> | undefined

  constructor(content: PromptContent, source: PromptSource = {}) {
    this.#content = content
    this.#source = source
  }

  protected read(): Required<PromptContent> {
    const { thread, tools = [] } = this.#content ?? this.#source.readAgain?.() ?? { thread: [] }
    return { thread, tools }
  }

  /** The same prompt with the texts that its client wrote. They are found when it is written for a vendor, and not before. */
  #exact(output?: AskedOutput): ExactContent {
    const { exact } = this.#source
    const content = this.read()
    return exact === undefined ? content : exactContent(content, output, exact)
  }

  #reading<A>(read: (content: Required<PromptContent>) => A): Effect.Effect<A> {
    return Effect.sync(() => read(this.read()))
  }

  get kinds(): ReadonlySet<Block["t"]> {
    this.#kinds ??= kindsOf(this.read().thread)
    return this.#kinds
  }

  get hasTools(): boolean {
    return this.read().tools.length > 0
  }

  get tokens(): number {
    const { thread, tools } = this.read()
    return tokensOfPrompt(thread, tools)
  }

  get hasRemoteMedia(): boolean {
    return this.kinds !== textAlone && hasRemoteMedia(this.read().thread)
  }

  get canUnseal(): boolean {
    return this.kinds.has("reasoning")
  }

  reviewed(parts: Parts, reader: TextReader = "rules"): Effect.Effect<string> {
    return Effect.sync(() => this.reviewedBy(reader, parts))
  }

  /** @param own the client's own request as JSON, for engines */
  protected reviewedBy(reader: TextReader, parts: Parts, own?: unknown): string {
    const { thread, tools } = this.#exact(this.#source.output)
    return reader === "rules" ? textOfPrompt(thread, tools, parts) : textOfPromptOnce(thread, tools, parts, own)
  }

  get parts(): Effect.Effect<PromptParts> {
    return this.#reading(({ thread, tools }) => partsOfPrompt(thread, tools))
  }

  get sameness(): Effect.Effect<object | undefined> {
    return Effect.sync(() => samenessOfPrompt(this.#exact(this.#source.output)))
  }

  get ownSameness(): Effect.Effect<object | undefined> {
    return this.sameness
  }

  encode({ dialect: { chat } }: EncodingTarget, params: PromptParams): EncodedPrompt {
    if (chat === undefined) throw new Error("A target without chat was called")
    const { added, ...asked } = params
    const content = this.#exact(params.output)
    const whole = added === undefined ? content : withAdded(content, added)
    const hasOwnBlocks = this.kinds.has("vendor") || (added !== undefined && kindsOf(added.thread).has("vendor"))
    const encoded = encodePrompt(chat, whole, asked, hasOwnBlocks)
    this.letGo()
    return encoded
  }

  /** It has been written for a target. */
  protected letGo(): void {
    if (this.#source.readAgain !== undefined) this.#content = undefined
  }
}

/** Most prompts have only text: they share this set. */
const textAlone: ReadonlySet<Block["t"]> = new Set(["text"])

export const kindsOf = (thread: ReadonlyArray<Message>): ReadonlySet<Block["t"]> => {
  let kinds = textAlone
  for (const { t } of everyBlock(thread)) if (!kinds.has(t)) kinds = new Set([...kinds, t])
  return kinds
}

const withAdded = ({ thread, tools, ...content }: ExactContent, added: AddedPrompt): ExactContent => ({
  ...content,
  thread: [...thread, ...added.thread],
  tools: [...tools, ...added.tools],
})

/** @param hasOwnBlocks whether there are blocks of vendors' tools */
export const encodePrompt = (
  chat: ChatDialect,
  { thread, tools, outputJson }: ExactContent,
  params: Omit<PromptParams, "added">,
  hasOwnBlocks: boolean,
): EncodedPrompt => {
  const { isUnsealed, lostTools: _, ...asked } = params
  const { output } = asked
  const offer = offerTo(chat, isUnsealed === true ? thread.flatMap(withoutSeals) : thread, tools)
  if (Result.isFailure(offer)) return { wire: Result.fail(offer.failure) }
  const { functionsOfTexts, ...offered } = offer.success
  const { request: searching, isSearching } = withSearches(chat, {
    ...asked,
    ...offered,
    ...(output !== undefined && outputJson !== undefined && { output: { ...output, schemaJson: outputJson } }),
  })
  const fitted = fitTo(chat, searching)
  if (Result.isFailure(fitted)) return { wire: Result.fail(fitted.failure), isSearching }
  const { request, clamped } = fitted.success
  const sealed = isUnsealed === true ? ["reasoning"] : []
  const blocks = hasOwnBlocks ? omittedBlocks(thread, chat.seals) : []
  const words = leftOut(request, chat.hasWords(request)) ?? []
  const omitted = [...sealed, ...blocks, ...words]
  return { wire: chat.encode(request), isSearching, omitted, clamped, functionsOfTexts }
}

/** Sealed reasoning becomes unsigned text, or nothing if it has no text. */
const withoutSeals = (message: Message): ReadonlyArray<Message> => {
  if (message.role !== "assistant") return [message]
  const blocks = message.blocks.flatMap((block): ReadonlyArray<ReplyBlock> => {
    if (block.t !== "reasoning") return [block]
    return block.redacted === true || block.v === "" ? [] : [{ t: "reasoning", v: block.v }]
  })
  return blocks.length === 0 ? [] : [{ ...message, blocks }]
}

/** A request without its searches, if a vendor cannot make them. */
export const withSearches = (
  chat: ChatDialect,
  request: VendorRequest,
): { readonly request: VendorRequest; readonly isSearching: boolean | undefined } => {
  if (request.searches === undefined) return { request, isSearching: undefined }
  const isSearching = chat.canSearch(request)
  return { request: isSearching ? request : { ...request, searches: undefined }, isSearching }
}
