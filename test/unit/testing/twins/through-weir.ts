/** One call through Weir without sockets: a client's body, the request that a twin gets, its reply, and what the client gets. */

import { Result } from "effect"
import type { ClientApiName } from "../../../../src/dialects/carry/carried-request.ts"
import type { ChatDialect, VendorEvent } from "../../../../src/dialects/chat-dialect.ts"
import type { EventEncoder, ReplyContext } from "../../../../src/dialects/client/client-api.ts"
import { clientApis } from "../../../../src/dialects/client/client-apis.ts"
import type { Dialect } from "../../../../src/dialects/dialect.ts"
import { type JsonObject, objectAt, objectsAt, parseObject, stringAt } from "../../../../src/dialects/parse/json.ts"
import { readCompatible } from "../../../../src/http/compatible/request.ts"
import { extrasOf, levelOf } from "../../../../src/kinds/chat/allowed-params.ts"
import type { ChatRequest } from "../../../../src/kinds/chat/chat-request.ts"
import { EventWriter } from "../../../../src/kinds/chat/event-writer.ts"
import { vendorRequestOf } from "../../../../src/kinds/chat/plan.ts"
import { UsageMeter } from "../../../../src/kinds/chat/usage-meter.ts"
import { decodeExchange } from "../../../../src/kinds/decode.ts"
import type { Marks } from "../../../../src/policies/masks/marks.ts"
import { type Masking, maskBody } from "../../../../src/policies/masks/mask-request.ts"
import { type EditText, editBlock, editJsonTexts } from "../../../../src/policies/reply/reply-blocks.ts"
import { ReplyReview } from "../../../../src/policies/reply/reply-review.ts"
import { ReviewedEvents } from "../../../../src/policies/reply/reviewed-events.ts"
import { Capability } from "../../../../src/protocol/catalogue/model.ts"
import type { ServiceError } from "../../../../src/protocol/error.ts"
import type { Stop } from "../../../../src/protocol/exchange.ts"
import { writeJson } from "../../../../src/protocol/json/json-text.ts"
import type { Twin, TwinRefusal, TwinReply } from "../../../../src/testing/index.ts"
import { completed } from "../../../../src/testing/twins/twin.ts"

export type ClientName = ClientApiName | "t1"

export interface Target {
  readonly name: string
  readonly vendor: Dialect
  readonly twin: Twin
  readonly models: ReadonlyArray<string>
}

export interface Sent {
  readonly client: ClientName
  readonly body: object
  readonly target: Target
  /** The vendor's own name of the model. */
  readonly model: string
  /** @param sent the request as the vendor got it */
  readonly reply: (offered: ReadonlyArray<string>, sent: JsonObject) => TwinReply
  /** The masks of requests; none if absent. */
  readonly masking?: Masking
  /** Cuts the bytes of a stream; each frame is a piece if absent. */
  readonly cut?: (frames: ReadonlyArray<string | Uint8Array>) => ReadonlyArray<Uint8Array>
}

export type Outcome =
  /** Weir refuses it, and names what it cannot do. */
  | { readonly kind: "refused"; readonly why: string }
  /** The twin refuses it. @property isOwn whether the body is the client's own */
  | { readonly kind: "broken"; readonly refusal: TwinRefusal; readonly sent: JsonObject; readonly isOwn: boolean }
  | ({ readonly kind: "answered"; readonly isOwn: boolean } & Answered)

/** A whole reply, as its text too, and the same as a stream. */
interface Answered {
  /** The request as the vendor got it. */
  readonly sent: JsonObject
  readonly whole: JsonObject
  readonly text: string
  readonly stream: string
}

const capabilities = new Set(Capability.literals)

const read = (client: ClientName, body: Uint8Array): Result.Result<ReadRequest, ServiceError> => {
  if (client === "t1") return Result.map(decodeExchange(body), ({ request }) => ({ request, context: {} }))
  const place = { model: "main", stream: false, isArray: false, counts: false }
  const { decoded, sent } = readCompatible(clientApis[client], { headers: {} }, body, undefined, place)
  return Result.map(decoded, ({ request }) => ({ request, context: sent?.context ?? {} }))
}

interface ReadRequest {
  readonly request: ChatRequest
  readonly context: Partial<ReplyContext>
}

const why = ({ message, detail }: ServiceError): string => `${message} ${JSON.stringify(detail ?? {})}`

/** Each part of a call happens twice, whole and as a stream. */
export const throughWeir = ({ client, body, target, model, reply, masking, cut }: Sent): Outcome => {
  const { body: bytes, masked } = maskBody(Buffer.from(JSON.stringify(body)), masking)
  const decoded = read(client, bytes)
  if (Result.isFailure(decoded)) return { kind: "refused", why: why(decoded.failure) }
  const { request, context } = decoded.success
  const lack = request.carried?.lack
  const { vendor, twin } = target
  const dialect = vendor.chat
  if (dialect === undefined) throw new Error(`${target.name} has no chat`)
  const isOwn = request.carried !== undefined && dialect.carry?.api === request.carried.api
  if (lack !== undefined && !isOwn) return { kind: "refused", why: lack.message }
  const asked = request.params ?? {}
  const level = levelOf(asked)
  const { reasoning: _level, ...others } = asked
  const params = {
    ...others,
    maxTokens: asked.maxTokens ?? 4096,
    ...(level !== undefined && { reasoning: level }),
    extras: extrasOf(asked, {}),
  }
  const encoded = request.prompt.encode(
    { dialect: vendor },
    {
      ...vendorRequestOf(request, params, capabilities),
      model,
    },
  )
  if (Result.isFailure(encoded.wire)) return { kind: "refused", why: encoded.wire.failure.message }
  const { path, body: text } = encoded.wire.success
  const sent = parseObject(Buffer.from(text).toString("utf8")) ?? {}
  const call = { path, body: JSON.parse(JSON.stringify(sent)), headers: {}, streaming: false }
  const isCarried = encoded.carried !== undefined
  const refusal = twin.refuse(call)
  if (refusal !== undefined) return { kind: "broken", refusal, sent, isOwn: isCarried }
  const question = twin.asked(call)
  const answer = completed(
    question,
    reply(
      question.tools.map(({ name }) => name),
      sent,
    ),
    true,
  )
  const rest: Asked = { client, dialect, isCarried, known: context, marks: masked?.marks, cut }
  return { kind: "answered", isOwn: isCarried, sent, ...repliesOf(rest, twin, answer) }
}

interface Asked {
  readonly client: ClientName
  readonly dialect: ChatDialect
  readonly isCarried: boolean
  readonly known: Partial<ReplyContext>
  readonly marks: Marks | undefined
  readonly cut: Sent["cut"]
}

/** The review that puts marks back; undefined if the request has none. */
const reviewOf = (marks: Marks | undefined): ReplyReview | undefined =>
  marks && new ReplyReview({ policies: [], restored: marks, marks: () => marks, onDenied: () => {} })

type Answer = ReturnType<typeof completed>

const repliesOf = (
  { client, dialect, isCarried, known, marks, cut }: Asked,
  twin: Twin,
  answer: Answer,
): Omit<Answered, "sent"> => {
  const context = { requestId: "req_twin", model: "main", createdS: 1, includesUsage: true, ...known }
  const json = writeJson(twin.whole(answer))
  const meter = new UsageMeter({ keepsBlocks: true })
  for (const event of dialect.decodeBody(json)) meter.add(event)
  const review = reviewOf(marks)
  const edit: EditText = (text, part, isJson) => review?.masked(text, part, isJson, true) ?? text
  const response = {
    requestId: "req_twin",
    model: "main",
    blocks: meter.blocks().map((block) => editBlock(block, edit)),
    stop: meter.stop ?? "end",
    usage,
  }
  const decoder = dialect.decoder(isCarried)
  const frames = twin.frames(answer)
  const pieces = cut?.(frames) ?? frames.map((frame) => Buffer.from(frame))
  const events = [...pieces.flatMap((piece) => decoder.push(piece)), ...decoder.end()]
  const encoder = client === "t1" ? new EventWriter() : clientApis[client].events(context)
  const stream = streamOf(encoder, context, events, reviewOf(marks))
  if (client === "t1") return { ...wholeOf(writeJson(response)), stream }
  const api = clientApis[client]
  const text =
    isCarried && api.carried
      ? api.carried.whole(context, review === undefined ? json : editJsonTexts(json, edit))
      : writeJson(api.whole(context, response))
  return { ...wholeOf(text), stream }
}

const wholeOf = (text: string): Omit<Answered, "stream" | "sent"> => ({ whole: parseObject(text) ?? {}, text })

const usage = {
  inTokens: 1,
  outTokens: 1,
  cacheReadTokens: 0,
  cacheWriteTokens: 0,
  cost: "1",
  balance: "2",
  currency: "USD",
  cacheNetSaving: "0",
}

/** The text of a stream, as a reader of replies writes it. */
const streamOf = (
  inner: EventEncoder,
  context: ReplyContext,
  events: ReadonlyArray<VendorEvent>,
  review: ReplyReview | undefined,
): string => {
  const reviewed = review && new ReviewedEvents(inner, review)
  const encoder = reviewed ?? inner
  let stop: Stop = "end"
  const isCarried = events.some(({ kind }) => kind === "frame")
  let text = isCarried ? "" : encoder.open({ requestId: context.requestId, model: "main", protocol: "twp/1" })
  for (const [at, event] of events.entries()) {
    if (event.kind === "frame") text += encoder.frame?.(event.frame, events, at) ?? ""
    if (event.kind === "delta") text += encoder.delta(event.delta, event.json)
    if (event.kind === "stop") stop = event.stop
    if (event.kind === "done") break
  }
  return text + (reviewed?.rest() ?? "") + encoder.close({ stop, usage })
}

/** The calls of a reply of a client's API, by their ids and names. */
export const callsIn = (
  client: ClientName,
  whole: JsonObject,
): ReadonlyArray<{ readonly id: string; readonly name: string }> => {
  const named = (id: string | undefined, name: string | undefined) => ({ id: id ?? "", name: name ?? "" })
  switch (client) {
    case "openai-chat":
      return objectsAt(objectAt(objectsAt(whole, "choices")[0], "message"), "tool_calls").map((call) =>
        named(stringAt(call, "id"), stringAt(objectAt(call, "function"), "name")),
      )
    case "openai-responses":
      return objectsAt(whole, "output")
        .filter(({ type }) => type === "function_call")
        .map((call) => named(stringAt(call, "call_id"), stringAt(call, "name")))
    case "anthropic":
      return objectsAt(whole, "content")
        .filter(({ type }) => type === "tool_use")
        .map((call) => named(stringAt(call, "id"), stringAt(call, "name")))
    case "gemini":
      return objectsAt(objectAt(objectsAt(whole, "candidates")[0], "content"), "parts").flatMap((part) => {
        const call = objectAt(part, "functionCall")
        return call === undefined ? [] : [named(stringAt(call, "id"), stringAt(call, "name"))]
      })
    case "t1":
      return objectsAt(whole, "blocks")
        .filter(({ t }) => t === "tool_call")
        .map((call) => named(stringAt(call, "id"), stringAt(call, "name")))
  }
}
