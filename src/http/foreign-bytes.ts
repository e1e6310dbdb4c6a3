/**
 * Bytes from outside, on the origin that has our cookies: their type is one of a list, they run no script, and browsers
 * download them and do not show them. Source: OWASP File Upload Cheat Sheet; CSP Level 3, "sandbox".
 */

/** The types that may be sent on, with the ending of a file's name. No type of them can carry a script. */
const knownTypes: ReadonlyMap<string, string> = new Map([
  ["video/mp4", "mp4"],
  ["video/webm", "webm"],
  ["video/quicktime", "mov"],
  ["audio/mpeg", "mp3"],
  ["audio/mp4", "m4a"],
  ["audio/aac", "aac"],
  ["audio/flac", "flac"],
  ["audio/ogg", "ogg"],
  ["audio/wav", "wav"],
  ["audio/webm", "weba"],
  ["image/png", "png"],
  ["image/jpeg", "jpg"],
  ["image/webp", "webp"],
  ["image/gif", "gif"],
])

const unknownType = "application/octet-stream"

/**
 * Headers of a reply with such bytes.
 * @param sent the type that their maker names; its parameters are left out
 * @param name of the file, without an ending
 */
export const foreignHeaders = (sent: string | undefined, name: string): Readonly<Record<string, string>> => {
  const type = sent?.split(";", 1)[0]?.trim().toLowerCase() ?? ""
  const ending = knownTypes.get(type)
  return {
    "content-type": ending === undefined ? unknownType : type,
    "content-disposition": `attachment; filename="${name.replaceAll(/[^\w-]/g, "_")}.${ending ?? "bin"}"`,
    "content-security-policy": "default-src 'none'; sandbox",
  }
}
