/** The received part of a vendor's reply: blocks, usage, progress. */

import type { VendorEvent, VendorUsage } from "../../dialects/chat-dialect.ts"
import type { ReplyBlock, SealingDialect } from "../../protocol/block.ts"
import type { Citation } from "../../protocol/citation.ts"
import type { Delta } from "../../protocol/event.ts"
import type { Stop } from "../../protocol/exchange.ts"
import type { TokenLogprob } from "../../protocol/extra-params.ts"
import { calledBlock } from "./called-block.ts"

interface OpenBlock {
  readonly t: Delta["t"]
  text: string
  id: string
  name: string
  signature: string | undefined
  redacted: boolean
  /** Whether the input of a call is a text. */
  isText: boolean
  dialect: SealingDialect
  logprobs: Array<TokenLogprob> | undefined
  citations: Array<Citation> | undefined
  phase: string | undefined
}

type ReplyEnd = Extract<VendorEvent, { readonly kind: "stop" }>

/** The length of a streamed answer that is kept, to count its tokens if the vendor does not. */
const maxKeptBytes = 64 * 1024
/** A stream's text is counted and kept in parts of about this many characters: until then, each delta of it is an object. */
const pieceLength = 256

export class UsageMeter {
  /** Whether blocks are kept for a whole reply; a stream does not need them. */
  readonly #keepsBlocks: boolean
  /** The state of each reply to the prompt; most often there is one. */
  readonly #replies: Array<Array<OpenBlock>> = [[]]
  #kept = ""
  /** Text that is not counted yet. */
  #uncounted = ""
  #outputBytes = 0
  #textSeen = false
  #usage: VendorUsage | undefined
  #usageIsFinal = false
  /** The end of each reply, by its number. */
  readonly #ends: Array<ReplyEnd | undefined> = []
  #tier: string | undefined
  #region: string | undefined
  #done = false
  #carried: string | undefined

  constructor(options: { readonly keepsBlocks: boolean }) {
    this.#keepsBlocks = options.keepsBlocks
  }

  /** Whether the vendor has sent content: from then on the exchange is billed. */
  get contentSeen(): boolean {
    return this.#outputBytes > 0 || this.#uncounted !== ""
  }

  /** Whether the content includes text or reasoning; otherwise it is tool calls. */
  get textSeen(): boolean {
    return this.#textSeen
  }

  get outputBytes(): number {
    this.#count()
    return this.#outputBytes
  }

  get usage(): VendorUsage | undefined {
    return this.#usage
  }

  /** Whether the vendor's last usage report was its final one. */
  get usageIsFinal(): boolean {
    return this.#usageIsFinal
  }

  /** The reason why the reply ended, if the vendor has reported it. */
  get stop(): Stop | undefined {
    return this.stopOf(0)
  }

  /** The number of replies that have ended or begun; only a whole reply's are known before their end. */
  get replies(): number {
    return Math.max(this.#ends.length, this.#replies.length)
  }

  /** The stop reason of one of several replies. */
  stopOf(reply: number): Stop | undefined {
    return this.#ends[reply]?.stop
  }

  /** The stop sequence that ended one of several replies, if the vendor reports it. */
  sequenceOf(reply: number): string | undefined {
    return this.#ends[reply]?.sequence
  }

  /** The service tier at which the vendor answers, if it has said. */
  get tier(): string | undefined {
    return this.#tier
  }

  /** The region in which the vendor answers, if its reply has reported it. */
  get region(): string | undefined {
    return this.#region
  }

  /** The vendor's whole reply, if its client gets it unchanged. */
  get carried(): string | undefined {
    return this.#carried
  }

  /** Whether the vendor's terminal event has arrived. */
  get done(): boolean {
    return this.#done
  }

  add(event: VendorEvent): void {
    switch (event.kind) {
      case "delta":
        this.#addDelta(event.delta)
        return
      case "usage":
        this.#usage = event.usage
        this.#usageIsFinal ||= event.final
        return
      case "stop":
        this.#ends[event.reply ?? 0] = event
        return
      case "tier":
        this.#tier = event.tier
        return
      case "region":
        this.#region = event.region
        return
      case "done":
        this.#done = true
        return
      case "frame":
        if (this.#keepsBlocks) this.#carried = event.frame.json
        return
      case "fault":
        return
    }
  }

  /** The blocks of a whole reply. */
  blocks(reply = 0): ReadonlyArray<ReplyBlock> {
    return (this.#replies[reply] ?? []).map(closeBlock)
  }

  #addDelta(delta: Delta): void {
    const text = delta.t === "tool_call" ? (delta.args ?? delta.text ?? "") : delta.v
    if (delta.t === "vendor") {
      // The output of a vendor's tool is no output of the model.
      if (this.#keepsBlocks) {
        const block = this.#blockAt(delta)
        block.text = text
        block.dialect = delta.dialect
      }
      return
    }
    // A tool's name and an opaque signature count as output too: they make a reply without text a reply.
    const named = delta.t === "tool_call" ? (delta.name?.length ?? 0) : 0
    this.#outputBytes += named
    this.#uncounted += text
    this.#textSeen ||= delta.t !== "tool_call" && text !== ""
    if (this.#uncounted.length > pieceLength) this.#count()
    if (!this.#keepsBlocks) return
    const block = this.#blockAt(delta)
    block.text += text
    if (delta.t === "tool_call") {
      block.id ||= delta.id ?? ""
      block.name ||= delta.name ?? ""
      block.isText ||= delta.text !== undefined
    } else if (delta.t === "reasoning") {
      block.signature = delta.signature ?? block.signature
      block.redacted ||= delta.redacted === true
    } else {
      if (delta.logprobs !== undefined) {
        block.logprobs ??= []
        block.logprobs.push(...delta.logprobs)
      }
      block.phase ??= delta.phase
      if (delta.citations !== undefined) {
        block.citations ??= []
        block.citations.push(...delta.citations)
      }
    }
  }

  /** The kept text: all of a whole reply, the first 64 KiB of a stream. */
  keptText(): string {
    if (this.#keepsBlocks) {
      return this.#replies
        .flat()
        .map(({ t, name, text }) => (t === "vendor" ? "" : name + text))
        .join("")
    }
    this.#count()
    return this.#kept
  }

  #count(): void {
    const text = this.#uncounted
    if (text === "") return
    this.#uncounted = ""
    // V8 joins the deltas to one object when their bytes are read.
    this.#outputBytes += Buffer.byteLength(text)
    if (!this.#keepsBlocks && this.#outputBytes <= maxKeptBytes) this.#kept += text
  }

  #blockAt({ i, t, reply = 0 }: Delta): OpenBlock {
    this.#replies[reply] ??= []
    const blocks = this.#replies[reply]
    const open = blocks[i]
    if (open !== undefined) return open
    const block: OpenBlock = {
      t,
      text: "",
      id: "",
      name: "",
      signature: undefined,
      redacted: false,
      isText: false,
      dialect: "openai",
      logprobs: undefined,
      citations: undefined,
      phase: undefined,
    }
    blocks[i] = block
    return block
  }
}

function closeBlock({
  t,
  text,
  id,
  name,
  isText,
  signature,
  redacted,
  dialect,
  logprobs,
  citations,
  phase,
}: OpenBlock): ReplyBlock {
  switch (t) {
    case "text":
      return {
        t,
        v: text,
        cacheable: false,
        ...(phase !== undefined && { phase }),
        ...(citations !== undefined && { citations }),
        ...(logprobs !== undefined && { logprobs }),
      }
    case "reasoning":
      return { t, v: text, ...(signature !== undefined && { signature }), ...(redacted && { redacted }) }
    case "tool_call":
      return isText ? { t, id, name, input: {}, text } : calledBlock(id, name, text)
    case "vendor":
      return { t, dialect, v: text }
  }
}
