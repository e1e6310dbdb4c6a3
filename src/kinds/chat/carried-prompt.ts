/**
 * A prompt that a client sent in an API of its own: vendors of that API get it unchanged, others get it translated from
 * twp/1.
 */
import { Effect, Result } from "effect"
import { tokensOfBytes } from "../../calls/tokens/tokens.ts"
import type { ClientApiName, OwnRequest, SentBody } from "../../dialects/carry/carried-request.ts"
import { omittedTools } from "../../dialects/carry/carry.ts"
import type { ChatDialect, VendorRequest } from "../../dialects/chat-dialect.ts"
import { type WrittenFields, writtenFields } from "../../dialects/client/client-field.ts"
import { fitTo } from "../../dialects/vendor/fitted.ts"
import { type HostedTool, readsMore } from "../../dialects/vendor/hosted-tools.ts"
import { withLongNumbers } from "../../policies/json-numbers.ts"
import { textsOfJson } from "../../policies/json-texts.ts"
import type { Parts, TextReader } from "../../policies/parts.ts"
import { type HostedUses, hostedCapability } from "../../protocol/hosted-unit.ts"
import { cut, editJson, type JsonEdit } from "../../protocol/json/json-edit.ts"
import { JsonScanner } from "../../protocol/json/json-scanner.ts"
import type { JsonMarks } from "../../protocol/json/json-size.ts"
import { isFunctionTool, isTextTool } from "../../protocol/tool.ts"
import {
  type EncodedPrompt,
  type EncodingTarget,
  OwnPrompt,
  type PromptContent,
  type PromptParams,
  type PromptSource,
} from "./prompt.ts"
import { mediaBytes } from "./prompt-tokens.ts"

/** A client's request beside its prompt. */
export interface SentPrompt extends Omit<SentBody, "edited"> {
  readonly api: ClientApiName
  readonly body: Uint8Array
  /** The positions of its members. */
  readonly marks: JsonMarks
  /** Whether the reply is a stream. */
  readonly isStreamed: boolean
}

export class CarriedPrompt extends OwnPrompt {
  readonly #sent: SentPrompt

  constructor(sent: SentPrompt, content: PromptContent, source?: PromptSource) {
    super(content, source)
    this.#sent = sent
  }

  override get tokens(): number {
    const counted = super.tokens + tokensOfBytes(this.#sent.own.newBytes)
    // A long body is text except for its media, at any position.
    const { length } = this.#sent.body
    return length < longBytes ? counted : Math.max(counted, tokensOfBytes(length - mediaBytes(this.read().thread)))
  }

  override get hasRemoteMedia(): boolean {
    return super.hasRemoteMedia || this.#sent.own.hosted.some(readsMore)
  }

  /** Fields that twp/1 does not support cannot be written again. */
  override get canUnseal(): boolean {
    return super.canUnseal && this.#sent.own.lack === undefined
  }

  /** All fields that a vendor of the same API reads, including those that twp/1 does not support. */
  protected override reviewedBy(reader: TextReader, parts: Parts): string {
    const own = withLongNumbers(textIn(this.#sent.body))
    const text = super.reviewedBy(reader, parts, own)
    return reader === "rules" ? [text, ...textsOfJson(own, parts)].join("\n") : text
  }

  override get ownSameness(): Effect.Effect<object | undefined> {
    const { api, isStreamed, betas, own } = this.#sent
    // Content that a vendor's tool reads elsewhere may change.
    if (own.hosted.some(readsMore)) return Effect.undefined
    return Effect.map(this.sameness, (prompt) => prompt && { api, isStreamed, betas, sent: this.#meaning() })
  }

  override encode(target: EncodingTarget, params: PromptParams): EncodedPrompt {
    const { api, body, marks, own: sentOwn, ...sent } = this.#sent
    const own = target.vendor?.hostedTools === "carry" ? withPaidTools(sentOwn) : sentOwn
    const { chat } = target.dialect
    const { lack, newFields } = own
    // The unchanged request would be refused again: without its seals it is written again.
    if (chat?.carry?.api === api && params.isUnsealed !== true && params.added === undefined) {
      const [newField] = newFields
      if (newField !== undefined && target.vendor?.newFields === "refuse") return unfit(newField, unknownField)
      let made: ReadonlyArray<JsonEdit> = []
      const edited = (edits: ReadonlyArray<JsonEdit>) => {
        made = edits
        return editJson(body, edits, marks)
      }
      const { thread, tools } = this.read()
      const offered = { thread, tools: tools.filter(isFunctionTool), textTools: tools.filter(isTextTool) }
      const asked = { ...params, ...offered }
      const fitted = fitTo(chat, { ...asked, hosted: hostedAt(chat, asked) })
      if (Result.isFailure(fitted)) return { wire: Result.fail(fitted.failure) }
      const { request, clamped } = fitted.success
      const omitted = omittedTools(request, own)
      const refused = refusalOf(omitted, { isOmitting: params.lostTools !== "refuse", hasOthers: tools.length > 0 })
      if (refused !== undefined) return refused
      const wire = chat.carry.encode(request, { ...sent, own, edited })
      if (wire !== undefined) {
        this.letGo()
        const types = omitted.map(({ type }) => type)
        return { wire, omittedTools: types, clamped, carried: { newFields }, written: () => this.#written(made) }
      }
    }
    const hasOthers = this.hasTools
    const translated = lack === undefined ? super.encode(target, params) : unfit(lack.path, lack.message)
    // If other tools of vendors are left out, only a plain web search remains. Agents always offer such tools, beside tools of
    // their own, and go on with those.
    const lost = own.hosted.filter(({ isPlainSearch }) => !isPlainSearch || translated.isSearching !== true)
    const { lostTools = hasOthers ? "omit" : "refuse" } = params
    return (
      refusalOf(lost, { isOmitting: lostTools === "omit", hasOthers }) ?? {
        ...translated,
        omittedTools: lost.map(({ type }) => type),
      }
    )
  }

  /** The unchanged body, without the members that change no answer: numbers that are equal to a parser may differ to a vendor. */
  #meaning(): string {
    const { body, marks } = this.#sent
    const edits = meaningless.map((name) => cut(name))
    return Buffer.from(editJson(body, edits, marks)).toString("utf8")
  }

  #written(edits: ReadonlyArray<JsonEdit>): WrittenFields {
    const { body, marks, head } = this.#sent
    const members = new JsonScanner(body).membersAt(marks).map(({ name }) => name)
    return writtenFields({ members, head, whole: () => jsonOf(body) }, edits)
  }
}

/** A request that keeps all its tools. */
const withPaidTools = (own: OwnRequest): OwnRequest => ({
  ...own,
  hosted: own.hosted.map((tool) => ({ ...tool, isFree: true })),
})

interface Losing {
  /** Whether tools on which an answer may depend are left out too. */
  readonly isOmitting: boolean
  /** Whether the request offers tools of the client's own. */
  readonly hasOthers: boolean
}

const refusalOf = (lost: ReadonlyArray<HostedTool>, { isOmitting, hasOthers }: Losing): EncodedPrompt | undefined => {
  const tool = lost.find(
    ({ isNeeded, isForced, isRequired }) => isForced || (isRequired && !hasOthers) || (isNeeded && !isOmitting),
  )
  return tool && unfit(tool.place, lackOf(tool))
}

const lackOf = ({ type, unit, isForced }: HostedTool): string => {
  const needs = unit && `; it needs a price of ${unit} and the organisation's capability ${hostedCapability[unit]} too`
  const remedy = isForced ? "" : "; an organisation with hostedTools: omit does without"
  return `is ${type.slice(0, 64)}, which no vendor of this model may run as it is asked for${needs ?? ""}${remedy}`
}

/** Uses of hosted tools without web searches, if the vendor cannot search for a request with these fields. */
const hostedAt = (chat: ChatDialect, request: VendorRequest): HostedUses | undefined => {
  const { hosted } = request
  if (hosted === undefined || chat.canSearch(request)) return hosted
  return { ...hosted, allowed: hosted.allowed.filter((unit) => unit !== "web_search") }
}

/** Bytes of a body that may be at any position in it. */
const longBytes = 8 * 1024

const unknownField = "is not a field of this API that the gateway knows"

/** @param path of the field, as its client named it */
const unfit = (path: string, message: string): EncodedPrompt => ({
  wire: Result.fail({ capability: path, message: `${path}: ${message}`, issue: { path, message } }),
})

/** Members that change no answer. */
const meaningless = [
  "model",
  "stream",
  "stream_options",
  "store",
  "user",
  "safety_identifier",
  "metadata",
  "prompt_cache_key",
  "labels",
]

const textIn = (body: Uint8Array): string => Buffer.from(body).toString("utf8")

const jsonOf = (body: Uint8Array): unknown => JSON.parse(textIn(body))
