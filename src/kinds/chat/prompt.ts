/**
 * The prompt of an exchange: its thread and its tools. An exchange sees it from outside only, because that of a large request
 * is with a worker, so that no stream waits while it is read and written.
 */
import { Effect, type Result } from "effect"
import type { CallTarget } from "../../catalogue/snapshot.ts"
import type { Dialect, VendorRequest } from "../../dialects/dialect.ts"
import { omittedBlocks } from "../../dialects/vendor-blocks.ts"
import type { EncodeRefusal, WireRequest } from "../../dialects/wire.ts"
import type { Block, Message } from "../../protocol/block.ts"
import type { ServiceError } from "../../protocol/error.ts"
import type { ExchangeRequest, Tool } from "../../protocol/exchange.ts"
import { textOfPrompt } from "../../review/texts.ts"
import { type PromptParts, partsOfPrompt, tokensOfPrompt } from "./prompt-tokens.ts"
import { samenessOfPrompt } from "./sameness.ts"

/** A vendor's request without its prompt. */
export type PromptParams = Omit<VendorRequest, "thread" | "tools">

/** A request in a vendor's words. */
export interface EncodedPrompt {
  readonly wire: Result.Result<WireRequest<string | Uint8Array>, EncodeRefusal>
  /** Whether the vendor may search the web, where the client asked for that. */
  readonly isSearching?: boolean | undefined
  /** Types of blocks of other vendors' tools, which this one cannot read. */
  readonly omitted?: ReadonlyArray<string> | undefined
}

export interface Prompt {
  /** The kinds of its blocks. */
  readonly kinds: ReadonlySet<Block["t"]>
  readonly hasTools: boolean
  /** A conservative count, tools included. */
  readonly tokens: number
  /** What policies read. */
  readonly reviewed: Effect.Effect<string>
  /** What is counted where a vendor reports nothing. */
  readonly parts: Effect.Effect<PromptParts>
  /** What can change the answer; undefined if it names what may change by itself. */
  readonly sameness: Effect.Effect<object | undefined>
  /** What comes before {@link encode} at a target; absent where that is nothing. */
  readonly prepare?: (target: CallTarget, params: PromptParams) => Effect.Effect<void, ServiceError<"internal_error">>
  readonly encode: (target: Pick<CallTarget, "dialect">, params: PromptParams) => EncodedPrompt
}

/** A prompt that is here. */
export class OwnPrompt implements Prompt {
  readonly #thread: ReadonlyArray<Message>
  readonly #tools: ReadonlyArray<Tool>
  #kinds: ReadonlySet<Block["t"]> | undefined

  constructor({ thread, tools = [] }: Pick<ExchangeRequest, "thread" | "tools">) {
    this.#thread = thread
    this.#tools = tools
  }

  get kinds(): ReadonlySet<Block["t"]> {
    this.#kinds ??= kindsOf(this.#thread)
    return this.#kinds
  }

  get hasTools(): boolean {
    return this.#tools.length > 0
  }

  get tokens(): number {
    return tokensOfPrompt(this.#thread, this.#tools)
  }

  get reviewed(): Effect.Effect<string> {
    return Effect.sync(() => textOfPrompt(this.#thread, this.#tools))
  }

  get parts(): Effect.Effect<PromptParts> {
    return Effect.sync(() => partsOfPrompt(this.#thread, this.#tools))
  }

  get sameness(): Effect.Effect<object | undefined> {
    return Effect.sync(() => samenessOfPrompt(this.#thread, this.#tools))
  }

  encode({ dialect: { chat } }: Pick<CallTarget, "dialect">, params: PromptParams): EncodedPrompt {
    if (chat === undefined) throw new Error("A target without chat was called")
    return encodePrompt(chat, this.#thread, this.#tools, params, this.kinds.has("vendor"))
  }
}

export const kindsOf = (thread: ReadonlyArray<Message>): ReadonlySet<Block["t"]> => {
  const kinds = new Set<Block["t"]>()
  for (const { blocks } of thread) for (const { t } of blocks) kinds.add(t)
  return kinds
}

/** @param hasOwnBlocks whether there are blocks of vendors' tools */
export const encodePrompt = (
  chat: Dialect,
  thread: ReadonlyArray<Message>,
  tools: ReadonlyArray<Tool>,
  params: PromptParams,
  hasOwnBlocks: boolean,
): EncodedPrompt => {
  const request = { ...params, thread, tools }
  let isSearching: boolean | undefined
  if (request.searches !== undefined) {
    isSearching = chat.canSearch(request)
    if (!isSearching) request.searches = undefined
  }
  const omitted = hasOwnBlocks ? omittedBlocks(thread, chat.seals) : undefined
  return { wire: chat.encode(request), isSearching, omitted }
}
