/** Gemini's generateContent as clients read it, streamed and whole. Source: https://ai.google.dev/api/generate-content */
import type { VendorBlock } from "../../protocol/block.ts"
import { type ErrorBody, errorStatus } from "../../protocol/error.ts"
import type { CloseEvent, Delta } from "../../protocol/event.ts"
import type { ExchangeResponse, Reply, Stop } from "../../protocol/exchange.ts"
import type { TokenLogprob } from "../../protocol/extra-params.ts"
import { editJsonText, set } from "../../protocol/json/json-edit.ts"
import { JsonText, writeJson } from "../../protocol/json/json-text.ts"
import type { Usage } from "../../protocol/usage.ts"
import {
  ClientEvents,
  chargeOf,
  type EventEncoder,
  notesOf,
  omittedOf,
  type ReplyContext,
  replyId,
  toldIn,
} from "../client/client-api.ts"
import { inputText, objectOfArguments } from "../parse/exact-json.ts"
import { JoinedText, type PlacedCitation } from "../parse/joined-text.ts"
import { parseObject } from "../parse/json.ts"
import { dataOf } from "../parse/sse-frames.ts"
import { pictureIn } from "../vendor/reply-pictures.ts"
import { signatureToGemini } from "../vendor/signature.ts"
import { typeOfBlock } from "../vendor/vendor-blocks.ts"
import { groundingOf } from "./citations.ts"

const finishReasons: Readonly<Record<Stop, string>> = {
  end: "STOP",
  stop_sequence: "STOP",
  tool_call: "STOP",
  interrupted: "STOP",
  max_tokens: "MAX_TOKENS",
  filtered: "SAFETY",
  refusal: "SAFETY",
  pause: "OTHER",
  malformed_call: "MALFORMED_FUNCTION_CALL",
}

const usageOf = ({ inTokens, outTokens, cacheReadTokens, cacheWriteTokens, dims = {} }: Usage) => {
  const prompt = inTokens + cacheReadTokens + cacheWriteTokens
  const thoughts = Math.min(dims["reasoning"] ?? 0, outTokens)
  return {
    promptTokenCount: prompt,
    candidatesTokenCount: outTokens - thoughts,
    totalTokenCount: prompt + outTokens,
    ...(cacheReadTokens > 0 && { cachedContentTokenCount: cacheReadTokens }),
    ...(thoughts > 0 && { thoughtsTokenCount: thoughts }),
  }
}

const replyOf = (context: ReplyContext, candidates: ReadonlyArray<object>, more: object) => ({
  candidates,
  ...more,
  modelVersion: context.model,
  responseId: replyId(context),
})

const candidateOf = (index: number, parts: ReadonlyArray<object>, more: object = {}) => ({
  content: { role: "model", parts },
  index,
  ...more,
})

export const wholeContent = (context: ReplyContext, response: ExchangeResponse) =>
  replyOf(context, (response.replies ?? [response]).map(wholeCandidate), {
    usageMetadata: usageOf(response.usage),
    ...toldIn(
      notesOf(
        undefined,
        omittedOf(response, (block) => partOf(block) !== undefined),
      ),
    ),
  })

const wholeCandidate = ({ blocks, stop }: Reply, index: number) => {
  const parts = new PartWriter()
  for (const [i, block] of blocks.entries()) {
    if (block.t === "tool_call")
      parts.add({ i, t: "tool_call", id: block.id, name: block.name, args: inputText(block) })
    else if (block.t !== "tool_result") parts.add({ i, ...block })
  }
  return candidateOf(index, parts.finish(), {
    finishReason: finishReasons[stop],
    ...parts.grounding(),
    ...geminiLogprobs(parts.takeLogprobs()),
  })
}

/** https://ai.google.dev/api/generate-content#LogprobsResult */
const geminiLogprobs = (tokens: ReadonlyArray<TokenLogprob>): object => {
  if (tokens.length === 0) return {}
  const total = tokens.reduce((sum, { logprob }) => sum + logprob, 0)
  const of = ({ token, logprob }: Omit<TokenLogprob, "top">) => ({ token, logProbability: logprob })
  return {
    avgLogprobs: total / tokens.length,
    logprobsResult: {
      chosenCandidates: tokens.map(of),
      topCandidates: tokens.map(({ top }) => ({ candidates: top.map(of) })),
    },
  }
}

/** A part of Gemini's own tools, or a picture; blocks of other vendors' tools have no form here. */
const partOf = (block: Pick<VendorBlock, "dialect" | "v">): object | undefined => {
  if (block.dialect === "gemini") return parseObject(block.v) === undefined ? undefined : new JsonText(block.v)
  const picture = pictureIn(block)
  return picture && { inlineData: { mimeType: picture.mime, data: picture.data } }
}

interface OpenCall {
  readonly id: string
  readonly name: string
  /** The signature of the thoughts before it. */
  readonly signature: string | undefined
  args: string
}

const signed = (part: object, signature: string | undefined): object => {
  if (signature === undefined) return part
  const thoughtSignature = signatureToGemini(signature)
  return part instanceof JsonText
    ? new JsonText(editJsonText(part.text, [set(thoughtSignature, "thoughtSignature")]))
    : { ...part, thoughtSignature }
}

/**
 * Parts in order. Calls are written when they are complete: before the next block of another kind, or at the end. A
 * signature goes with the part after its thoughts; at the end with an empty text.
 */
class PartWriter {
  #done: Array<object> = []
  /** The open calls by their block's number in twp/1. */
  readonly #calls = new Map<number, OpenCall>()
  #signature: string | undefined
  #logprobs: Array<TokenLogprob> = []
  /** The text of the whole reply, and its citations. */
  #text = ""
  readonly #joined = new JoinedText()
  readonly #citations: Array<PlacedCitation> = []

  add(delta: Delta): void {
    // A vendor that returns to an earlier block has not ended its calls.
    if (delta.t !== "tool_call" && ![...this.#calls.keys()].some((i) => i > delta.i)) this.#endCalls()
    switch (delta.t) {
      case "text":
        if (delta.logprobs !== undefined) this.#logprobs.push(...delta.logprobs)
        this.#text += delta.v
        if (delta.v !== "") this.#citations.push(...this.#joined.add(delta.i, delta.v))
        if (delta.citations !== undefined) this.#citations.push(...this.#joined.cite(delta.i, delta.citations))
        if (delta.v !== "" || delta.citations === undefined) this.#part({ text: delta.v })
        return
      case "reasoning":
        if (delta.v !== "" && delta.redacted !== true) this.#done.push({ text: delta.v, thought: true })
        if (delta.signature !== undefined) this.#sign(delta.signature)
        return
      case "tool_call": {
        const call = this.#calls.get(delta.i) ?? this.#begin(delta)
        call.args += delta.args ?? ""
        return
      }
      case "vendor": {
        const part = partOf(delta)
        if (part !== undefined) this.#part(part)
      }
    }
  }

  /** The parts that are complete. */
  take(): ReadonlyArray<object> {
    const parts = this.#done
    this.#done = []
    return parts
  }

  /** The probabilities of tokens in the parts that are complete. */
  takeLogprobs(): ReadonlyArray<TokenLogprob> {
    const tokens = this.#logprobs
    this.#logprobs = []
    return tokens
  }

  /** The sources of the reply, once it has ended. */
  grounding(): object {
    return groundingOf([...this.#citations, ...this.#joined.end()], this.#text)
  }

  finish(): ReadonlyArray<object> {
    this.#endCalls()
    if (this.#signature !== undefined) this.#part({ text: "" })
    return this.take()
  }

  #sign(signature: string): void {
    if (this.#signature !== undefined) this.#part({ text: "" })
    this.#signature = signature
  }

  #begin({ i, id = "", name = "" }: Extract<Delta, { t: "tool_call" }>): OpenCall {
    const call = { id, name, args: "", signature: this.#signature }
    this.#signature = undefined
    this.#calls.set(i, call)
    return call
  }

  #endCalls(): void {
    for (const { id, name, args, signature } of this.#calls.values()) {
      this.#done.push(signed({ functionCall: { id, name, args: objectOfArguments(args) } }, signature))
    }
    this.#calls.clear()
  }

  #part(part: object): void {
    this.#done.push(signed(part, this.#signature))
    this.#signature = undefined
  }
}

/** Writes the events as server-sent events, or as an array of JSON. */
export class ContentEvents extends ClientEvents implements EventEncoder {
  readonly contentType: string
  override readonly heartbeat: string
  readonly #context: ReplyContext
  /** The parts of each candidate. */
  readonly #parts: Array<PartWriter> = []
  readonly #isArray: boolean
  readonly #omitted = new Set<string>()
  #written = 0

  constructor(context: ReplyContext) {
    super()
    this.#context = context
    this.#isArray = context.isArray === true
    this.contentType = this.#isArray ? "application/json" : "text/event-stream"
    this.heartbeat = this.#isArray ? "\n" : ": hb\n\n"
  }

  open(): string {
    return ""
  }

  delta(delta: Delta): string {
    const { reply = 0 } = delta
    const writer = this.#partsOf(reply)
    if (delta.t === "vendor" && partOf(delta) === undefined) this.#omitted.add(typeOfBlock(delta))
    writer.add(delta)
    const parts = writer.take()
    if (parts.length === 0) return ""
    const candidate = candidateOf(reply, parts, geminiLogprobs(writer.takeLogprobs()))
    return this.#reply(replyOf(this.#context, [candidate], {}))
  }

  close({ stop, stops = [stop], usage }: typeof CloseEvent.Type): string {
    const more = { usageMetadata: usageOf(usage), x_svc: chargeOf(usage, notesOf(undefined, this.#omitted)) }
    const candidates = stops.map((each, reply) =>
      candidateOf(reply, this.#partsOf(reply).finish(), {
        finishReason: finishReasons[each],
        ...this.#partsOf(reply).grounding(),
      }),
    )
    return this.#reply(replyOf(this.#context, candidates, more)) + (this.#isArray ? "]" : "")
  }

  #partsOf(reply: number): PartWriter {
    this.#parts[reply] ??= new PartWriter()
    return this.#parts[reply]
  }

  /** Google's own streams end with the bare error, which its SDK looks for. */
  error(error: ErrorBody): string {
    // A refusal has the status that it has before a stream; the others end it as an error of the server.
    const body = generateError(error, error.code === "content_blocked" ? errorStatus[error.code] : 500)
    return this.#isArray ? `${this.#reply(body)}]` : JSON.stringify(body)
  }

  #reply(body: object): string {
    return writeReply(writeJson(body), this.#isArray, this.#written++ === 0)
  }
}

/** A part of a stream. @param isFirst of it */
export const writeReply = (json: string, isArray: boolean, isFirst: boolean): string => {
  if (!isArray) return `data: ${dataOf(json)}\r\n\r\n`
  return `${isFirst ? "[" : ",\r\n"}${json}`
}

const statuses: Readonly<Record<number, string>> = {
  400: "INVALID_ARGUMENT",
  401: "UNAUTHENTICATED",
  402: "PERMISSION_DENIED",
  403: "PERMISSION_DENIED",
  404: "NOT_FOUND",
  409: "ABORTED",
  429: "RESOURCE_EXHAUSTED",
  500: "INTERNAL",
  504: "DEADLINE_EXCEEDED",
}

/** https://cloud.google.com/apis/design/errors */
export const generateError = ({ code, message, requestId, detail }: ErrorBody, status: number, path?: string) => ({
  error: {
    code: status,
    message,
    status: statuses[status] ?? (status > 500 ? "UNAVAILABLE" : "FAILED_PRECONDITION"),
    details: [
      {
        "@type": "type.googleapis.com/google.rpc.ErrorInfo",
        reason: code,
        metadata: {
          requestId,
          ...(typeof detail?.["reason"] === "string" && { reason: detail["reason"] }),
          ...(path !== undefined && { field: path }),
        },
      },
    ],
  },
})
