/** A response that is kept: the items that its request added to the thread, and the reply, compressed and sealed. */
import { Option, Schema } from "effect"
import { compress, decompressAtMost } from "../files/zstd.ts"
import type { Caller } from "../identity/caller.ts"
import type { KeptFacts } from "../money/settlement.ts"
import type { Sealer } from "../store/seal.ts"

/** The owner of a response; an absent part is empty. Others do not learn that it exists. */
export interface KeptOwner {
  readonly app: string
  readonly person: string
  readonly endUser: string
}

export const ownerOf = ({ app, person, endUserId }: Caller): KeptOwner => ({
  app: app?.id ?? "",
  person: person?.id ?? "",
  endUser: endUserId ?? "",
})

/** Texts of JSON in the form of the API that made them. */
export interface KeptContent {
  /** The API that made it; OpenAI's Responses if absent. */
  readonly api?: "twp/1" | undefined
  /** The items of the request, without those of the responses that it continues. */
  readonly input: ReadonlyArray<string>
  readonly response: string
}

/** The API, and the lengths of the response and of each item of the input, whose texts follow in this order. */
const HeadJson = Schema.fromJsonString(
  Schema.Struct({
    api: Schema.optional(Schema.Literal("twp/1")),
    response: Schema.Int,
    input: Schema.Array(Schema.Int),
  }),
)
const decodeHead = Schema.decodeUnknownOption(HeadJson)

/** A line and the texts as they are: quoting them in JSON took most of the time. */
const encode = ({ api, input, response }: KeptContent): string => {
  const head = JSON.stringify({ api, response: response.length, input: input.map(({ length }) => length) })
  return `${head}\n${response}${input.join("")}`
}

const decode = (text: string): KeptContent | undefined => {
  const end = text.indexOf("\n")
  const head = Option.getOrUndefined(decodeHead(text.slice(0, end)))
  if (head === undefined) return undefined
  let at = end + 1
  const next = (length: number): string => {
    at += length
    return text.slice(at - length, at)
  }
  const response = next(head.response)
  return { api: head.api, response, input: head.input.map(next) }
}

/** The organisation and the id: content of another entry cannot be opened in its place. */
const contextOf = (orgId: string, id: string): string => `response ${orgId} ${id}`

/** Facts of a response before its content is sealed. */
export interface Keeping extends Omit<KeptFacts, "sealed"> {
  readonly orgId: string
}

/** The hash of a request that may be repeated: unsealed, it would confirm a guess of its text. */
const hashContext = (orgId: string, id: string): string => `response request ${orgId} ${id}`

export const sealHash = (sealer: Sealer, orgId: string, id: string, hash: string): string =>
  sealer.sealBytes(Buffer.from(hash), hashContext(orgId, id)).toString("base64")

/** Undefined if it was sealed with another key. */
export const openHash = (sealer: Sealer, orgId: string, id: string, sealed: Uint8Array): string | undefined =>
  sealer.openBytes(sealed, hashContext(orgId, id))?.toString()

/** A request as its client sent it, without its credential. */
const RequestJson = Schema.fromJsonString(
  Schema.Struct({ headers: Schema.Record(Schema.String, Schema.String), body: Schema.String }),
)
export type KeptRequest = (typeof RequestJson)["Type"]
const encodeRequest = Schema.encodeSync(RequestJson)
const decodeRequest = Schema.decodeUnknownOption(RequestJson)

const requestContext = (orgId: string, id: string): string => `response again ${orgId} ${id}`

/** @returns base64 */
export const sealRequest = (sealer: Sealer, orgId: string, id: string, request: KeptRequest): string =>
  sealer.sealBytes(compress(encodeRequest(request)), requestContext(orgId, id)).toString("base64")

/** Undefined if it was sealed with another key. */
export const openRequest = (
  sealer: Sealer,
  orgId: string,
  { id, sealed }: { readonly id: string; readonly sealed: Uint8Array },
  mostBytes: number,
): KeptRequest | undefined => {
  const opened = sealer.openBytes(sealed, requestContext(orgId, id))
  const text = opened && decompressAtMost(opened, mostBytes)
  return text === undefined ? undefined : Option.getOrUndefined(decodeRequest(text))
}

const WorkJson = Schema.fromJsonString(Schema.Struct({ target: Schema.String, id: Schema.String }))
export type KeptWork = (typeof WorkJson)["Type"]
const encodeWork = Schema.encodeSync(WorkJson)
const decodeWork = Schema.decodeUnknownOption(WorkJson)

const workContext = (orgId: string, id: string): string => `response work ${orgId} ${id}`

export const sealWork = (sealer: Sealer, orgId: string, id: string, work: KeptWork): Buffer =>
  sealer.sealBytes(Buffer.from(encodeWork(work)), workContext(orgId, id))

/** Undefined if it was sealed with another key. */
export const openWork = (sealer: Sealer, orgId: string, id: string, sealed: Uint8Array): KeptWork | undefined => {
  const opened = sealer.openBytes(sealed, workContext(orgId, id))
  return opened === undefined ? undefined : Option.getOrUndefined(decodeWork(opened.toString("utf8")))
}

export const sealContent = (sealer: Sealer, orgId: string, id: string, content: KeptContent): Buffer =>
  sealer.sealBytes(compress(encode(content)), contextOf(orgId, id))

export const sealResponse = (sealer: Sealer, { orgId, ...facts }: Keeping, content: KeptContent): KeptFacts => ({
  ...facts,
  sealed: sealContent(sealer, orgId, facts.id, content).toString("base64"),
})

/**
 * Undefined if it was sealed with another key, or is larger than so many bytes.
 * @param mostBytes the largest content
 */
export const openResponse = (
  sealer: Sealer,
  orgId: string,
  { id, content }: { readonly id: string; readonly content: Uint8Array },
  mostBytes: number,
): KeptContent | undefined => {
  const opened = sealer.openBytes(content, contextOf(orgId, id))
  const text = opened && decompressAtMost(opened, mostBytes)
  return text === undefined ? undefined : decode(text)
}
