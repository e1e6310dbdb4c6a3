/** Rates as people write them: `600 requests per 60s`, `200000 tokens per 1h of gpt-*`, `20 at a time`. Pure, and without a schema. */

/** A rate as it is sent. */
export interface SentRate {
  readonly requests?: number
  readonly tokens?: number
  readonly concurrent?: number
  readonly per?: string | number
  readonly model?: string
  readonly cached?: "count" | "free"
}

export const rateForm = "600 requests per 60s, 200000 tokens per 1h of gpt-*, or 20 at a time"

const pattern =
  /^(\d{1,15}) (requests?|tokens?|uncached tokens?|at a time)(?: per (\d{1,9}(?:ms|s|m|h)))?(?: of (\S+))?$/

/** Undefined if the text is no rate. */
export const readRate = (text: string): SentRate | undefined => {
  const [, count, unit = "", per, model] = pattern.exec(text.trim().replaceAll(/\s+/g, " ")) ?? []
  if (count === undefined || (unit === "at a time") !== (per === undefined)) return undefined
  const limit = Number(count)
  const of = model === undefined ? {} : { model }
  if (per === undefined) return { concurrent: limit, ...of }
  if (unit.startsWith("request")) return { requests: limit, per, ...of }
  return { tokens: limit, per, ...(unit.startsWith("uncached") && { cached: "free" as const }), ...of }
}

export const rateText = ({ requests, tokens, concurrent, per = "", model, cached }: SentRate): string => {
  const of = model === undefined ? "" : ` of ${model}`
  if (concurrent !== undefined) return `${concurrent} at a time${of}`
  const time = typeof per === "number" ? `${per}ms` : per
  if (requests !== undefined) return `${requests} requests per ${time}${of}`
  return `${tokens} ${cached === "free" ? "uncached tokens" : "tokens"} per ${time}${of}`
}
