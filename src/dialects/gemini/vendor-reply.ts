/**
 * Gemini's replies as vendors send them, streamed and whole.
 * Source: https://ai.google.dev/api/generate-content and https://ai.google.dev/gemini-api/docs/thought-signatures
 */

import type { Stop } from "../../protocol/exchange.ts"
import { mostReplies, type TokenLogprob } from "../../protocol/extra-params.ts"
import type { JsonPath } from "../../protocol/json/json-edit.ts"
import { JsonSource } from "../../protocol/json/json-source.ts"
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
import {
  citationsDelta,
  markReply,
  ofReply,
  reasoningDelta,
  signatureDelta,
  textDelta,
  toolCallArgs,
  toolCallOpen,
  vendorDelta,
} from "../parse/blocks.ts"
import {
  countAt,
  type JsonObject,
  numberAt,
  objectAt,
  objectsAt,
  parseObject,
  placedObjectsAt,
  stringAt,
} from "../parse/json.ts"
import { makeSseDecoder } from "../parse/sse-frames.ts"
import { signFor } from "../vendor/signature.ts"
import { Grounding } from "./citations.ts"
import { geminiFault } from "./faults.ts"
import { PartialArguments } from "./partial-arguments.ts"
import { Utf8Places } from "./utf8-places.ts"

/** Gemini has no terminal event: the connection ends after the reply with a finish reason. */
export function decodeStream(carries = false): Decoder {
  const reply = new ReplyReader()
  return makeSseDecoder(
    (data, events) => reply.readReply(data, events),
    carries,
    (events) => reply.close(events),
  )
}

/** A whole reply. */
export function decodeBody(body: string): ReadonlyArray<VendorEvent> {
  const events: Array<VendorEvent> = []
  const reply = new ReplyReader()
  reply.readReply(body, events)
  reply.close(events)
  return events.length === 0 ? [malformed] : events
}

type OpenBlock = "text" | "reasoning"

/** Reads replies: their candidates, each by its own reader, and the fields about all of them. */
class ReplyReader {
  /** The readers by index; most often there is one. */
  readonly #candidates: Array<CandidateReader> = []
  #stop: Stop | undefined
  #tier: string | undefined
  /** Searches of each candidate, by its index. */
  readonly #searches: Array<number> = []
  #usesMaps = false

  /** @param json the JSON of a whole reply, or of a part of one */
  readReply(json: string, events: Array<VendorEvent>): void {
    const reply = parseObject(json)
    const error = objectAt(reply, "error")
    if (error !== undefined) {
      events.push({ kind: "fault", fault: geminiFault(error) })
      return
    }
    const texts = new PartTexts(json, reply)
    const candidates = objectsAt(reply, "candidates")
    const blocked = stringAt(objectAt(reply, "promptFeedback"), "blockReason")
    const usage = objectAt(reply, "usageMetadata")
    if (candidates.length === 0 && blocked === undefined && usage === undefined) {
      events.push(malformed)
      return
    }
    const stops: Array<VendorEvent> = []
    for (const candidate of candidates) {
      const index = Math.min(numberAt(candidate, "index") ?? 0, mostReplies - 1)
      const reader = this.#candidates[index] ?? new CandidateReader(index)
      this.#candidates[index] = reader
      const stop = reader.read(candidate, stringAt(reply, "responseId"), events, texts)
      const grounding = objectAt(candidate, "groundingMetadata")
      const queries = grounding?.["webSearchQueries"]
      this.#usesMaps ||= objectsAt(grounding, "groundingChunks").some((chunk) => objectAt(chunk, "maps") !== undefined)
      if (Array.isArray(queries)) {
        const count = queries.filter((query) => typeof query === "string" && query !== "").length
        this.#searches[index] = Math.max(this.#searches[index] ?? 0, count)
      }
      if (stop === undefined) continue
      if (index === 0) this.#stop = stop
      stops.push(ofReply({ kind: "stop", stop }, index))
    }
    if (stops.length === 0 && blocked !== undefined) {
      this.#stop = "filtered"
      stops.push({ kind: "stop", stop: "filtered" })
    }
    // Reports are cumulative; one without a count is not about this reply.
    if (usage !== undefined && ("promptTokenCount" in usage || "candidatesTokenCount" in usage)) {
      events.push({
        kind: "usage",
        usage: usageOf(usage, {
          web_search: this.#searches.reduce((sum, count) => sum + count, 0),
          maps: Number(this.#usesMaps),
        }),
        final: this.#stop !== undefined,
      })
    }
    const tier = tierOf(usage)
    if (tier !== undefined && tier !== this.#tier) events.push({ kind: "tier", tier })
    this.#tier = tier ?? this.#tier
    events.push(...stops)
  }

  /** Ends the reply. */
  close(events: Array<VendorEvent>): void {
    if (this.#stop !== undefined) events.push({ kind: "done" })
  }
}

/** The text of a part of a call, as it arrived. */
type TextIn = (...path: JsonPath) => string | undefined

/** The texts of the parts of a reply; their positions are found when the first one is asked for. */
class PartTexts {
  readonly #json: string
  readonly #reply: JsonObject | undefined
  #source: JsonSource | undefined
  #places: Map<JsonObject, JsonPath> | undefined

  constructor(json: string, reply: JsonObject | undefined) {
    this.#json = json
    this.#reply = reply
  }

  textIn(part: JsonObject, ...path: JsonPath): string | undefined {
    this.#source ??= new JsonSource(this.#json)
    this.#places ??= placesOfParts(this.#reply)
    const place = this.#places.get(part)
    return place && this.#source.textAt([...place, ...path])
  }
}

const placesOfParts = (reply: JsonObject | undefined): Map<JsonObject, JsonPath> => {
  const places = new Map<JsonObject, JsonPath>()
  for (const [index, candidate] of placedObjectsAt(reply, "candidates")) {
    for (const [at, part] of placedObjectsAt(objectAt(candidate, "content"), "parts")) {
      places.set(part, ["candidates", index, "content", "parts", at])
    }
  }
  return places
}

class CandidateReader {
  readonly #index: number
  /** Blocks are numbered as they begin; a part of another kind begins the next one. */
  #blocks = 0
  #open: OpenBlock | undefined
  /** A call whose arguments arrive in parts. */
  #partial: { readonly index: number; readonly args: PartialArguments } | undefined
  #replyId = ""
  /** The text block that grounding is about, and the positions in it. */
  #text: { readonly index: number; readonly places: Utf8Places } | undefined
  #called = false
  readonly #grounding = new Grounding()
  #isEnded = false
  /** The logprobs of the text that is read next. */
  #logprobs: ReadonlyArray<TokenLogprob> | undefined

  constructor(index: number) {
    this.#index = index
  }

  /** @returns the stop reason, if it has ended */
  read(
    candidate: JsonObject,
    replyId: string | undefined,
    events: Array<VendorEvent>,
    texts: PartTexts,
  ): Stop | undefined {
    const first = events.length
    this.#replyId = replyId ?? this.#replyId
    this.#logprobs = logprobsOf(objectAt(candidate, "logprobsResult"))
    for (const part of objectsAt(objectAt(candidate, "content"), "parts")) this.#readPart(part, events, texts)
    this.#grounding.add(candidate)
    const reason = stringAt(candidate, "finishReason")
    this.#isEnded ||= reason !== undefined
    if (this.#isEnded) this.#cite(events)
    if (reason !== undefined) this.#closePartial(events)
    markReply(events, first, this.#index)
    return reason === undefined ? undefined : stopOf(reason, this.#called)
  }

  #readPart(part: JsonObject, events: Array<VendorEvent>, texts: PartTexts): void {
    const call = objectAt(part, "functionCall")
    const signature = stringAt(part, "thoughtSignature")
    const text = stringAt(part, "text")
    if (call !== undefined) {
      if (signature) this.#sign(signature, events)
      this.#readCall(call, events, (...path) => texts.textIn(part, "functionCall", ...path))
    } else if (text !== undefined) {
      const kind = part["thought"] === true ? "reasoning" : "text"
      // A signature comes before its text, or after text that has begun.
      const opens = kind === "text" && text !== "" && this.#open !== "text"
      if (signature && opens) this.#sign(signature, events)
      if (text !== "") this.#readText(kind, text, events)
      if (signature && !opens) this.#sign(signature, events)
    } else if (Object.keys(part).every((name) => name === "thought" || name === "thoughtSignature")) {
      if (signature) this.#sign(signature, events)
    } else {
      // A part of Gemini's own tools, a picture, a file, or a part of a later version.
      this.#begin(undefined)
      events.push(vendorDelta(this.#blocks - 1, "gemini", texts.textIn(part) ?? "{}"))
    }
  }

  #readText(kind: OpenBlock, text: string, events: Array<VendorEvent>): void {
    if (this.#open !== kind) this.#begin(kind)
    const i = this.#blocks - 1
    if (kind === "reasoning") {
      events.push(reasoningDelta(i, text))
      return
    }
    if (this.#text?.index !== i) this.#text = { index: i, places: new Utf8Places() }
    this.#text.places.add(text)
    events.push(textDelta(i, text, this.#logprobs))
    this.#logprobs = undefined
  }

  /** This comes after the reply has ended: its positions are known then. */
  #cite(events: Array<VendorEvent>): void {
    if (this.#text === undefined) return
    const { index, places } = this.#text
    const cited = this.#grounding.take((bytes) => places.placeAt(bytes))
    if (cited.length > 0) events.push(citationsDelta(index, cited))
  }

  /** Ends the previous reasoning block, or is its own reasoning block. */
  #sign(signature: string, events: Array<VendorEvent>): void {
    if (this.#open !== "reasoning") this.#begin("reasoning")
    events.push(signatureDelta(this.#blocks - 1, signFor("gemini", signature)))
    this.#open = undefined
  }

  #begin(kind: OpenBlock | undefined): void {
    this.#open = kind
    this.#blocks++
  }

  #readCall(call: JsonObject, events: Array<VendorEvent>, textIn: TextIn): void {
    const name = stringAt(call, "name")
    const willContinue = call["willContinue"] === true
    if (name !== undefined) {
      this.#called = true
      this.#begin(undefined)
      const index = this.#blocks - 1
      events.push(toolCallOpen(index, stringAt(call, "id") ?? this.#callId(index), name))
      if (willContinue) this.#partial = { index, args: new PartialArguments() }
      const args = objectAt(call, "args")
      if (args !== undefined && Object.keys(args).length > 0) {
        events.push(toolCallArgs(index, textIn("args") ?? "{}"))
      }
    }
    for (const [at, piece] of placedObjectsAt(call, "partialArgs")) {
      this.#partial?.args.add(piece, () => textIn("partialArgs", at, "numberValue"))
    }
    if (!willContinue) this.#closePartial(events)
  }

  #closePartial(events: Array<VendorEvent>): void {
    if (this.#partial !== undefined) events.push(toolCallArgs(this.#partial.index, this.#partial.args.toJson()))
    this.#partial = undefined
  }

  /** Gemini may omit a call's id; the generated one is unique in the conversation. */
  #callId(index: number): string {
    return this.#replyId === "" ? `call_${index}` : `call_${this.#replyId}_${index}`
  }
}

/** https://ai.google.dev/api/generate-content#LogprobsResult */
const logprobsOf = (result: JsonObject | undefined): ReadonlyArray<TokenLogprob> | undefined => {
  const tops = objectsAt(result, "topCandidates")
  const read = objectsAt(result, "chosenCandidates").flatMap((chosen, at) => {
    const token = reckoned(chosen)
    return token === undefined
      ? []
      : [{ ...token, top: objectsAt(tops[at], "candidates").flatMap((one) => reckoned(one) ?? []) }]
  })
  return read.length === 0 ? undefined : read
}

const reckoned = (one: JsonObject) => {
  const token = stringAt(one, "token")
  const { logProbability: logprob = 0 } = one
  return token === undefined || typeof logprob !== "number" ? undefined : { token, logprob }
}

/** https://ai.google.dev/api/generate-content#UsageMetadata, and on Vertex AI https://docs.cloud.google.com/vertex-ai/generative-ai/docs/priority-paygo */
const tierOf = (usage: JsonObject | undefined): string | undefined =>
  stringAt(usage, "serviceTier")?.toLowerCase() ?? entryOf(tiersOfTraffic, stringAt(usage, "trafficType"))

const tiersOfTraffic: Readonly<Record<string, string>> = {
  ON_DEMAND: "standard",
  ON_DEMAND_PRIORITY: "priority",
  ON_DEMAND_FLEX: "flex",
}

/** Thoughts count as output; input of Gemini's own tools counts as input. */
function usageOf(usage: JsonObject, uses: Readonly<Record<string, number>>): VendorUsage {
  const thoughts = countAt(usage, "thoughtsTokenCount")
  const inputTokens = countAt(usage, "promptTokenCount") + countAt(usage, "toolUsePromptTokenCount")
  const modality = (details: string, name: string) =>
    objectsAt(usage, details)
      .filter((detail) => stringAt(detail, "modality") === name)
      .reduce((sum, detail) => sum + countAt(detail, "tokenCount"), 0)
  const cached = (name: string) => modality("cacheTokensDetails", name)
  return {
    ...splitInput(inputTokens, countAt(usage, "cachedContentTokenCount"), 0),
    outTokens: countAt(usage, "candidatesTokenCount") + thoughts,
    dims: nonZero({
      reasoning: thoughts,
      ...uses,
      audio_in: modality("promptTokensDetails", "AUDIO") - cached("AUDIO"),
      image_in: modality("promptTokensDetails", "IMAGE") - cached("IMAGE"),
      audio_out: modality("candidatesTokensDetails", "AUDIO"),
      obs_video_in: modality("promptTokensDetails", "VIDEO"),
      obs_document_in: modality("promptTokensDetails", "DOCUMENT"),
      obs_tool_use_in: countAt(usage, "toolUsePromptTokenCount"),
    }),
    ...missingSides(usage, {
      input: { anyOf: ["promptTokenCount"], added: ["toolUsePromptTokenCount"] },
      output: { anyOf: ["candidatesTokenCount", "thoughtsTokenCount"] },
    }),
  }
}

const stops: Readonly<Record<string, Stop>> = {
  STOP: "end",
  MAX_TOKENS: "max_tokens",
  SAFETY: "filtered",
  RECITATION: "filtered",
  LANGUAGE: "filtered",
  BLOCKLIST: "filtered",
  PROHIBITED_CONTENT: "filtered",
  SPII: "filtered",
  IMAGE_SAFETY: "filtered",
  // A reason of Vertex AI: https://cloud.google.com/security-command-center/docs/model-armor-vertex-integration
  MODEL_ARMOR: "filtered",
  IMAGE_PROHIBITED_CONTENT: "filtered",
  IMAGE_RECITATION: "filtered",
  MALFORMED_FUNCTION_CALL: "malformed_call",
  UNEXPECTED_TOOL_CALL: "malformed_call",
  TOO_MANY_TOOL_CALLS: "malformed_call",
  MALFORMED_RESPONSE: "malformed_call",
  // The model stopped without a regular end.
  OTHER: "interrupted",
  NO_IMAGE: "interrupted",
  IMAGE_OTHER: "interrupted",
  CONTINUATION: "pause",
}

const stopOf = (reason: string, called: boolean): Stop => {
  const stop = entryOf(stops, reason) ?? "end"
  return stop === "end" && called ? "tool_call" : stop
}
