/** The page of all metrics, from their definitions in src/telemetry/metrics.ts. */
import { readFileSync } from "node:fs"

const definition = /\b(counter|gauge|histogram)\(\s*"([^"]+)",\s*"((?:[^"\\]|\\.)+)"/g

export const metricsPage = (): string => {
  const source = readFileSync(new URL("../../src/telemetry/metrics.ts", import.meta.url), "utf8")
  const metrics = [...source.matchAll(definition)].map(([, type = "", name = "", meaning = ""]) => ({
    type,
    // Prometheus allows no dots in names.
    name: name.replaceAll(".", "_"),
    meaning,
  }))
  metrics.sort((one, other) => (one.name < other.name ? -1 : 1))
  return [
    "# Metrics",
    "",
    "`/metrics` has them in Prometheus' format; `SVC_OTLP_URL` sends the same to a collector. Times are in milliseconds where the name says",
    "`_ms`. [Alerts](../how-to/alerts.md) lists the rules that come with Weir.",
    "",
    "| metric | type | meaning |",
    "| --- | --- | --- |",
    ...metrics.map(({ name, type, meaning }) => `| \`${name}\` | ${type} | ${meaning.replaceAll("|", "\\|")} |`),
    "",
  ].join("\n")
}
