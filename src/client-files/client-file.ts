/** A file that a client keeps here, and its row: its name and type are sealed. */
import { Schema } from "effect"
import type { Sealer } from "../store/seal.ts"
import type { StoredFile } from "./file-parts.ts"

/** A file that a client keeps here. */
export interface ClientFile extends StoredFile {
  readonly bytes: number
  /** The purpose that its client named. */
  readonly purpose: string
  readonly name: string
  readonly mime: string
  /** The place of a part in its upload, in bytes. */
  readonly offset?: number | undefined
  /** The copy that a vendor keeps of a file; this is the record of it. */
  readonly copy?: VendorCopy | undefined
  /** The file that an upload makes. */
  readonly makes?: typeof MadeFile.Type | undefined
  readonly createdAt: Date
  /** Undefined if it is kept until it is erased. */
  readonly eraseAt: Date | undefined
}

/** The file that an upload makes: its length and purpose, and the time for which it is kept. */
export const MadeFile = Schema.Struct({
  bytes: Schema.optionalKey(Schema.Finite),
  purpose: Schema.String,
  keptMs: Schema.optionalKey(Schema.Finite),
})

/** A copy of a file at a vendor. */
export const VendorCopy = Schema.Struct({
  vendor: Schema.String,
  /** The hash of the vendor's address and credential: another credential sees other files. */
  place: Schema.String,
  /** The id or address by which requests name it there. */
  reference: Schema.String,
})
export type VendorCopy = typeof VendorCopy.Type

/** The purpose of the records of a file's copies. */
export const copiesOf = (id: string): string => `.vendor:${id}`

export interface NewFile extends Pick<ClientFile, "bytes" | "purpose" | "name" | "mime" | "offset" | "makes" | "copy"> {
  readonly id: string
  /** The time for which it is kept, in milliseconds. */
  readonly keptMs: number | undefined
}

const Facts = Schema.fromJsonString(
  Schema.Struct({
    name: Schema.String,
    mime: Schema.String,
    offset: Schema.optionalKey(Schema.Finite),
    makes: Schema.optionalKey(MadeFile),
    copy: Schema.optionalKey(VendorCopy),
  }),
)
const encodeFacts = Schema.encodeSync(Facts)
const decodeFacts = Schema.decodeSync(Facts)

const Row = Schema.Struct({
  id: Schema.String,
  bytes: Schema.Finite,
  purpose: Schema.String,
  parts: Schema.Int,
  created_at: Schema.Date,
  erase_at: Schema.NullOr(Schema.Date),
  facts: Schema.Uint8Array,
})
export const readRows = Schema.decodeUnknownSync(Schema.Array(Row))

/** @param reported reports a content that cannot be opened */
export const makeFileOf = (
  sealer: Sealer,
  reported: (content: string | undefined, id: string) => string | undefined,
) => {
  const contextOf = (orgId: string, id: string) => `client file facts ${orgId} ${id}`
  return {
    sealFacts: (orgId: string, { id, name, mime, offset, makes, copy }: NewFile) => {
      const more = {
        ...(offset !== undefined && { offset }),
        ...(makes !== undefined && { makes }),
        ...(copy !== undefined && { copy }),
      }
      return sealer.sealBytes(Buffer.from(encodeFacts({ name, mime, ...more })), contextOf(orgId, id))
    },
    /** None if it was sealed with another key. */
    fileOf: (orgId: string, row: typeof Row.Type): ReadonlyArray<ClientFile> => {
      const opened = reported(sealer.openBytes(row.facts, contextOf(orgId, row.id))?.toString("utf8"), row.id)
      if (opened === undefined) return []
      const { id, bytes, purpose, parts, created_at: createdAt, erase_at: eraseAt } = row
      return [{ orgId, id, bytes, purpose, parts, createdAt, eraseAt: eraseAt ?? undefined, ...decodeFacts(opened) }]
    },
  }
}
