/** Canonical JSON (RFC 8785) and its hash: equal content has an equal hash, independent of key order. */
import { createHash } from "node:crypto"
import type { Schema } from "effect"

/** RFC 8785: keys sorted by UTF-16 code units, numbers and strings as ECMAScript writes them. */
export const canonicalJson = (value: Schema.Json): string => {
  if (value === null || typeof value !== "object") return JSON.stringify(value)
  if (isArray(value)) return `[${value.map(canonicalJson).join(",")}]`
  const fields = Object.entries(value)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, field]) => `${JSON.stringify(key)}:${canonicalJson(field)}`)
  return `{${fields.join(",")}}`
}

const isArray = (value: Schema.Json): value is ReadonlyArray<Schema.Json> => Array.isArray(value)

/** 32 hex characters of the SHA-256 of the canonical JSON. */
export const fingerprint = (value: Schema.Json): string =>
  createHash("sha256").update(canonicalJson(value)).digest("hex").slice(0, 32)
