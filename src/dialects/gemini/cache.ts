/** Content that Gemini keeps. Source: https://ai.google.dev/api/caching */
import type { CacheDialect } from "../cache-dialect.ts"
import { objectAt, reportedCountAt, stringAt } from "../parse/json.ts"
import { jsonRequest } from "../whole-dialect.ts"

const ttlOf = (seconds: number): string => `${seconds}s`

export const geminiCache: CacheDialect = {
  encode: ({ content, ttlSeconds }, model) =>
    jsonRequest("/v1beta/cachedContents", { ...content, model: `models/${model}`, ttl: ttlOf(ttlSeconds) }),
  decode: (body) => {
    const name = stringAt(body, "name")
    if (name === undefined || !/^cachedContents\/[\w-]{1,200}$/.test(name)) return undefined
    return { name, tokens: reportedCountAt(objectAt(body, "usageMetadata"), "totalTokenCount") }
  },
  remove: (name) => ({ method: "DELETE", path: `/v1beta/${name}`, headers: {}, body: "" }),
  shorten: (name, seconds) => ({
    ...jsonRequest(`/v1beta/${name}?updateMask=ttl`, { ttl: ttlOf(seconds) }),
    method: "PATCH",
  }),
}
