/**
 * An organisation's own credential for a vendor: a key, or an identity at a cloud. The machine's credentials, and files and
 * addresses near it, are the operator's alone.
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
  /** The session token of keys that are valid for a limited time. */
  sessionToken: Schema.optionalKey(printable(4096)),
})

/** The JSON of a service account; its `token_uri` must be HTTPS, and public. */
export const OwnGoogleAccount = Schema.Struct({ credentials: Schema.String.check(Schema.isMaxLength(16_384)) })

export const OwnAzureClient = Schema.Struct({
  tenantId: Schema.String.check(Schema.isPattern(/^[A-Za-z0-9][A-Za-z0-9.-]{0,127}$/, { expected: "a tenant" })),
  clientId: printable(128),
  clientSecret: printable(1024),
})

/** Exactly one of the identities. */
export const OwnIdentity = Schema.Union([
  Schema.Struct({ aws: OwnAwsKeys }),
  Schema.Struct({ google: OwnGoogleAccount }),
  Schema.Struct({ azure: OwnAzureClient }),
])
export type OwnIdentity = typeof OwnIdentity.Type
