/** The challenge of a server that refuses a request: RFC 9110 section 11.6.1, RFC 6750 section 3, RFC 9728 section 5.1. Pure. */

export interface Challenge {
  /** The address of the metadata of the resource. */
  readonly resourceMetadata: string | undefined
  /** The scopes that the request needs; undefined if the server does not say. */
  readonly scopes: ReadonlyArray<string> | undefined
  readonly error: string | undefined
}

const noChallenge: Challenge = { resourceMetadata: undefined, scopes: undefined, error: undefined }

/** The longest header that is read. */
const mostLength = 8192

const part = /[\s,]*([!#$%&'*+.^_`|~\w-]+)(?:[ \t]*=[ \t]*(?:"((?:[^"\\]|\\.)*)"|([^\s,"]*)))?/gy

/** @returns the first challenge of the scheme `Bearer` */
export const readChallenge = (header: string | undefined): Challenge => {
  if (header === undefined || header.length > mostLength) return noChallenge
  const found = new Map<string, string>()
  let scheme = ""
  let isRead = false
  for (const [, name = "", quoted, plain] of header.matchAll(part)) {
    const value = quoted?.replace(/\\(.)/g, "$1") ?? plain
    if (value === undefined) {
      if (isRead) break
      scheme = name.toLowerCase()
      isRead = scheme === "bearer"
    } else if (isRead && !found.has(name.toLowerCase())) found.set(name.toLowerCase(), value)
  }
  const scope = found.get("scope")
  return {
    resourceMetadata: found.get("resource_metadata"),
    scopes: scope === undefined ? undefined : scopesIn(scope),
    error: found.get("error"),
  }
}

/** The scopes of a text, without repetitions. RFC 6749 section 3.3. */
export const scopesIn = (text: string): ReadonlyArray<string> => [
  ...new Set(text.split(" ").filter((scope) => /^[\x21\x23-\x5b\x5d-\x7e]+$/.test(scope))),
]
