/**
 * OpenAI's completions, which older programs use: a prompt is one message of a user. Source:
 * https://platform.openai.com/docs/api-reference/completions
 */
import type { Result } from "effect"
import type { CloseEvent, Delta } from "../../protocol/event.ts"
import type { ExchangeResponse, Reply } from "../../protocol/exchange.ts"
import type { TokenLogprob } from "../../protocol/extra-params.ts"
import {
  type ClientApi,
  ClientEvents,
  type ClientRequest,
  chargeOf,
  type EventEncoder,
  notesOf,
  omittedOf,
  type ReplyContext,
  replyId,
  toldIn,
} from "../client/client-api.ts"
import { stopsOf, unless } from "../client/client-parts.ts"
import {
  all,
  carried,
  FieldReader,
  type FieldRefusal,
  type FieldTable,
  isAbsent,
  neutral,
  present,
  presentIfAny,
  refused,
  withoutEffect,
} from "../client/fields.ts"
import type { JsonObject } from "../parse/json.ts"
import { typeOfBlock } from "../vendor/vendor-blocks.ts"
import { chatApi } from "./client.ts"
import { chatError, chatUsage, finishReasons } from "./client-reply.ts"

const completionFields: FieldTable = {
  ...all(
    carried,
    "model",
    "prompt",
    "stream",
    "stream_options",
    "max_tokens",
    "temperature",
    "top_p",
    "stop",
    "seed",
    "frequency_penalty",
    "presence_penalty",
    "logprobs",
    "logit_bias",
    "n",
  ),
  user: withoutEffect("it labels a request for its vendor"),
  echo: neutral(false),
  best_of: neutral(1),
  suffix: refused("models answer a prompt, and fill no gap"),
}

const decode = (body: JsonObject): Result.Result<ClientRequest, FieldRefusal> => {
  const reader = new FieldReader()
  reader.check(completionFields, body, "")
  const { stop, logprobs } = body
  const exchange = present({
    model: body["model"],
    thread: [{ role: "user", blocks: [{ t: "text", v: promptOf(reader, body["prompt"]) }] }],
    params: presentIfAny({
      maxTokens: body["max_tokens"] ?? defaultMaxTokens,
      temperature: body["temperature"],
      topP: body["top_p"],
      stop: typeof stop === "string" ? [stop] : stopsOf(stop),
      seed: body["seed"],
      frequencyPenalty: unless(body["frequency_penalty"], 0),
      presencePenalty: unless(body["presence_penalty"], 0),
      logprobs: isAbsent(logprobs) ? undefined : logprobs,
      logitBias: body["logit_bias"],
      n: unless(body["n"], 1),
    }),
    stream: body["stream"],
  })
  const options = reader.optionalObject(body["stream_options"], "stream_options")
  const context = { model: reader.string(body["model"], "model"), includesUsage: options["include_usage"] === true }
  return reader.result({ exchange, context })
}

/** The default of OpenAI's documentation. */
const defaultMaxTokens = 16

/** One prompt, alone or in a list. */
const promptOf = (reader: FieldReader, prompt: unknown): string => {
  const [only, ...more] = Array.isArray(prompt) ? prompt : [prompt]
  if (more.length > 0) reader.refuse("prompt", "must be one text: send a request for each")
  return reader.string(only, "prompt")
}

interface Piece {
  readonly text: string
  readonly reply: number
  readonly logprobs?: object | null
  readonly finish?: string
}

/** Only texts: other blocks have no place here. */
class CompletionEvents extends ClientEvents implements EventEncoder {
  readonly #context: ReplyContext
  readonly #offsets: Array<number> = []
  readonly #omitted = new Set<string>()

  constructor(context: ReplyContext) {
    super()
    this.#context = context
  }

  open(): string {
    return ""
  }

  delta(delta: Delta): string {
    if (delta.t === "vendor") this.#omitted.add(typeOfBlock(delta))
    if (delta.t !== "text") return ""
    const { v: text, reply = 0, logprobs } = delta
    const offset = this.#offsets[reply] ?? 0
    this.#offsets[reply] = offset + text.length
    return this.#chunk([{ text, reply, logprobs: logprobs === undefined ? null : logprobsOf(logprobs, offset) }])
  }

  close({ stop, stops = [stop], usage }: typeof CloseEvent.Type): string {
    const ends = stops.map((each, reply) => ({ text: "", reply, finish: finishReasons[each] }))
    const charge = { x_svc: chargeOf(usage, notesOf(undefined, this.#omitted)) }
    if (!this.#context.includesUsage) return `${this.#chunk(ends, charge)}data: [DONE]\n\n`
    return `${this.#chunk(ends)}${this.#chunk([], { usage: chatUsage(usage), ...charge })}data: [DONE]\n\n`
  }

  error(error: Parameters<typeof chatError>[0]): string {
    return `data: ${JSON.stringify(chatError(error, 500))}\n\n`
  }

  #chunk(pieces: ReadonlyArray<Piece>, more: object = {}): string {
    return `data: ${JSON.stringify({ ...completionOf(this.#context, pieces.map(choiceOf)), ...more })}\n\n`
  }
}

const completionOf = (context: ReplyContext, choices: ReadonlyArray<object>) => ({
  id: `cmpl-${replyId(context)}`,
  object: "text_completion",
  created: context.createdS,
  model: context.model,
  choices,
})

const choiceOf = ({ text, reply, logprobs = null, finish }: Piece) => ({
  text,
  index: reply,
  logprobs,
  finish_reason: finish ?? null,
})

/**
 * The logprobs in parallel lists.
 * @param offset the position where the text of these tokens begins
 */
const logprobsOf = (tokens: ReadonlyArray<TokenLogprob>, offset = 0) => {
  let at = offset
  return {
    tokens: tokens.map(({ token }) => token),
    token_logprobs: tokens.map(({ logprob }) => logprob),
    top_logprobs: tokens.map(({ top }) => Object.fromEntries(top.map(({ token, logprob }) => [token, logprob]))),
    text_offset: tokens.map(({ token }) => {
      const begin = at
      at += token.length
      return begin
    }),
  }
}

const whole = (context: ReplyContext, response: ExchangeResponse) => ({
  ...completionOf(context, (response.replies ?? [response]).map(wholeChoice)),
  usage: chatUsage(response.usage),
  ...toldIn(
    notesOf(
      undefined,
      omittedOf(response, () => false),
    ),
  ),
})

const wholeChoice = ({ blocks, stop }: Reply, reply: number) => {
  const text = blocks.map((block) => (block.t === "text" ? block.v : "")).join("")
  const tokens = blocks.flatMap((block) => (block.t === "text" ? (block.logprobs ?? []) : []))
  return choiceOf({
    text,
    reply,
    logprobs: tokens.length === 0 ? null : logprobsOf(tokens),
    finish: finishReasons[stop],
  })
}

export const completionApi: ClientApi = {
  name: "OpenAI completions",
  fields: completionFields,
  decode,
  events: (context) => new CompletionEvents(context),
  whole,
  error: chatError,
  requestIdHeader: chatApi.requestIdHeader,
  fieldNames: [
    ["thread", "prompt"],
    ["params.maxTokens", "max_tokens"],
    ["params.logprobs", "logprobs"],
    ...chatApi.fieldNames,
  ],
}
