/** Personal access tokens, and tokens of organisations. */
import { Schema } from "effect"
import { KeyScope } from "../catalogue/tenant.ts"
import { storedName } from "../values/text.ts"

const Name = storedName(64)
const Owner = Schema.Literals(["person", "org"])

export const AccessTokenRequest = Schema.Struct({
  /** The purpose of the token, as its creator describes it. */
  name: Name,
  scopes: Schema.NonEmptyArray(KeyScope),
  /** `person` if absent; owners and admins may create tokens of the organisation, with their own role. */
  owner: Schema.optionalKey(Owner),
  /** 1 to 366; if absent, the token does not expire. */
  expiresInDays: Schema.optionalKey(Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 366 }))),
}).annotate({ identifier: "AccessTokenRequest" })
export type AccessTokenRequest = typeof AccessTokenRequest.Type

const fields = {
  id: Schema.String,
  name: Schema.String,
  owner: Owner,
  scopes: Schema.Array(Schema.String),
  createdAt: Schema.String,
  expiresAt: Schema.optionalKey(Schema.String),
}

export const AccessToken = Schema.Struct(fields).annotate({ identifier: "AccessToken" })
export type AccessToken = typeof AccessToken.Type

/** The secret is returned once. */
export const AccessTokenMinted = Schema.Struct({ ...fields, secret: Schema.String }).annotate({
  identifier: "AccessTokenMinted",
})
export type AccessTokenMinted = typeof AccessTokenMinted.Type

export const AccessTokenList = Schema.Struct({ data: Schema.Array(AccessToken) }).annotate({
  identifier: "AccessTokenList",
})
export type AccessTokenList = typeof AccessTokenList.Type
