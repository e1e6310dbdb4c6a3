/**
 * A twin of a vendor's API: it refuses the requests that the vendor refuses by its documentation, with the vendor's status,
 * form and words, and answers by a script in the vendor's exact sequence of events.
 *
 * **Details**
 *
 * A request is first checked against the shape of the vendor's API, where each field is known at every depth, and then
 * against the table of rules, from the top down. The script answers accepted requests, in blocks that are the same for all
 * vendors.
 *
 * **Example**
 *
 * ```ts
 * const vendor = yield* startScriptedVendor(serveTwin(anthropicTwin, repeating))
 * ```
 */

import type { JsonObject } from "../../dialects/parse/json.ts"
import type { ChatDialectName } from "../../protocol/catalogue/vendor.ts"
import { writeJson } from "../../protocol/json/json-text.ts"
import type { VendorCall, VendorScript } from "../scripted-vendor.ts"

/** A request, as a twin sees it. */
export type TwinCall = Pick<VendorCall, "path" | "body" | "headers" | "streaming">

/** A fault of a request: the field, and what the vendor says of it. */
export interface TwinFault {
  /** The field as the vendor names it; empty if the fault is of the whole request. */
  readonly path: string
  readonly message: string
}

export interface TwinRule {
  /** The dialect's table of requirements has one of the same name. */
  readonly name: string
  /** The documentation that says so. */
  readonly source: string
  readonly check: (call: TwinCall) => TwinFault | undefined
}

/** A refusal, as it is sent. */
export interface TwinRefusal {
  /** `shape`, or the rule's name. */
  readonly rule: string
  readonly status: number
  readonly body: object
}

/** A part of a reply. */
export type TwinBlock =
  | { readonly t: "text"; readonly pieces: ReadonlyArray<string>; readonly citations?: ReadonlyArray<TwinCitation> }
  | { readonly t: "reasoning"; readonly pieces: ReadonlyArray<string> }
  /** `args` is JSON of an object; `text` is what a tool that takes a text is called with, and goes before it. */
  | { readonly t: "call"; readonly id?: string; readonly name: string; readonly args: string; readonly text?: string }
  | { readonly t: "refusal"; readonly text: string }

export interface TwinCitation {
  readonly url: string
  readonly title: string
  /** The words of the source. */
  readonly text: string
}

export type TwinStop = "end" | "max_tokens" | "stop_sequence" | "tool_call" | "refusal" | "filtered"

export interface TwinReply {
  readonly blocks: ReadonlyArray<TwinBlock>
  /** The stop that follows from the blocks if absent. */
  readonly stop?: TwinStop
  /** The twin's own counts if absent. */
  readonly usage?: TwinUsage
}

export interface TwinUsage {
  readonly inTokens: number
  readonly outTokens: number
  /** Included in `inTokens`. */
  readonly cachedTokens?: number
}

/** A tool that a request offers. */
export interface TwinTool {
  readonly name: string
  /** The schema of its arguments; empty if it takes a text. */
  readonly schema: JsonObject
  /** Whether it takes a text, in the APIs that have such tools. */
  readonly takesText?: boolean
}

/** The question of a request, in words that know no vendor. */
export interface TwinAsked {
  readonly model: string
  /** The words since the model spoke last; instructions are not part of them. */
  readonly texts: ReadonlyArray<string>
  /** Whether tools have answered since then. */
  readonly hasResults: boolean
  /** The number of calls in the thread. */
  readonly calls: number
  readonly tools: ReadonlyArray<TwinTool>
  readonly choice: "auto" | "none" | "required" | { readonly name: string }
  /** Tokens of the prompt. */
  readonly inTokens: number
}

export type TwinScript = (asked: TwinAsked) => TwinReply

/** A reply that has all its parts, as a twin writes it. */
export interface WrittenReply {
  readonly model: string
  readonly blocks: ReadonlyArray<TwinBlock>
  readonly stop: TwinStop
  readonly usage: Required<TwinUsage>
  /** Whether a stream reports its usage, if the API must be asked for that. */
  readonly tellsUsage: boolean
}

export interface Twin {
  readonly dialect: ChatDialectName
  readonly rules: ReadonlyArray<TwinRule>
  readonly refuse: (call: TwinCall) => TwinRefusal | undefined
  readonly asked: (call: TwinCall) => TwinAsked
  readonly whole: (reply: WrittenReply) => object
  readonly frames: (reply: WrittenReply) => ReadonlyArray<string | Uint8Array>
  /** The type of streams; server-sent events if absent. */
  readonly contentType?: string
  /** Whether a stream reports its usage. */
  readonly tellsUsage?: (call: TwinCall) => boolean
}

/** Answers a request that a twin does not refuse. */
export const answerAs = async (twin: Twin, call: VendorCall, reply: TwinReply, pauseMs = 0): Promise<void> => {
  const written = completed(twin.asked(call), reply, twin.tellsUsage?.(call) ?? true)
  if (!call.streaming) {
    if (pauseMs > 0) await call.wait(pauseMs)
    return sendJson(call, 200, twin.whole(written))
  }
  call.head(200, { "content-type": twin.contentType ?? "text/event-stream" })
  for (const frame of twin.frames(written)) {
    if (pauseMs > 0) await call.wait(pauseMs)
    if (!(await call.write(frame))) return
  }
  call.end()
}

/** Refuses what the vendor refuses. @returns whether it did */
export const refuseAs = (twin: Twin, call: VendorCall): boolean => {
  const refusal = twin.refuse(call)
  if (refusal !== undefined) sendJson(call, refusal.status, refusal.body)
  return refusal !== undefined
}

/** The first rule that a request breaks. */
export const brokenRule = (
  rules: ReadonlyArray<TwinRule>,
  call: TwinCall,
): (TwinFault & { readonly rule: string }) | undefined => {
  for (const { name, check } of rules) {
    const fault = check(call)
    if (fault !== undefined) return { rule: name, ...fault }
  }
  return undefined
}

/** A reply with the stop that follows from its blocks, and counts. */
export const completed = (
  { model, inTokens }: Pick<TwinAsked, "model" | "inTokens">,
  { blocks, stop, usage }: TwinReply,
  tellsUsage = true,
): WrittenReply => {
  const calls = blocks.some(({ t }) => t === "call")
  const refuses = blocks.some(({ t }) => t === "refusal")
  return {
    model,
    blocks,
    stop: stop ?? (calls ? "tool_call" : refuses ? "refusal" : "end"),
    usage: { inTokens, outTokens: blocks.reduce((sum, block) => sum + tokensOf(block), 1), cachedTokens: 0, ...usage },
    tellsUsage,
  }
}

const tokensOf = (block: TwinBlock): number => {
  switch (block.t) {
    case "text":
    case "reasoning":
      return block.pieces.length
    case "call":
      return Math.ceil((block.name.length + block.args.length) / 4)
    case "refusal":
      return Math.ceil(block.text.length / 4)
  }
}

/** The id of a call that its script did not name. */
export const idOfCall = (block: Extract<TwinBlock, { readonly t: "call" }>, at: number, prefix: string): string =>
  block.id ?? `${prefix}${block.name.replace(/[^a-zA-Z0-9]/g, "").slice(0, 12)}${at}`

/** Serves a twin's API. @param pauseMs pause before each frame */
export const serveTwin =
  (twin: Twin, script: TwinScript, pauseMs = 0): VendorScript =>
  (call) =>
    refuseAs(twin, call) ? undefined : answerAs(twin, call, script(twin.asked(call)), pauseMs)

const sendJson = (call: VendorCall, status: number, body: object): void => {
  call.head(status, { "content-type": "application/json" })
  call.end(writeJson(body))
}
