/** `If-Match` and `If-None-Match` of SCIM requests. Versions are weak, and compared as weak ones. RFC 7644 section 3.14. */
import type { IfMatch } from "../../identity/scim/scim-writes.ts"
import type { Request } from "../request.ts"

export const ifMatchOf = ({ headers }: Pick<Request, "headers">): IfMatch => conditionOf(headers["if-match"])

/** Whether a client has the version already. */
export const hasVersion = ({ headers }: Pick<Request, "headers">, version: string): boolean =>
  conditionOf(headers["if-none-match"])?.(version) ?? false

const conditionOf = (header: string | undefined): IfMatch => {
  if (header === undefined) return undefined
  const named = header.split(",").map((tag) => opaqueOf(tag.trim()))
  return (version) => named.includes("*") || named.includes(opaqueOf(version))
}

const opaqueOf = (tag: string): string => tag.replace(/^W\//u, "")
