/**
 * The reply to a caller's request id, as the settlement stores it: compressed and sealed. It is stored as the text around the
 * balance, because only the settlement knows the balance.
 */
import { Option, Schema } from "effect"
import { compress, decompress } from "../../files/zstd.ts"
import type { Sealer } from "../../store/seal.ts"
import { type FinishedReply, type ReplyText, textOfFinished } from "./reply-body.ts"

/** The maximum size of a reply that is stored. */
export const maxKeptBytes = 256 * 1024

/** The request that a reply is stored for. */
export interface ReplayScope {
  readonly owner: string
  /** The gateway's request id of the call that was billed. */
  readonly ref: string
}

const HeadJson = Schema.fromJsonString(
  Schema.Tuple([Schema.String, Schema.Int, Schema.Record(Schema.String, Schema.String)]),
)
const encodeHead = Schema.encodeSync(HeadJson)
const decodeHead = Schema.decodeUnknownOption(HeadJson)

/**
 * Lines: payload hash, status and headers as JSON; then the parts of the body, in which JSON has no line breaks.
 * @returns base64; undefined if the reply is too large to be kept
 */
export const sealReply = <Body extends object>(
  sealer: Sealer,
  keptFor: ReplayScope,
  payloadHash: string,
  reply: FinishedReply<Body>,
): string | undefined => {
  const { status, headers, parts } = textOfFinished(reply)
  if (parts.reduce((bytes, part) => bytes + Buffer.byteLength(part), 0) > maxKeptBytes) return undefined
  const text = [encodeHead([payloadHash, status, headers]), ...parts].join("\n")
  return sealer.sealBytes(compress(text), contextOf(keptFor)).toString("base64")
}

/** Undefined if the reply was sealed with another key. */
export const openReply = (
  sealer: Sealer,
  keptFor: ReplayScope,
  sealed: string,
): { readonly payloadHash: string; readonly reply: ReplyText } | undefined => {
  const opened = sealer.openBytes(Buffer.from(sealed, "base64"), contextOf(keptFor))
  if (opened === undefined) return undefined
  const [head, ...parts] = decompress(opened).split("\n")
  const fields = Option.getOrUndefined(decodeHead(head))
  if (fields === undefined) return undefined
  const [payloadHash, status, headers] = fields
  return { payloadHash, reply: { status, headers, parts } }
}

const contextOf = ({ owner, ref }: ReplayScope): string => `reply ${owner} ${ref}`
