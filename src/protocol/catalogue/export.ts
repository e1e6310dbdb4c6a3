/** Exports of records to files. */
import { Schema } from "effect"
import { ExportFormat, ExportRecords, ExportTarget } from "../control/export.ts"
import { Millis } from "../values/duration.ts"
import { network } from "./network.ts"
import { HttpUrl, Id, SecretRef } from "./values.ts"
import { AwsAccess, AzureAccess, MachineIdentity } from "./vendor.ts"

/** Access keys at AWS, with or without a role; a role for the machine's credentials; an application of Microsoft Entra. */
const ExportKeys = Schema.Struct({
  accessKeyId: Schema.optionalKey(SecretRef),
  secretAccessKey: Schema.optionalKey(SecretRef),
  sessionToken: AwsAccess.fields.sessionToken,
  assumeRole: AwsAccess.fields.assumeRole,
  externalId: AwsAccess.fields.externalId,
  tenantId: AzureAccess.fields.tenantId,
  clientId: AzureAccess.fields.clientId,
  clientSecret: AzureAccess.fields.clientSecret,
  authorityHost: AzureAccess.fields.authorityHost,
})

/** The place where records are written in files, and the interval. */
export const Export = Schema.Struct({
  id: Id,
  /** The bucket or folder: `s3://bucket/prefix`, `gs://…`, `https://ACCOUNT.blob.core.windows.net/…` or a path. */
  to: ExportTarget,
  /** The region of an S3 bucket. */
  region: Schema.optionalKey(AwsAccess.fields.region),
  /** The address of the bucket's service, if it is not AWS, Google or Azure. */
  endpoint: Schema.optionalKey(HttpUrl),
  /** The credentials: those of the machine, keys, or the JSON of a service account at Google. */
  credentials: Schema.optionalKey(Schema.Union([MachineIdentity, SecretRef, ExportKeys])),
  /** The format of the files. */
  format: ExportFormat,
  /** `usage` if absent. */
  records: Schema.optionalKey(Schema.Array(ExportRecords).check(Schema.isMinLength(1), Schema.isUnique())),
  /** The interval of files. */
  every: Millis.check(
    Schema.isBetween({ minimum: 1000, maximum: 86_400_000 }, { expected: "a duration from 1s to 24h" }),
  ),
  /** The number of folders for organisations in an hour, by the hash of their ids; 16 if absent. */
  buckets: Schema.optionalKey(Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 256 }))),
  ...network,
})
export type Export = typeof Export.Type
