/** Canonical JSON (RFC 8785) and its hash: equal content has an equal hash, independent of key order. */
import { createHash } from "node:crypto"

/**
 * RFC 8785: keys sorted by UTF-16 code units, numbers and strings as ECMAScript writes them. The value is JSON; fields that
 * are undefined are left out.
 */
export const canonicalJson = (value: unknown): string => {
  if (value === null || typeof value !== "object") return JSON.stringify(value)
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(",")}]`
  const fields = Object.entries(value)
    .filter(([, field]) => field !== undefined)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, field]) => `${JSON.stringify(key)}:${canonicalJson(field)}`)
  return `{${fields.join(",")}}`
}

/** 32 hex characters of the SHA-256 of the canonical JSON. */
export const fingerprint = (value: unknown): string =>
  createHash("sha256").update(canonicalJson(value)).digest("hex").slice(0, 32)
