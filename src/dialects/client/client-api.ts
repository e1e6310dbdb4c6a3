/**
 * The direction towards a client: an API's request becomes one of twp/1, and the events of twp/1 become its reply. Pure,
 * like the direction towards a vendor.
 */

import type { Result } from "effect"
import type { VendorBlock } from "../../protocol/block.ts"
import type { ErrorBody } from "../../protocol/error.ts"
import type { CloseEvent, Delta, ImageDelta, OpenEvent, ToolResultDelta, WarnEvent } from "../../protocol/event.ts"
import type { ExchangeResponse, Stop } from "../../protocol/exchange.ts"
import type { Segment } from "../../protocol/kinds/transcription.ts"
import type { Usage } from "../../protocol/usage.ts"
import type { ClientApiName, OwnRequest } from "../carry/carried-request.ts"
import type { VendorFrame } from "../carry/vendor-frame.ts"
import type { VendorEvent } from "../chat-dialect.ts"
import type { ExactPlaces } from "../parse/exact-places.ts"
import type { JsonObject } from "../parse/json.ts"
import type { NamedServers } from "../vendor/server-tools.ts"
import { typeOfBlock } from "../vendor/vendor-blocks.ts"
import type { ClientPlaces, FieldRefusal, FieldTable } from "./fields.ts"
import type { LimitHeaders } from "./limit-headers.ts"
import type { SaidByPath } from "./said-by-path.ts"

/** Turns the events of one exchange into the text of its stream. */
export interface EventEncoder {
  readonly open: (data: typeof OpenEvent.Type) => string
  /** @param json a text delta's text in JSON, if it is already encoded */
  readonly delta: (delta: Delta, json?: string) => string
  /**
   * A frame of a vendor with the same API; from the first one on, deltas are not written.
   * @param events with the frame, at a position; its meaning follows it
   */
  readonly frame?: (frame: VendorFrame, events: ReadonlyArray<VendorEvent>, at: number) => string
  /** The result of a call that the gateway made; absent if the API has no form for it. */
  readonly toolResult?: (delta: ToolResultDelta) => string
  /** Words of one speaker. */
  readonly segment?: (segment: Segment) => string
  readonly picture?: (delta: typeof ImageDelta.Type) => string
  /** Text of events, or the bytes themselves. */
  readonly sound?: (bytes: Uint8Array, mime: string) => string | Uint8Array
  readonly warn: (data: WarnEvent) => string
  readonly usage: (data: Usage) => string
  readonly close: (data: typeof CloseEvent.Type) => string
  /** The error as events; empty if a stream of the API has no form for errors: then its connection is closed. */
  readonly error: (data: ErrorBody) => string
  /** `text/event-stream` if absent. */
  readonly contentType?: string
  /** A comment that clients ignore and that bridges silence; empty if the API has none. */
  readonly heartbeat: string
  /** Headers after the stream: their names before it, and their values at its end. */
  readonly trailers?: { readonly names: string; readonly values: () => Readonly<Record<string, string>> }
}

/** The facts in the path of an API's request. */
export interface RequestPlace {
  readonly model: string
  readonly stream: boolean
  /** Whether a stream is one array of JSON. */
  readonly isArray: boolean
  /** Whether only the prompt's tokens are asked for. */
  readonly counts: boolean
  /** The gateway's own addresses, as its clients know them. */
  readonly origins?: ReadonlyArray<string> | undefined
  /** Absent for the API's own paths. */
  readonly said?: SaidByPath | undefined
}

/** A client's request in twp/1. */
export interface ClientRequest {
  /** The fields, to be checked by the schema of twp/1; `meta` is added by the HTTP layer. */
  readonly exchange: JsonObject
  /** The facts that its reply needs. */
  readonly context: Pick<ReplyContext, "model" | "includesUsage" | "groups" | "servers" | "echo" | "features">
  /** The positions of JSON in the body that is forwarded as its text. */
  readonly exact?: ExactPlaces | undefined
  /** The client's names of messages and blocks, for errors. */
  readonly places?: ClientPlaces | undefined
  /** The same request for a vendor of the same API; absent if it is carried to none. */
  readonly own?: OwnRequest | undefined
}

/** The facts of a request that are needed once its exchange has been read. */
export type ClientContext = Omit<ClientRequest, "exchange" | "exact" | "places">

/** Tools that came in groups, by the name that a vendor sees. */
export type ToolGroups = ReadonlyMap<string, GroupedTool>

export interface GroupedTool {
  readonly namespace: string
  readonly name: string
}

export interface ReplyContext {
  readonly requestId: string
  /** The model as the client named it. */
  readonly model: string
  /** When the reply began, in seconds since 1970. */
  readonly createdS: number
  /** The same in milliseconds, where it is known. */
  readonly createdMs?: number
  /** Whether a stream reports its usage in an event of its own. */
  readonly includesUsage: boolean
  readonly groups?: ToolGroups
  /** The gateway's servers of tools; absent if it names none. */
  readonly servers?: NamedServers | undefined
  /** The fields of the request that its reply repeats, as the client sent them. */
  readonly echo?: JsonObject | undefined
  /** Features that its body asks for, where the API has them there. */
  readonly features?: ReadonlyArray<string>
  /** Present if the reply is kept. */
  readonly kept?: KeptNames | undefined
  /** Whether a stream is one array of JSON. */
  readonly isArray?: boolean
}

export interface KeptNames {
  readonly id: string
  readonly previous: string | undefined
  /** Whether it runs without its client. */
  readonly isBackground: boolean
  /** The conversation that it continues. */
  readonly conversation?: string | undefined
}

export interface CarriedApi {
  /** The vendors' dialect that is the same API. */
  readonly dialect: ClientApiName
  /** Fields that are the prompt: they are not read again. */
  readonly prompt: ReadonlyArray<string>
  /** The vendor's whole reply for its client. */
  readonly whole: (context: ReplyContext, json: string) => string
  /** The features in a request's headers or body that are requested from the vendor too. */
  readonly betas?: (headers: Readonly<Record<string, string | undefined>>, body: JsonObject) => ReadonlyArray<string>
}

/** The frames of a stream whose events are written as text first. */
export interface Framing {
  readonly contentType: string
  /** @param text of whole events; empty for comments */
  readonly frames: (text: string) => Uint8Array
}

export interface ClientApi {
  /** The name in documentation, logs and errors. */
  readonly name: string
  /** The form in which its requests reach a vendor of the same API; absent if all are translated. */
  readonly carried?: CarriedApi
  /** The handling of each field of a request. */
  readonly fields: FieldTable
  readonly decode: (body: JsonObject, place: RequestPlace) => Result.Result<ClientRequest, FieldRefusal>
  readonly events: (context: ReplyContext) => EventEncoder
  readonly whole: (context: ReplyContext, response: ExchangeResponse) => object
  readonly error: (error: ErrorBody, status: number, path?: string) => object
  /** The events themselves are its stream if absent. */
  readonly framing?: Framing
  /** Further headers of its errors. */
  readonly headers?: (status: number, code: string) => Readonly<Record<string, string>>
  /**
   * Features that a header or the body asks for and that are not available, for a warning.
   * @param features in the body
   */
  readonly omittedFeatures?: (
    headers: Readonly<Record<string, string | undefined>>,
    isCarried: boolean,
    features?: ReadonlyArray<string>,
  ) => ReadonlyArray<string>
  /** The header in which this API's clients look for a request id. */
  readonly requestIdHeader: string
  /** The headers of its client's rates; OpenAI's if absent. */
  readonly limitHeaders?: LimitHeaders
  /** Fields of twp/1 with this API's names; the first that begins a path counts. */
  readonly fieldNames: ReadonlyArray<readonly [ours: string, theirs: string]>
}

/** The shared part of the streams of other APIs: they do not support warnings, nor usage before the end. */
export abstract class ClientEvents {
  readonly heartbeat: string = ": hb\n\n"

  warn(): string {
    return ""
  }

  usage(): string {
    return ""
  }
}

/** One id over all parts of a reply. */
export const replyId = ({ requestId }: ReplyContext): string => requestId.slice("req_".length)

/** Remarks beside a reply that its API does not support. */
export interface ReplyNotes {
  /** The stop reason of a reply. */
  readonly stop?: Stop
  /** Types of blocks that were left out. */
  readonly blocks_omitted?: ReadonlyArray<string>
}

export const notesOf = (stop: Stop | undefined, omitted: Iterable<string> = []): ReplyNotes => {
  const types = [...new Set(omitted)]
  return { ...(stop !== undefined && { stop }), ...(types.length > 0 && { blocks_omitted: types }) }
}

/** The cost of an exchange, beside the API's own counts. */
export const chargeOf = ({ cost, balance, currency }: Usage, notes: ReplyNotes = {}) => ({
  cost,
  balance,
  currency,
  ...notes,
})

/** The stop reasons that an API does not support. */
export const unnamedStop = (stop: Stop, ...unnamed: ReadonlyArray<Stop>): Stop | undefined =>
  unnamed.includes(stop) ? stop : undefined

/** The notes of a whole reply, whose charge is in headers. */
export const toldIn = (notes: ReplyNotes) => (Object.keys(notes).length === 0 ? {} : { x_svc: notes })

/**
 * The types of a reply's blocks that an API does not support.
 * @param hasWords whether it supports a vendor's block
 */
export const omittedOf = (
  { replies, blocks }: Pick<ExchangeResponse, "replies" | "blocks">,
  hasWords: (block: VendorBlock) => boolean,
): ReadonlyArray<string> =>
  (replies?.flatMap((reply) => reply.blocks) ?? blocks).flatMap((block) =>
    block.t === "vendor" && !hasWords(block) ? [typeOfBlock(block)] : [],
  )
