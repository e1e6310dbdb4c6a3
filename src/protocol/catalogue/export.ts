/** Exports of records to files. */
import { Schema } from "effect"
import { ExportFormat, ExportRecords, ExportTarget } from "../control/export.ts"
import { Millis } from "../values/duration.ts"
import { network } from "./network.ts"
import { HttpUrl, Id, SecretRef } from "./values.ts"
import { AwsAccess, AzureAccess, MachineIdentity } from "./vendor.ts"

/** Access keys at AWS, with or without a role; a role, for what the machine has; an application of Microsoft Entra. */
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

/** Where records are written in files, and how often. */
export const Export = Schema.Struct({
  id: Id,
  to: ExportTarget,
  /** Of an S3 bucket. */
  region: Schema.optionalKey(AwsAccess.fields.region),
  /** Where the bucket is, if not at AWS, Google or Azure. */
  endpoint: Schema.optionalKey(HttpUrl),
  /** What the machine has, keys, or the JSON of a service account at Google. */
  credentials: Schema.optionalKey(Schema.Union([MachineIdentity, SecretRef, ExportKeys])),
  format: ExportFormat,
  /** `usage` if absent. */
  records: Schema.optionalKey(Schema.Array(ExportRecords).check(Schema.isMinLength(1), Schema.isUnique())),
  every: Millis.check(
    Schema.isBetween({ minimum: 1000, maximum: 86_400_000 }, { expected: "a duration from 1s to 24h" }),
  ),
  /** Folders for organisations in an hour, by the hash of their ids; 16 if absent. */
  buckets: Schema.optionalKey(Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 256 }))),
  ...network,
})
export type Export = typeof Export.Type
