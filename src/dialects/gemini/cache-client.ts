/** Cached content towards clients of Gemini's API. Source: https://ai.google.dev/api/caching */
import type { Result } from "effect"
import type { CachedContent } from "../../protocol/kinds/cached-content.ts"
import {
  all,
  carried,
  FieldReader,
  type FieldRefusal,
  type FieldTable,
  isAbsent,
  present,
  refused,
} from "../client/fields.ts"
import type { WholeClient } from "../client/whole-client.ts"
import type { JsonObject } from "../parse/json.ts"
import { geminiErrors } from "./whole-client.ts"

const contentNames = ["contents", "systemInstruction", "tools", "toolConfig"] as const

const createFields: FieldTable = {
  ...all(carried, "model", ...contentNames, "displayName", "ttl", "expireTime"),
  kmsKey: refused("content is kept under the vendor's own key"),
}

/** The time of the API if a request names none, in seconds. */
const usualTtlS = 3600

/** @param nowMs a lifetime may be said by its end */
export const createCache = (nowMs: () => number): WholeClient<CachedContent> => ({
  name: "Gemini cachedContents",
  errors: geminiErrors,
  fields: createFields,
  fieldNames: [
    ["ttlSeconds", "ttl"],
    ["content", "contents"],
  ],
  decode: (body) => {
    const reader = new FieldReader()
    reader.check(createFields, body, "")
    const named = reader.string(body["model"], "model")
    for (const [at, tool] of reader.optionalList(body["tools"], "tools").entries()) {
      for (const name of Object.keys(reader.object(tool, `tools.${at}`))) {
        // Other tools run at the vendor, which bills them.
        if (name !== "functionDeclarations")
          reader.refuse(`tools.${at}.${name}`, "belongs into a request, where it has a price")
      }
    }
    return reader.result({
      omitted: reader.omitted,
      model: named.replace(/^models\//, ""),
      request: present({
        content: present(Object.fromEntries(contentNames.map((name) => [name, body[name]]))),
        ttlSeconds: ttlIn(reader, body, nowMs()) ?? usualTtlS,
        displayName: body["displayName"],
      }),
      reply: cacheOf,
    })
  },
})

/** The lifetime in a request, in whole seconds. */
const ttlIn = (reader: FieldReader, { ttl, expireTime }: JsonObject, nowMs: number): number | undefined => {
  if (!isAbsent(ttl)) {
    const [, seconds] = /^(\d{1,10}(?:\.\d{1,9})?)s$/.exec(reader.string(ttl, "ttl")) ?? []
    if (seconds === undefined) reader.refuse("ttl", "must be a duration such as 300s")
    return seconds === undefined ? undefined : Math.ceil(Number(seconds))
  }
  if (isAbsent(expireTime)) return undefined
  const ms = Date.parse(reader.string(expireTime, "expireTime"))
  if (Number.isNaN(ms)) reader.refuse("expireTime", "must be a time such as 2026-01-31T12:00:00Z")
  return Number.isNaN(ms) ? undefined : Math.ceil((ms - nowMs) / 1000)
}

/** The lifetime in a request that changes it. */
export const decodeCacheUpdate = (body: JsonObject, nowMs: number): Result.Result<number, FieldRefusal> => {
  const reader = new FieldReader()
  reader.check(all(carried, "ttl", "expireTime"), body, "")
  const seconds = ttlIn(reader, body, nowMs)
  if (seconds === undefined || seconds < 1) reader.refuse("ttl", "must name a time to come")
  return reader.result(seconds ?? 0)
}

export const cacheOf = ({ id, model, displayName, tokens, createdAt, expiresAt }: CachedContent) => ({
  name: `cachedContents/${id}`,
  model: `models/${model}`,
  ...(displayName !== undefined && { displayName }),
  usageMetadata: { totalTokenCount: tokens },
  createTime: createdAt,
  updateTime: createdAt,
  expireTime: expiresAt,
})
