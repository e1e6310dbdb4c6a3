/** Parses tier times from `/metrics`. Pure. Source: Prometheus text format 0.0.4. */
import { type Tier, tiers } from "../../protocol/timeout-tiers.ts"
import type { Bucket } from "../buckets.ts"
import { addUp, type Observed } from "./observed.ts"

const sample = /^(weir_upstream_tier_\w+)\{(.*)\} (\S+)$/

interface Series {
  readonly vendor: string
  readonly model: string
  readonly tier: Tier
  /** Cumulative counts by boundary. */
  readonly cumulative: Array<readonly [upToMs: number, count: number]>
  ended: number
  limitMs: number | undefined
  source: string | undefined
}

export const readTiers = (page: string): ReadonlyArray<Observed> => {
  const all = new Map<string, Series>()
  for (const line of page.split("\n")) {
    const [, name, labelText = "", text] = sample.exec(line) ?? []
    const value = Number(text)
    if (name === undefined || Number.isNaN(value)) continue
    const { vendor, model, tier: named, le, source } = labelsOf(labelText)
    const tier = tiers.find((candidate) => candidate === named)
    if (vendor === undefined || model === undefined || tier === undefined) continue
    const key = JSON.stringify([vendor, model, tier])
    const series = all.get(key) ?? {
      vendor,
      model,
      tier,
      cumulative: [],
      ended: 0,
      limitMs: undefined,
      source: undefined,
    }
    all.set(key, series)
    if (name === "weir_upstream_tier_ms_bucket" && le !== undefined) {
      series.cumulative.push([le === "+Inf" ? Number.POSITIVE_INFINITY : Number(le), value])
    }
    if (name === "weir_upstream_tier_timeouts_total") series.ended += value
    if (name === "weir_upstream_tier_limit_ms") {
      series.limitMs = value
      series.source = source
    }
  }
  return addUp([[...all.values()].map(({ cumulative, ...series }) => ({ ...series, buckets: bucketsOf(cumulative) }))])
}

const bucketsOf = (cumulative: Series["cumulative"]): ReadonlyArray<Bucket> => {
  let [fromMs, below] = [0, 0]
  return [...cumulative]
    .sort(([a], [b]) => a - b)
    .map(([upToMs, count]) => {
      const bucket = { fromMs, upToMs, count: Math.max(0, count - below) }
      ;[fromMs, below] = [upToMs, count]
      return bucket
    })
}

const labelsOf = (text: string): Readonly<Record<string, string | undefined>> =>
  Object.fromEntries(
    [...text.matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)].map(([, name = "", value = ""]) => [
      name,
      value.replace(/\\(.)/g, (_, escaped: string) => (escaped === "n" ? "\n" : escaped)),
    ]),
  )
