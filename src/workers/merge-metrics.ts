/**
 * Merges the metrics of all workers: values of the same series are added, except for gauges of shared things. Pure. Source:
 * Prometheus text format 0.0.4.
 */

interface Family {
  /** Its HELP and TYPE lines. */
  readonly head: ReadonlyArray<string>
  readonly series: Map<string, number>
}

/** A line such as `weir_exchanges_total{outcome="end"} 12`; labels may hold spaces and braces inside quotes. */
const sample = /^([a-zA-Z_:][a-zA-Z0-9_:]*(?:\{.*\})?) (\S+)$/

type Merge = (a: number, b: number) => number

/** Limits, and ages, delays and counts of something in the stores: each worker reports the same value. */
const isShared = /^\w+_(?:limit_ms|seconds|at_vendors)\b/
/** Conditions that must hold in each worker. */
const isCondition = /^\w+_valid\b/

const mergeOf = ({ head }: Family, series: string): Merge => {
  if (!head.some((line) => isGauge.test(line))) return add
  return isShared.test(series) ? Math.max : isCondition.test(series) ? Math.min : add
}
const isGauge = /^# TYPE \S+ gauge$/
const add: Merge = (a, b) => a + b

export const mergeMetrics = (pages: ReadonlyArray<string>): string => {
  const families = new Map<string, Family>()
  for (const page of pages) {
    let family: Family | undefined
    let head: Array<string> = []
    for (const line of page.split("\n")) {
      if (line.startsWith("#")) {
        if (family !== undefined) head = []
        family = undefined
        head.push(line)
        continue
      }
      const [, series, value] = sample.exec(line) ?? []
      if (series === undefined || value === undefined) continue
      if (family === undefined) {
        const key = head.at(-1) ?? series
        family = families.get(key) ?? { head, series: new Map() }
        families.set(key, family)
      }
      const known = family.series.get(series)
      family.series.set(series, known === undefined ? Number(value) : mergeOf(family, series)(known, Number(value)))
    }
  }
  const lines = [...families.values()].flatMap(({ head, series }) => [
    ...head,
    ...[...series].map(([name, value]) => `${name} ${value}`),
  ])
  return lines.length === 0 ? "" : `${lines.join("\n")}\n`
}
