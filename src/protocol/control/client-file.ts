/** Files of clients as operators see them: whose they are and how large, without their names and content. */
import { Schema } from "effect"
import { ownerFields } from "./owner.ts"

export const ClientFileEntry = Schema.Struct({
  id: Schema.String,
  createdAt: Schema.String,
  purpose: Schema.String,
  bytes: Schema.Finite,
  ...ownerFields,
  /** Absent if it is kept until it is erased. */
  eraseAt: Schema.optionalKey(Schema.String),
}).annotate({ identifier: "ClientFileEntry" })
export type ClientFileEntry = typeof ClientFileEntry.Type

export const ClientFileList = Schema.Struct({
  data: Schema.Array(ClientFileEntry),
  /** Null on the last page. */
  nextCursor: Schema.NullOr(Schema.String),
}).annotate({ identifier: "ClientFileList" })
export type ClientFileList = typeof ClientFileList.Type

/** The number of files that were erased. */
export const ErasedFiles = Schema.Struct({ erased: Schema.Int }).annotate({ identifier: "ErasedFiles" })
export type ErasedFiles = typeof ErasedFiles.Type
