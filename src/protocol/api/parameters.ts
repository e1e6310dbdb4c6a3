/** Parameters that several routes have: headers that carry credentials, and queries that narrow lists. */
import { Schema } from "effect"
import { StoredText } from "../values/text.ts"

/** A header or a member of a query: text that a store can hold, which the handler reads. */
export const requiredParameter = (description: string) => StoredText.annotate({ description })

/** A parameter that may be absent. */
export const parameter = (description: string) => Schema.optionalKey(requiredParameter(description))

/**
 * Headers of routes for application key pairs. Optional in the schema, because authentication reports what is missing.
 */
export const appHeaders = {
  "x-svc-key-id": parameter("The application key's id; required"),
  "x-svc-key": parameter("The application key's secret; required"),
  "x-svc-ts": parameter("Request signature: unix seconds, at most 300 from the server's clock"),
  "x-svc-nonce": parameter("Request signature: 16 to 128 characters, new within 600 seconds"),
  "x-svc-sign": parameter("Request signature: 64 lowercase hexadecimal characters; all three or none"),
}

/** Headers of runtime routes, for applications, end users and people. */
export const callerHeaders = {
  ...appHeaders,
  "x-svc-key-id": parameter("The application key's id; with `x-svc-key`"),
  "x-svc-key": parameter("The application key's secret"),
  "x-svc-app-token": parameter("An end-user token, instead of the key pair"),
  authorization: parameter("`Bearer` and a device key or a personal access token, instead of the key pair"),
}

export const featureHeaders = {
  ...callerHeaders,
  "x-svc-client-features": parameter("`platform-audio`; has an effect on the end-user path only"),
}

export const bearerHeaders = {
  authorization: parameter("`Bearer` and a token with the scope `control`; required"),
  "x-svc-org": parameter("The organisation's id; required for members of several organisations"),
}

/** The page of a list. */
export const pageQuery = {
  limit: parameter("1 to 200, 50 if absent"),
  cursor: parameter("The `nextCursor` of the previous page"),
}

/** The filters of a list of tenants. */
export const searchQuery = {
  search: parameter("The beginning of an id, a name or an address"),
  status: parameter("`active`, `disabled` or `closed`"),
}

export const ifMatch = { "if-match": parameter("The revision on which the change is based") }

export const adminHeaders = { "x-svc-admin-key": parameter("The admin key; required") }

const period = {
  from: parameter("A date or an instant; a day ago if absent"),
  to: parameter("A date or an instant; now if absent"),
}

/** The filters and groups of a summary of usage. */
export const summaryQuery = {
  ...period,
  by: parameter(
    "The groups: `model` (if absent), `org`, `app`, `key`, `vendor`, `purpose`, `stop`, or a tag such as `tag:feature`",
  ),
  tags: parameter("Only with these tags, e.g. `feature=rank,team=search`"),
  app: parameter("Only of this application"),
  key: parameter("Only of this key or token"),
  model: parameter("Only of this model"),
  vendor: parameter("Only of this vendor"),
  purpose: parameter("Only with this purpose"),
  stop: parameter("Only with this stop reason"),
}

/** The filters of a list of exchanges. */
export const exchangeQuery = {
  ...period,
  app: summaryQuery.app,
  key: summaryQuery.key,
  model: summaryQuery.model,
  vendor: summaryQuery.vendor,
  purpose: summaryQuery.purpose,
  stop: summaryQuery.stop,
  tags: summaryQuery.tags,
  code: parameter("Only with this error code"),
  estimated: parameter("`true` or `false`: whether the usage was estimated"),
  session: parameter("Only of this session"),
  request: parameter("Only with this request id, the service's or the caller's"),
}

/** The filters of a list of audit entries. */
export const auditQuery = {
  action: parameter("The beginning of an action's name, e.g. `key.`"),
  actor: parameter("The id of the actor"),
}
