/** The time range of a page, kept in its address. */
import { html } from "htm/preact"
import { setQuery } from "./route.ts"
import { Segments } from "./ui/parts.ts"

const minuteMs = 60_000
const hourMs = 60 * minuteMs
const dayMs = 24 * hourMs

const ranges = {
  "15m": { name: "15 min", ms: 15 * minuteMs },
  "1h": { name: "1 h", ms: hourMs },
  "6h": { name: "6 h", ms: 6 * hourMs },
  "24h": { name: "24 h", ms: dayMs },
  "7d": { name: "7 d", ms: 7 * dayMs },
  "30d": { name: "30 d", ms: 30 * dayMs },
  "90d": { name: "90 d", ms: 90 * dayMs },
} as const

export type RangeName = keyof typeof ranges

const isRange = (name: string | undefined): name is RangeName => name !== undefined && name in ranges

export const rangeOf = (query: Readonly<Record<string, string>>, otherwise: RangeName = "24h"): RangeName =>
  isRange(query["range"]) ? query["range"] : otherwise

/** The beginning of a range that ends now. */
export const fromOf = (range: RangeName): string => new Date(Date.now() - ranges[range].ms).toISOString()

/** The period of the same length before a range. */
export const periodBefore = (range: RangeName): { readonly from: string; readonly to: string } => ({
  from: new Date(Date.now() - 2 * ranges[range].ms).toISOString(),
  to: fromOf(range),
})

export const RangePicker = ({ range }: { readonly range: RangeName }) =>
  html`<${Segments}
    label="Time range"
    options=${Object.entries(ranges).map(([value, { name }]) => [value, name])}
    value=${range}
    choose=${(value: string) => setQuery({ range: value })}
  />`
