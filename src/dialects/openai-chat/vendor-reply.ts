/**
 * Chat completions as vendors send them, streamed and whole.
 * Source: https://platform.openai.com/docs/api-reference/chat
 */

import type { Citation } from "../../protocol/citation.ts"
import type { Stop } from "../../protocol/exchange.ts"
import { mostReplies, type TokenLogprob } from "../../protocol/extra-params.ts"
import { entryOf } from "../../protocol/values/entry.ts"
import {
  type Decoder,
  malformed,
  missingSides,
  nonZero,
  splitInput,
  type VendorEvent,
  type VendorUsage,
} from "../chat-dialect.ts"
import { citationsDelta, markReply, reasoningDelta, signatureDelta, textDelta, vendorDelta } from "../parse/blocks.ts"
import { countAt, type JsonObject, numberAt, objectAt, objectsAt, parseObject, stringAt } from "../parse/json.ts"
import { makeSseDecoder } from "../parse/sse-frames.ts"
import { logprobsOf } from "../vendor/logprobs.ts"
import { pictureBlock } from "../vendor/reply-pictures.ts"
import { citationsAt, citedAddresses } from "./citations.ts"
import { openaiFault } from "./faults.ts"
import { ReasoningDetails } from "./reasoning-details.ts"
import { StreamedCalls } from "./streamed-calls.ts"

/** A streamed reply. */
export function decodeStream(carries = false): Decoder {
  const reply = new ReplyReader()
  const close = (events: Array<VendorEvent>) => reply.close(events)
  const read = (data: string, events: Array<VendorEvent>) => {
    if (data !== "[DONE]") return reply.readChunk(parseObject(data), events)
    close(events)
    events.push({ kind: "done" })
  }
  return makeSseDecoder(read, carries, close)
}

/** A whole reply. */
export function decodeChatBody(body: string): ReadonlyArray<VendorEvent> {
  const json = parseObject(body)
  if (json === undefined) return [malformed]
  const events: Array<VendorEvent> = []
  const reply = new ReplyReader()
  const choices = objectsAt(json, "choices")
  if (choices.length === 0 && !hasFailed(json)) return [malformed]
  reply.readReply(json, choices, "message", events)
  events.push({ kind: "done" })
  return events
}

/** Decodes whole replies and chunks: a chunk's `delta` and a reply's `message` have the same fields. */
class ReplyReader {
  /** The readers by index; most often there is one. */
  readonly #choices = [new ChoiceReader(0)]
  #tier: string | undefined

  readChunk(chunk: JsonObject | undefined, events: Array<VendorEvent>): void {
    if (chunk === undefined) events.push(malformed)
    else this.readReply(chunk, objectsAt(chunk, "choices"), "delta", events)
  }

  readReply(
    reply: JsonObject,
    choices: ReadonlyArray<JsonObject>,
    content: "delta" | "message",
    events: Array<VendorEvent>,
  ): void {
    if (hasFailed(reply)) {
      events.push({ kind: "fault", fault: openaiFault(objectAt(reply, "error") ?? { ...reply, object: undefined }) })
      return
    }
    const tier = stringAt(reply, "service_tier")
    if (tier !== undefined && tier !== this.#tier) {
      this.#tier = tier
      events.push({ kind: "tier", tier })
    }
    for (const choice of choices) {
      const index = Math.min(numberAt(choice, "index") ?? 0, mostReplies - 1)
      const reader = this.#choices[index] ?? new ChoiceReader(index)
      this.#choices[index] = reader
      // Some vendors end a stream with a whole message, and some answer with the text of a completion.
      const isWhole = content === "message" || (choice["delta"] === undefined && choice["message"] !== undefined)
      reader.read(choice, objectAt(choice, isWhole ? "message" : content) ?? textOf(choice), isWhole, events)
    }
    this.#readAddresses(reply, choices[0], events)
    // Usage is read at every position: beside choices, after them, inside one (Moonshot), or in its own object (Groq).
    const usage =
      objectAt(reply, "usage") ?? objectAt(choices[0], "usage") ?? objectAt(objectAt(reply, "x_groq"), "usage")
    if (usage !== undefined) events.push({ kind: "usage", usage: readUsage(usage), final: true })
    for (const choice of choices) this.#choices[numberAt(choice, "index") ?? 0]?.end(choice, events)
  }

  /** Emits everything that still waits: not every reply has a stop reason. */
  close(events: Array<VendorEvent>): void {
    for (const choice of this.#choices) choice?.close(events)
  }

  /** Addresses beside the choices, which some vendors send in each chunk: they are used at the end, if no choice has its own. */
  #readAddresses(reply: JsonObject, choice: JsonObject | undefined, events: Array<VendorEvent>): void {
    const [first] = this.#choices
    if (first === undefined || first.isCited || !stringAt(choice, "finish_reason")) return
    first.isCited = true
    first.cite(citedAddresses(reply), events)
  }
}

/** Vendors name a failure by an object, by a text alone, or by the body's own kind, as vLLM and Mistral do. */
const hasFailed = (reply: JsonObject): boolean =>
  objectAt(reply, "error") !== undefined ||
  (stringAt(reply, "error") ?? "") !== "" ||
  (reply["object"] === "error" && reply["choices"] === undefined)

const textOf = (choice: JsonObject): JsonObject | undefined => {
  const content = stringAt(choice, "text")
  return content === undefined ? undefined : { content }
}

class ChoiceReader {
  /** Whether it sent citations of its own. */
  isCited = false
  /** Blocks are numbered as they begin; content of another kind begins the next one. */
  #blocks = 0
  #open: "text" | "reasoning" | undefined
  #calls: StreamedCalls | undefined
  /** Whether its call has the form that came before `tool_calls`. */
  #hasFunctionCall = false
  #details: ReasoningDetails | undefined
  readonly #index: number
  #refused = false
  #isClosed = false
  /** Blocks of text, whose texts vendors count as one. */
  #texts: Array<{ readonly block: number; readonly begin: number }> = []
  #length = 0
  /** Citations that came before the text. */
  #early: Array<Citation> = []

  constructor(index: number) {
    this.#index = index
  }

  read(choice: JsonObject, content: JsonObject | undefined, isWhole: boolean, events: Array<VendorEvent>): void {
    const first = events.length
    this.#readContent(content, logprobsOf(objectAt(choice, "logprobs")), events)
    const cited = citationsAt(content)
    this.isCited ||= cited.length > 0
    this.cite(cited, events)
    const calls = this.#callsIn(content)
    if (calls.length > 0) {
      this.#calls ??= new StreamedCalls(() => this.#next(undefined))
      this.#calls.read(calls, isWhole, events)
    }
    markReply(events, first, this.#index)
  }

  #callsIn(content: JsonObject | undefined): ReadonlyArray<JsonObject> {
    const calls = objectsAt(content, "tool_calls")
    const call = objectAt(content, "function_call")
    if (calls.length > 0 || call === undefined || (this.#calls !== undefined && !this.#hasFunctionCall)) return calls
    this.#hasFunctionCall = true
    return [{ index: 0, function: call }]
  }

  end(choice: JsonObject, events: Array<VendorEvent>): void {
    const finish = stringAt(choice, "finish_reason")
    const error = objectAt(choice, "error")
    // An error beside a documented stop reason is a remark.
    if (failures.has(finish ?? "") || (error !== undefined && entryOf(stops, finish) === undefined)) {
      events.push({ kind: "fault", fault: openaiFault(error ?? { code: finish }) })
      return
    }
    if (!finish) return
    this.close(events)
    const first = events.length
    // vLLM sends the sequence that matched beside the stop reason.
    const sequence = stringAt(choice, "stop_reason")
    events.push({ kind: "stop", stop: this.#stopOf(finish, sequence), sequence })
    markReply(events, first, this.#index)
  }

  close(events: Array<VendorEvent>): void {
    const first = events.length
    if (this.#early.length > 0) this.#tell(this.#at("text"), this.#early.splice(0), events)
    this.#calls?.end(events)
    if (!this.#isClosed) this.#sign(events)
    this.#isClosed = true
    markReply(events, first, this.#index)
  }

  /** Some vendors say `stop` beside a call, and `tool_calls` without one: then the content of the reply shows why it ended. */
  #stopOf(finish: string, sequence: string | undefined): Stop {
    if (this.#refused) return "refusal"
    const stop = entryOf(stops, finish) ?? "end"
    if (stop === "end" && sequence !== undefined) return "stop_sequence"
    const hasCalls = this.#calls !== undefined
    if (stop === "end" && hasCalls) return "tool_call"
    return stop === "tool_call" && !hasCalls ? "end" : stop
  }

  /** @returns the number of the block that is open, if it is of this kind; otherwise a new one begins */
  #at(kind: "text" | "reasoning"): number {
    return this.#open === kind ? this.#blocks - 1 : this.#next(kind)
  }

  #next(kind: "text" | "reasoning" | undefined): number {
    this.#open = kind
    return this.#blocks++
  }

  #readContent(
    content: JsonObject | undefined,
    logprobs: ReadonlyArray<TokenLogprob> | undefined,
    events: Array<VendorEvent>,
  ): void {
    if (content === undefined) return
    const details = objectsAt(content, "reasoning_details")
    const reasoning = stringAt(content, "reasoning_content") || stringAt(content, "reasoning")
    this.#readReasoning(reasoning || details.map(textOfDetail).join(""), events)
    for (const detail of details) {
      this.#details ??= new ReasoningDetails()
      this.#details.add(detail)
    }
    this.#readText(stringAt(content, "content"), events, logprobs)
    // OpenRouter's models that draw, most of which are Gemini's.
    for (const image of objectsAt(content, "images")) {
      const url = stringAt(objectAt(image, "image_url"), "url")
      if (url) events.push(vendorDelta(this.#next(undefined), "gemini", pictureBlock(url)))
    }
    // Mistral's reasoning models answer in parts, and so do Databricks' ones, with a summary.
    for (const part of objectsAt(content, "content")) {
      const thoughts = [...objectsAt(part, "thinking"), ...objectsAt(part, "summary")]
      for (const thought of thoughts) this.#readReasoning(stringAt(thought, "text"), events)
      this.#readReasoning(stringAt(part, "thinking"), events)
      this.#readText(stringAt(part, "text"), events)
      this.#readRefusal(stringAt(part, "refusal"), events)
    }
    this.#readRefusal(stringAt(content, "refusal"), events)
  }

  #readRefusal(refusal: string | undefined, events: Array<VendorEvent>): void {
    if (!refusal) return
    this.#refused = true
    this.#readText(refusal, events)
  }

  /** The sources of the text: those with a position belong to the block that has it, others to the last one. */
  cite(citations: ReadonlyArray<Citation>, events: Array<VendorEvent>): void {
    if (citations.length === 0) return
    const [first] = this.#texts
    const last = this.#texts.at(-1)
    if (first === undefined || last === undefined) {
      this.#early.push(...citations)
      return
    }
    const begun = events.length
    for (const { start, end, ...citation } of citations) {
      if (start === undefined || end === undefined) this.#tell(last.block, [citation], events)
      else {
        const { block, begin } = this.#texts.findLast((text) => text.begin <= start) ?? first
        this.#tell(block, [{ ...citation, start: start - begin, end: end - begin }], events)
      }
    }
    markReply(events, begun, this.#index)
  }

  #tell(block: number, citations: ReadonlyArray<Citation>, events: Array<VendorEvent>): void {
    events.push(citationsDelta(block, citations))
  }

  #readReasoning(text: string | undefined, events: Array<VendorEvent>): void {
    if (text) events.push(reasoningDelta(this.#at("reasoning"), text))
  }

  #readText(text: string | undefined, events: Array<VendorEvent>, logprobs?: ReadonlyArray<TokenLogprob>): void {
    if (!text) return
    const block = this.#at("text")
    if (this.#texts.at(-1)?.block !== block) this.#texts.push({ block, begin: this.#length })
    this.#length += text.length
    events.push(textDelta(block, text, logprobs))
    if (this.#early.length > 0) this.cite(this.#early.splice(0), events)
  }

  #sign(events: Array<VendorEvent>): void {
    const signature = this.#details?.signature
    if (signature !== undefined) events.push(signatureDelta(this.#at("reasoning"), signature))
  }
}

const textOfDetail = (detail: JsonObject): string => stringAt(detail, "text") ?? stringAt(detail, "summary") ?? ""

const stops: Readonly<Record<string, Stop>> = {
  stop: "end",
  length: "max_tokens",
  model_length: "max_tokens",
  tool_calls: "tool_call",
  function_call: "tool_call",
  content_filter: "filtered",
  // Zhipu: https://docs.z.ai/api-reference/llm/chat-completion
  sensitive: "filtered",
  model_context_window_exceeded: "max_tokens",
}

/**
 * Stop reasons that are failures: of OpenRouter and Mistral, Zhipu, and DeepSeek.
 * https://openrouter.ai/docs/api/reference/overview, https://api-docs.deepseek.com/api/create-chat-completion
 */
const failures: ReadonlySet<string> = new Set(["error", "network_error", "insufficient_system_resource"])

/** Alibaba's explicit caches: https://www.alibabacloud.com/help/en/model-studio/context-cache */
const writtenTokens = (input: JsonObject | undefined): number =>
  countAt(input, "cache_write_tokens") || countAt(input, "cache_creation_input_tokens")

/** Each vendor reports cached tokens in its own field. */
const cachedTokens = (usage: JsonObject): number =>
  countAt(objectAt(usage, "prompt_tokens_details"), "cached_tokens") ||
  countAt(usage, "prompt_cache_hit_tokens") ||
  countAt(usage, "cached_tokens") ||
  countAt(usage, "num_cached_tokens")

function readUsage(usage: JsonObject): VendorUsage {
  const input = objectAt(usage, "prompt_tokens_details")
  const output = objectAt(usage, "completion_tokens_details")
  const promptTokens = countAt(usage, "prompt_tokens") || countAt(usage, "input_tokens")
  const completionTokens = countAt(usage, "completion_tokens") || countAt(usage, "output_tokens")
  const reasoning = countAt(output, "reasoning_tokens")
  const [read, written] = [cachedTokens(usage), writtenTokens(input)]
  // xAI counts reasoning in addition to the completion, and Google's API for OpenAI's clients counts thoughts so: their total
  // shows that. Other vendors do not count cached tokens in the prompt.
  const beside = Math.max(0, countAt(usage, "total_tokens") - promptTokens - completionTokens)
  const isCached = beside > 0 && beside !== reasoning && [read, written, read + written].includes(beside)
  return {
    ...splitInput(promptTokens + (isCached ? beside : 0), read, written),
    outTokens: completionTokens + (isCached ? 0 : beside),
    dims: nonZero({
      reasoning: reasoning || (isCached ? 0 : beside),
      image_in: countAt(input, "image_tokens"),
      audio_in: countAt(input, "audio_tokens"),
      audio_out: countAt(output, "audio_tokens"),
      obs_accepted_prediction: countAt(output, "accepted_prediction_tokens"),
      obs_rejected_prediction: countAt(output, "rejected_prediction_tokens"),
    }),
    ...missingSides(usage, {
      input: { anyOf: ["prompt_tokens", "input_tokens"] },
      output: { anyOf: ["completion_tokens", "output_tokens"] },
    }),
  }
}
