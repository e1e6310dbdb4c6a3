/** The credential of a compatible route: one string, where each API's clients put theirs. */
import { awsSignatureIn } from "../../identity/aws-signature.ts"
import type { RuntimeRequest } from "../caller-request.ts"

/** Between the id and the secret of an application's key; ids do not contain it. */
const separator = "~"

/** The request with its credential in the headers of twp/1. */
export const withCredential = <R extends RuntimeRequest>(request: R): R => {
  const { headers } = request
  if (headers["x-svc-key-id"] !== undefined || headers["x-svc-app-token"] !== undefined) return request
  const aws = awsSignatureIn(headers, request.url)
  if (aws !== undefined) return { ...request, headers: { ...headers, "x-svc-key-id": aws.keyId } }
  const credential = credentialOf(request)
  if (credential === undefined) return request
  return { ...request, headers: { ...headers, ...headersOf(credential) } }
}

const credentialOf = ({ headers, url }: RuntimeRequest): string | undefined => {
  const [scheme = "", token] = headers["authorization"]?.split(" ") ?? []
  if (scheme.toLowerCase() === "bearer" && token !== undefined) return token
  return (
    headers["x-api-key"] ??
    headers["x-goog-api-key"] ??
    headers["api-key"] ??
    // Only Gemini's clients have it there: elsewhere it would make every reply a link that anybody can follow.
    (url.startsWith("/gemini/") ? new URL(url, "http://gateway").searchParams.get("key") : undefined) ??
    undefined
  )
}

const headersOf = (credential: string): RuntimeRequest["headers"] => {
  const at = credential.indexOf(separator)
  if (at !== -1) return { "x-svc-key-id": credential.slice(0, at), "x-svc-key": credential.slice(at + 1) }
  return isEndUserToken(credential) ? { "x-svc-app-token": credential } : { authorization: `Bearer ${credential}` }
}

/** End-user tokens are the only JWTs among credentials of runtime routes; they are verified where they are used. */
const isEndUserToken = (credential: string): boolean => /^[\w-]+\.[\w-]+\.[\w-]+$/.test(credential)
