/**
 * The addresses to which a client may be sent back: HTTPS, this computer, or an application's own scheme. Sources: OAuth 2.1
 * sections 2.3.1 and 8.4; RFC 8252 sections 7 and 8.
 */
import { hasUnseen, isStorable } from "../../protocol/values/text.ts"

export const maxRedirectUris = 20
export const maxRedirectUri = 2048

const loopbackHosts: ReadonlySet<string> = new Set(["localhost", "127.0.0.1", "[::1]"])

/** Schemes that browsers and systems handle themselves: none of them is an application's own. */
const takenSchemes: ReadonlySet<string> = new Set(
  (
    "about blob chrome chrome-extension data devtools edge file filesystem ftp gopher http https intent javascript jar " +
    "ldap mailto moz-extension ms-msdt news nntp resource search-ms sftp smb sms ssh tel telnet vbscript view-source ws wss"
  )
    .split(" ")
    .map((scheme) => `${scheme}:`),
)

/** The place of a redirect: a site, this computer, or an application that has registered a scheme. */
export type RedirectPlace = "site" | "loopback" | "application"

/** Parameters of our answers, which an address must not have itself. */
const answerNames = ["code", "error", "error_description", "iss", "state"]

const parsed = (uri: string): URL | undefined => {
  if (uri.length > maxRedirectUri || !isStorable(uri) || hasUnseen(uri) || /[\s"<>\\^`{|}]/.test(uri)) return undefined
  const url = URL.parse(uri)
  if (url === null || url.username !== "" || url.password !== "" || uri.includes("#")) return undefined
  return answerNames.some((name) => url.searchParams.has(name)) ? undefined : url
}

/** @returns undefined if a client may not have the address */
export const placeOf = (uri: string): RedirectPlace | undefined => {
  const url = parsed(uri)
  if (url === undefined) return undefined
  if (url.protocol === "https:") return "site"
  if (url.protocol === "http:") return loopbackHosts.has(url.hostname) ? "loopback" : undefined
  return takenSchemes.has(url.protocol) || !/^[a-z][a-z0-9+.-]*:\/\/[^/]/i.test(uri) ? undefined : "application"
}

/** The host that a person sees before a redirect. */
export const shownHost = (uri: string): string => {
  const url = URL.parse(uri)
  if (url === null) return uri
  return url.protocol === "https:" || url.protocol === "http:" ? url.host : `${url.protocol}//${url.host}`
}

/** Whether a client that registered these addresses may be sent to this one: the same text, at this computer with any port. */
export const mayRedirect = (registered: ReadonlyArray<string>, asked: string): boolean => {
  const place = placeOf(asked)
  if (place === undefined) return false
  return registered.some(
    (each) => each === asked || (place === "loopback" && placeOf(each) === place && anyPort(each) === anyPort(asked)),
  )
}

const anyPort = (uri: string): string | undefined => {
  const url = URL.parse(uri)
  return url === null ? undefined : `${url.hostname} ${url.pathname} ${url.search}`
}
