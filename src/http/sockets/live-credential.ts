/**
 * The credential of Google's sockets. Browsers cannot send headers, and Google's clients put it into the query: the gateway logs
 * no query.
 */
import type { Sealer } from "../../store/seal.ts"
import type { RuntimeRequest } from "../caller-request.ts"
import { withCredential } from "../compatible/credential.ts"
import { isLiveToken, type LiveToken, openLiveToken } from "../compatible/live-token.ts"

export interface LiveCredential {
  /** The request with its credential in the headers of twp/1. */
  readonly request: RuntimeRequest
  /** The token that it is; undefined if it is a key. */
  readonly token: LiveToken | undefined
}

export const liveCredential = (request: RuntimeRequest, sealer: Sealer): LiveCredential => {
  const { headers, url } = request
  const query = new URL(url, "http://gateway").searchParams
  const [, inHeader] = headers["authorization"]?.split(" ") ?? []
  const sent = [query.get("access_token"), query.get("key"), headers["x-goog-api-key"], inHeader]
  const sealed = sent.find((value) => value !== undefined && value !== null && isLiveToken(value))
  const token = typeof sealed === "string" ? openLiveToken(sealer, sealed) : undefined
  if (token !== undefined) {
    const { authorization: _authorization, "x-goog-api-key": _key, ...others } = headers
    return { request: { ...request, headers: { ...others, "x-svc-app-token": token.token } }, token }
  }
  const access = query.get("access_token")
  if (access === null || headers["authorization"] !== undefined) return { request: withCredential(request), token }
  return { request: withCredential({ ...request, headers: { ...headers, authorization: `Bearer ${access}` } }), token }
}
