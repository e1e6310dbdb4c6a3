/** A stored reply: facts and lines, compressed and sealed for its key. */
import { Option, Schema } from "effect"
import { compress, decompress } from "../files/zstd.ts"
import type { Sealer } from "../store/seal.ts"
import type { ReplyFacts } from "./flights.ts"
import type { CachePlace } from "./store.ts"

/** Larger replies are not kept. */
const maxSealedBytes = 256 * 1024

export interface KeptLines {
  readonly facts: ReplyFacts
  /** Each is JSON, which has no line breaks. */
  readonly lines: ReadonlyArray<string>
}

const FactsJson = Schema.fromJsonString(
  Schema.Struct({
    isOwn: Schema.Boolean,
    counts: Schema.Struct({
      inTokens: Schema.Int,
      outTokens: Schema.Int,
      cacheReadTokens: Schema.Int,
      cacheWriteTokens: Schema.Int,
      dims: Schema.Record(Schema.String, Schema.Finite),
    }),
  }),
)
const readFacts = Schema.decodeUnknownOption(FactsJson)

const contextOf = ({ owner, key }: CachePlace): string => `cached ${owner} ${key}`

/** Undefined if it is too large to be kept. */
export const sealLines = (sealer: Sealer, place: CachePlace, { facts, lines }: KeptLines): Buffer | undefined => {
  const sealed = sealer.sealBytes(compress([JSON.stringify(facts), ...lines].join("\n")), contextOf(place))
  return sealed.length > maxSealedBytes ? undefined : sealed
}

/** Undefined if it was sealed with another key, or for another place. */
export const openLines = (sealer: Sealer, place: CachePlace, sealed: Buffer): KeptLines | undefined => {
  const opened = sealer.openBytes(sealed, contextOf(place))
  if (opened === undefined) return undefined
  const [head, ...lines] = decompress(opened).split("\n")
  const facts = Option.getOrUndefined(readFacts(head))
  return facts && { facts, lines }
}
