/** The place of the files that clients keep here. */
import { Schema } from "effect"
import { Export } from "./export.ts"
import { network } from "./network.ts"

/** The longest file, and all files of an organisation, in bytes, if the catalogue does not say so. */
export const mostFileBytes = 512 * 1024 * 1024
export const mostOrgBytes = 100 * 1024 * 1024 * 1024

/** A limit in bytes. */
export const Bytes = Schema.Int.check(
  Schema.isBetween({ minimum: 1, maximum: 2 ** 50 }, { expected: "a number of bytes, at most 2^50" }),
)

export const Files = Schema.Struct({
  /** The bucket or folder: `s3://bucket/prefix`, `gs://…`, `az://ACCOUNT/CONTAINER/…` or `file:///folder`. */
  to: Export.fields.to,
  /** The region of an S3 bucket. */
  region: Export.fields.region,
  /** The address of the bucket's service, if it is not AWS, Google or Azure. */
  endpoint: Export.fields.endpoint,
  /** The credentials, as those of an export. */
  credentials: Export.fields.credentials,
  /** The most bytes of one file; 512 MiB if absent. */
  fileBytes: Schema.optionalKey(Bytes),
  /** The most bytes of all files of one organisation; 100 GiB if absent. */
  orgBytes: Schema.optionalKey(Bytes),
  ...network,
})
export type Files = typeof Files.Type
