/**
 * Merges the metrics of all workers: values of the same series are added. Pure. Source: Prometheus text format 0.0.4.
 */

interface Family {
  /** Its HELP and TYPE lines. */
  readonly head: ReadonlyArray<string>
  readonly series: Map<string, number>
}

/** A line such as `weir_exchanges_total{outcome="end"} 12`; labels may hold spaces and braces inside quotes. */
const sample = /^([a-zA-Z_:][a-zA-Z0-9_:]*(?:\{.*\})?) (\S+)$/

/** Limits are the same in all workers: use the largest one instead of their sum. */
const isLimit = /^\w+_limit_ms\b/

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
      const known = family.series.get(series) ?? 0
      family.series.set(series, isLimit.test(series) ? Math.max(known, Number(value)) : known + Number(value))
    }
  }
  const lines = [...families.values()].flatMap(({ head, series }) => [
    ...head,
    ...[...series].map(([name, value]) => `${name} ${value}`),
  ])
  return lines.length === 0 ? "" : `${lines.join("\n")}\n`
}
