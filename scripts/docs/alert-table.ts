/** The page of alerts, from the rules of deploy/observability. */
import { readFileSync } from "node:fs"
import { Schema } from "effect"
import { load } from "js-yaml"

const Rules = Schema.Struct({
  groups: Schema.Array(
    Schema.Struct({
      rules: Schema.Array(
        Schema.Struct({
          alert: Schema.String,
          for: Schema.optionalKey(Schema.String),
          labels: Schema.Struct({ severity: Schema.String }),
          annotations: Schema.Struct({ summary: Schema.String, remedy: Schema.String }),
        }),
      ),
    }),
  ),
})

const file = "deploy/observability/prometheus-alerts.yaml"

export const alertsPage = (): string => {
  const text = readFileSync(new URL(`../../${file}`, import.meta.url), "utf8")
  const { groups } = Schema.decodeUnknownSync(Rules)(load(text))
  const plain = (words: string) => words.replaceAll(/\{\{ \$labels\.(\w+) \}\}/g, "`$1`").replaceAll("|", "\\|")
  return [
    "# Alerts and their remedies",
    "",
    `The rules for Prometheus are in the repository's file \`${file}\`, a dashboard for Grafana beside it.`,
    "",
    "| alert | severity | after | meaning | remedy |",
    "| --- | --- | --- | --- | --- |",
    ...groups.flatMap(({ rules }) =>
      rules.map(
        ({ alert, for: after = "at once", labels, annotations }) =>
          `| ${alert} | ${labels.severity} | ${after} | ${plain(annotations.summary)} | ${plain(annotations.remedy)} |`,
      ),
    ),
    "",
  ].join("\n")
}
