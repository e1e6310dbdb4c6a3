/** The profile of a vendor with the API `openai-chat`: its differences in requests, and the values that most vendors share. */
import type { ReasoningDisplay, ReasoningLevel } from "../../protocol/exchange.ts"
import { type ExtraWords, sameAs } from "../vendor/extras.ts"
import type { ModelRule } from "../vendor/model-rules.ts"
import { type CallIds, hashedIds } from "../vendor/tool-loops.ts"
import { openaiEffort, openaiEfforts, openaiModelDocs, openaiModels } from "./models.ts"

export interface ChatProfile {
  /** Whether it has tools that take a text. */
  readonly takesTexts?: boolean
  /** The field that limits the output tokens. */
  readonly maxTokens: "max_completion_tokens" | "max_tokens"
  /** Fields that ask for a level of reasoning. */
  readonly reasoning: (level: ReasoningLevel, model: string, budget?: number, display?: ReasoningDisplay) => object
  /** Whether the model's reasoning stays hidden, always or if asked for. */
  readonly hidesReasoning?: true
  /** Whether the level of reasoning is also the effort of a model that reasons. */
  readonly reasonsByEffort?: true
  /** The values of `reasoning_effort` for a model, if the vendor refuses others. */
  readonly efforts?: (model: string) => ReadonlyArray<string> | undefined
  /** Parameters that its models take, where they differ, and the documentation that says so. */
  readonly models?: { readonly rules: ReadonlyArray<ModelRule>; readonly source: string }
  /** The field of an assistant message that returns reasoning; if absent, reasoning is omitted. */
  readonly reasoningBack?: "reasoning_content" | "reasoning_details"
  /** Whether a reply that is sent back may have only its text, calls and reasoning: other members are refused. */
  readonly refusesEchoes?: true
  /** Whether usage of a stream must be requested; other vendors always send it, or refuse the field. */
  readonly asksForUsage: boolean
  /** The way to cache a prefix: by a routing key, or by marks on blocks. */
  readonly cache?: "key" | "marks"
  /** The value of a tool choice that requires some tool call. */
  readonly requiredChoice: "required" | "any"
  /** The form of a document: data in a `file` part, also by URL, or Mistral's `document_url`. */
  readonly documents: "data" | "data-or-url" | "document_url"
  /** Whether the vendor cannot answer by a JSON Schema; it may support JSON without one. */
  readonly lacksOutput?: true
  /** Optional parameters that it supports. */
  readonly extras: ExtraWords
  /** Whether videos are taken, in a `video_url` part. */
  readonly videos?: true
  /** Whether the vendor stores files, which are sent by their id. */
  readonly keepsFiles?: true
  /** The vendor whose own options it takes. */
  readonly options?: "openai" | "openrouter" | "groq"
  /** Whether it is an unknown server: it gets all fields of the API. */
  readonly takesAll?: true
  /** The ids of calls that the vendor takes. */
  readonly callIds: CallIds
  /** Whether JSON without a schema cannot be asked for. */
  readonly lacksJsonMode?: true
  /** Whether the model cannot think where a tool is forced. */
  readonly thinksFreelyOnly?: true
  /** Whether the model chooses its tools itself: a request can neither force a call nor forbid one. */
  readonly choosesTools?: true
  /** Whether a loop of tools that thinks needs its reasoning back. */
  readonly loopsNeedReasoning?: true
  /** Whether the last message of a thread must be the user's, or a result of a tool. */
  readonly endsWithUser?: true
  /** The most sequences that stop a reply, and the documentation that says so. */
  readonly mostStops?: { readonly most: number; readonly source: string }
  /** Members of OpenAI's requests that change no answer, and that the vendor refuses. */
  readonly refusedMembers?: ReadonlyArray<string>
  /** OpenAI's own limits of stops and tools; with them come its strict schemas and the usage of streams. */
  readonly openaiLimits?: { readonly stops: number; readonly tools: number }
}

/** A vendor with the API `openai-chat`: its address and its differences in requests. */
export interface ChatVendor extends ChatProfile {
  /** The page of the vendor that the differences follow. */
  readonly documentation: string
  /** The address that its documentation names; the operator replaces words in capitals. */
  readonly baseUrl: string
  /** The variable that usually has its API key; `weir init` and the console offer the vendors that have one. */
  readonly variable?: string
  /** Its name in a price file, if that is not the name of the profile. */
  readonly priceName?: string
}

/** All parameters in the form that most vendors share. */
const words = {
  seed: sameAs("seed"),
  frequencyPenalty: sameAs("frequency_penalty"),
  presencePenalty: sameAs("presence_penalty"),
  topK: sameAs("top_k"),
  minP: sameAs("min_p"),
  logprobs: (value) => ({ logprobs: true, ...(value > 0 && { top_logprobs: value }) }),
  logitBias: sameAs("logit_bias"),
  verbosity: sameAs("verbosity"),
  serviceTier: sameAs("service_tier"),
  prediction: (content) => ({ prediction: { type: "content", content } }),
  stopTokens: sameAs("stop_token_ids"),
  n: sameAs("n"),
} satisfies ExtraWords

type Word = keyof typeof words

export const only = (...names: ReadonlyArray<Word>): ExtraWords =>
  Object.fromEntries(names.map((name) => [name, words[name]]))

export const penalties = ["frequencyPenalty", "presencePenalty"] as const

/**
 * The profile that all vendors understand. An unknown server gets the request unchanged: a profile of the model removes
 * parameters.
 */
export const plain: ChatProfile = {
  maxTokens: "max_tokens",
  reasoning: () => ({}),
  asksForUsage: true,
  requiredChoice: "required",
  documents: "data",
  extras: words,
  // OpenAI's limit, with which others are compatible. Their own ids may be longer, and are not unique.
  callIds: hashedIds(/^[\s\S]{1,40}$/, 29, "call_"),
}

/** The profile of OpenAI, which Azure shares. */
export const openai: ChatProfile = {
  takesTexts: true,
  ...plain,
  maxTokens: "max_completion_tokens",
  reasoning: (level, model) => ({ reasoning_effort: openaiEffort(level, model) }),
  efforts: openaiEfforts,
  models: { rules: openaiModels, source: openaiModelDocs },
  reasonsByEffort: true,
  hidesReasoning: true,
  cache: "key",
  extras: only("seed", ...penalties, "logprobs", "logitBias", "verbosity", "serviceTier", "prediction", "n"),
  options: "openai",
  keepsFiles: true,
  openaiLimits: { stops: 4, tools: 128 },
}
