/** Headers that carry credentials. */
import { Schema } from "effect"

export const header = (description: string) => Schema.optionalKey(Schema.String.annotate({ description }))

/**
 * Headers of routes for application key pairs. Optional in the schema, because authentication reports what is missing.
 */
export const appHeaders = {
  "x-svc-key-id": header("The application key's id; required"),
  "x-svc-key": header("The application key's secret; required"),
  "x-svc-ts": header("Request signature: unix seconds, at most 300 from the server's clock"),
  "x-svc-nonce": header("Request signature: 16 to 128 characters, new within 600 seconds"),
  "x-svc-sign": header("Request signature: 64 lowercase hexadecimal characters; all three or none"),
}

/** Headers of runtime routes, for applications, end users and people. */
export const callerHeaders = {
  ...appHeaders,
  "x-svc-key-id": header("The application key's id; with `x-svc-key`"),
  "x-svc-key": header("The application key's secret"),
  "x-svc-app-token": header("An end-user token, instead of the key pair"),
  authorization: header("`Bearer` and a device key or a personal access token, instead of the key pair"),
}

export const featureHeaders = {
  ...callerHeaders,
  "x-svc-client-features": header("`platform-audio`; has an effect on the end-user path only"),
}

export const bearerHeaders = {
  authorization: header("`Bearer` and a token with the scope `control`; required"),
  "x-svc-org": header("The organisation's id; required for members of several organisations"),
}

/** The page of a list. */
export const pageQuery = {
  limit: header("1 to 200, 50 if absent"),
  cursor: header("The `nextCursor` of the previous page"),
}

/** What narrows a list of tenants. */
export const searchQuery = {
  search: header("The beginning of an id, a name or an address"),
  status: header("`active`, `disabled` or `closed`"),
}

export const ifMatch = { "if-match": header("The revision on which the change is based") }

export const adminHeaders = { "x-svc-admin-key": header("The admin key; required") }
