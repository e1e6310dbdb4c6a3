/**
 * What an organisation brings to call a vendor by itself: a key, or an identity at a cloud. What the gateway's machine
 * has, and files and addresses near it, are the operator's alone.
 */
import { Schema } from "effect"

const printable = (most: number) =>
  Schema.String.check(
    Schema.isPattern(new RegExp(`^[\\x21-\\x7e]{1,${most}}$`), {
      expected: `1 to ${most} printable ASCII characters without spaces`,
    }),
  )

/** It is sent in a header. */
export const OwnKey = printable(4096)

export const OwnAwsKeys = Schema.Struct({
  accessKeyId: printable(128),
  secretAccessKey: printable(256),
  /** Of keys for a limited time. */
  sessionToken: Schema.optionalKey(printable(4096)),
})

/** The JSON of a service account; its `token_uri` must be HTTPS, and public. */
export const OwnGoogleAccount = Schema.Struct({ credentials: Schema.String.check(Schema.isMaxLength(16_384)) })

export const OwnAzureClient = Schema.Struct({
  tenantId: Schema.String.check(Schema.isPattern(/^[A-Za-z0-9][A-Za-z0-9.-]{0,127}$/, { expected: "a tenant" })),
  clientId: printable(128),
  clientSecret: printable(1024),
})

/** One of them. */
export const OwnIdentity = Schema.Union([
  Schema.Struct({ aws: OwnAwsKeys }),
  Schema.Struct({ google: OwnGoogleAccount }),
  Schema.Struct({ azure: OwnAzureClient }),
])
export type OwnIdentity = typeof OwnIdentity.Type
