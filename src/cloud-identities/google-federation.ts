/**
 * Workload identity federation with Google's cloud: a token from a file or an address, or an identity at AWS, is exchanged
 * for one of Google. Source: https://google.aip.dev/auth/4117
 */
import { Schema } from "effect"

const optional = Schema.optionalKey

const federation = {
  type: Schema.Literal("external_account"),
  audience: Schema.NonEmptyString,
  subject_token_type: Schema.NonEmptyString,
  token_url: optional(Schema.String),
  service_account_impersonation_url: optional(Schema.String),
  universe_domain: optional(Schema.String),
  quota_project_id: optional(Schema.String),
  workforce_pool_user_project: optional(Schema.String),
}

const TokenFederation = Schema.Struct({
  ...federation,
  credential_source: Schema.Struct({
    file: optional(Schema.String),
    url: optional(Schema.String),
    headers: optional(Schema.Record(Schema.String, Schema.String)),
    format: optional(
      Schema.Struct({
        type: Schema.Literals(["text", "json"]),
        subject_token_field_name: optional(Schema.String),
      }),
    ),
  }),
})
export type TokenFederation = typeof TokenFederation.Type

/** A federation in which an identity at AWS is exchanged for one of Google. */
const AwsFederation = Schema.Struct({
  ...federation,
  credential_source: Schema.Struct({
    environment_id: Schema.NonEmptyString,
    regional_cred_verification_url: Schema.NonEmptyString,
    region_url: optional(Schema.String),
    url: optional(Schema.String),
    imdsv2_session_token_url: optional(Schema.String),
  }),
})
export type AwsFederation = typeof AwsFederation.Type

export const isAwsFederation = Schema.is(AwsFederation)
export const isTokenFederation = Schema.is(TokenFederation)
