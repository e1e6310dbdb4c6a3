/** What has been seen of a vendor's reply so far: its blocks, its usage, how far it got. */

import type { VendorEvent, VendorUsage } from "../dialects/dialect.ts"
import type { ReplyBlock } from "../protocol/block.ts"
import { isDeeperThan } from "../protocol/depth.ts"
import type { Delta } from "../protocol/event.ts"
import type { Stop } from "../protocol/exchange.ts"

interface OpenBlock {
  readonly t: Delta["t"]
  text: string
  id: string
  name: string
  signature: string | undefined
  redacted: boolean
}

/** What is kept of a streamed answer, so that it can be counted should the vendor not say. */
const maxKeptBytes = 64 * 1024
const firstKeptBytes = 1024
/** A stream's text is counted and kept a piece of about this many characters at a time. */
const pieceLength = 1024

export class Tally {
  /** Whether blocks are kept, to be given whole at the end; a stream does not need them. */
  readonly #keepsBlocks: boolean
  readonly #blocks: Array<OpenBlock> = []
  #kept: Buffer | undefined
  #keptBytes = 0
  /** Text that is not counted yet. */
  #uncounted = ""
  #outputBytes = 0
  #usage: VendorUsage | undefined
  #usageIsFinal = false
  #stop: Stop | undefined
  #done = false

  constructor(options: { readonly keepsBlocks: boolean }) {
    this.#keepsBlocks = options.keepsBlocks
  }

  /** Whether the vendor has sent content: from here on the exchange is billed. */
  get contentSeen(): boolean {
    return this.#outputBytes > 0 || this.#uncounted !== ""
  }

  get outputBytes(): number {
    this.#count()
    return this.#outputBytes
  }

  get usage(): VendorUsage | undefined {
    return this.#usage
  }

  /** Whether the vendor's last usage report was its closing one. */
  get usageIsFinal(): boolean {
    return this.#usageIsFinal
  }

  /** Why the reply ended, once the vendor has said so. */
  get stop(): Stop | undefined {
    return this.#stop
  }

  /** Whether the vendor's terminal event has come. */
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
        this.#stop = event.stop
        return
      case "done":
        this.#done = true
        return
      case "fault":
        return
    }
  }

  /** The blocks of the whole reply. */
  blocks(): ReadonlyArray<ReplyBlock> {
    return this.#blocks.map(closeBlock)
  }

  #addDelta(delta: Delta): void {
    const text = delta.t === "tool_call" ? (delta.args ?? "") : delta.v
    // A tool's name and an opaque signature are output too; they make an answer without text an answer.
    const named = delta.t === "tool_call" ? (delta.name?.length ?? 0) : 0
    this.#outputBytes += named
    this.#uncounted += text
    if (this.#uncounted.length > pieceLength) this.#count()
    if (!this.#keepsBlocks) return
    const block = this.#blockAt(delta)
    block.text += text
    if (delta.t === "tool_call") {
      block.id ||= delta.id ?? ""
      block.name ||= delta.name ?? ""
    } else if (delta.t === "reasoning") {
      block.signature = delta.signature ?? block.signature
      block.redacted ||= delta.redacted === true
    }
  }

  /** The text of the answer as far as it is kept: all of a whole reply, the first 64 KiB of a stream. */
  keptText(): string {
    if (this.#keepsBlocks) return this.#blocks.map(({ name, text }) => name + text).join("")
    this.#count()
    return this.#kept?.toString("utf8", 0, this.#keptBytes) ?? ""
  }

  #count(): void {
    const text = this.#uncounted
    if (text === "") return
    this.#uncounted = ""
    const bytes = Buffer.byteLength(text)
    this.#outputBytes += bytes
    if (!this.#keepsBlocks) this.#keep(text, bytes)
  }

  #keep(text: string, bytes: number): void {
    const end = this.#keptBytes + bytes
    if (end > maxKeptBytes) return
    if (this.#kept === undefined || end > this.#kept.length) {
      const larger = Buffer.allocUnsafeSlow(Math.max(firstKeptBytes, 2 ** Math.ceil(Math.log2(end))))
      this.#kept?.copy(larger, 0, 0, this.#keptBytes)
      this.#kept = larger
    }
    this.#keptBytes += this.#kept.write(text, this.#keptBytes)
  }

  #blockAt({ i, t }: Delta): OpenBlock {
    const open = this.#blocks[i]
    if (open !== undefined) return open
    const block: OpenBlock = { t, text: "", id: "", name: "", signature: undefined, redacted: false }
    this.#blocks[i] = block
    return block
  }
}

function closeBlock({ t, text, id, name, signature, redacted }: OpenBlock): ReplyBlock {
  switch (t) {
    case "text":
      return { t, v: text, cacheable: false }
    case "reasoning":
      return { t, v: text, ...(signature !== undefined && { signature }), ...(redacted && { redacted }) }
    case "tool_call":
      return { t, id, name, input: parseInput(text) }
  }
}

/** As deep as a request may be, so that an answer can be given back. */
const maxInputDepth = 48

/** Arguments that are no JSON object are kept as they came, so that nothing is lost. */
const parseInput = (args: string) => {
  if (args.trim() === "") return {}
  try {
    const input: unknown = JSON.parse(args)
    if (isJsonObject(input) && !isDeeperThan(input, maxInputDepth)) return input
  } catch {
    // fall through: the model wrote something else
  }
  return { $raw: args }
}

type Input = Extract<ReplyBlock, { readonly t: "tool_call" }>["input"]

/** What came out of `JSON.parse` is JSON; only its outermost shape is open. */
const isJsonObject = (value: unknown): value is Input =>
  typeof value === "object" && value !== null && !Array.isArray(value)
