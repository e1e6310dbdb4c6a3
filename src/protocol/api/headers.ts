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

const period = {
  from: header("A date or an instant; a day ago if absent"),
  to: header("A date or an instant; now if absent"),
}

/** What a summary of usage is about. */
export const summaryQuery = {
  ...period,
  by: header("What the groups are: `model` (if absent), `org`, `app`, `key`, `vendor`, `purpose` or `stop`"),
  app: header("Only of this application"),
  key: header("Only of this key or token"),
  model: header("Only of this model"),
  vendor: header("Only of this vendor"),
  purpose: header("Only with this purpose"),
  stop: header("Only with this stop reason"),
}

/** What narrows a list of exchanges. */
export const exchangeQuery = {
  ...period,
  app: summaryQuery.app,
  key: summaryQuery.key,
  model: summaryQuery.model,
  vendor: summaryQuery.vendor,
  purpose: summaryQuery.purpose,
  stop: summaryQuery.stop,
  code: header("Only with this error code"),
  estimated: header("`true` or `false`: whether the usage was estimated"),
  session: header("Only of this session"),
  request: header("Only with this request id, the service's or the caller's"),
}

/** What narrows a list of audit entries. */
export const auditQuery = {
  action: header("The beginning of an action's name, e.g. `key.`"),
  actor: header("The id of who did it"),
}
