/** The dashboard and the alert rules use metrics, labels and values that exist. */
import { readFileSync } from "node:fs"
import { load } from "js-yaml"
import { beforeAll, describe, expect, it } from "vitest"
import { answering, hello } from "../../../src/testing/index.ts"
import { useGateway } from "../../support/gateway.ts"

const folder = new URL("../../../deploy/observability/", import.meta.url)
const dashboard = JSON.parse(readFileSync(new URL("grafana-dashboard.json", folder), "utf8"))
const alerts = JSON.parse(JSON.stringify(load(readFileSync(new URL("prometheus-alerts.yaml", folder), "utf8"))))
const source = readFileSync(new URL("../../../src/telemetry/metrics.ts", import.meta.url), "utf8")

const expressions: ReadonlyArray<string> = [
  ...dashboard.panels.flatMap((panel: { targets: ReadonlyArray<{ expr: string }> }) =>
    panel.targets.map(({ expr }) => expr),
  ),
  ...alerts.groups.flatMap((group: { rules: ReadonlyArray<{ expr: string }> }) => group.rules.map(({ expr }) => expr)),
]
const namesIn = (expression: string) => expression.match(/\b(weir|gen_ai_client)_[a-z_]+\b(?=[{[,)\s]|$)/g) ?? []
const family = (name: string) => name.replace(/_(bucket|count|sum)$/, "")

const gateway = useGateway({ script: answering({ words: ["Hi"], inTokens: 10, outTokens: 5 }) })
let page = ""
beforeAll(async () => {
  await gateway().exchange(hello)
  page = await (await fetch(`${gateway().baseUrl}/metrics`)).text()
})

describe("dashboard and alerts", () => {
  it("name metrics that exist", () => {
    const defined = new Set(
      [...source.matchAll(/"((?:weir|gen_ai)[\w.]+)"/g)].map(([, name = ""]) => name.replaceAll(".", "_")),
    )
    const used = expressions.flatMap(namesIn).map(family)
    expect(used.length).toBeGreaterThan(20)
    for (const name of used) expect([...defined], name).toContain(name)
  })

  it("show every metric there is", () => {
    const used = new Set(expressions.flatMap(namesIn).map(family))
    const scraped = [...page.matchAll(/^# TYPE (\S+)/gm)].map(([, name = ""]) => name)
    expect(scraped.filter((name) => !used.has(name) && name !== "weir_retention_runs_total")).toEqual([])
  })

  it("group by labels that they have", () => {
    for (const expression of expressions) {
      const [name = ""] = namesIn(expression)
      const line = page
        .split("\n")
        .find((candidate) => candidate.startsWith(`${family(name)}`) && candidate.includes("{"))
      if (line === undefined) continue
      const labels = [...line.matchAll(/(\w+)="/g)].map(([, label]) => label)
      for (const [, list = ""] of expression.matchAll(/\bby \(([^)]*)\)/g)) {
        for (const label of list.split(",").map((word) => word.trim())) {
          if (label !== "instance" && label !== "le") expect(labels, expression).toContain(label)
        }
      }
    }
  })

  it("each alert has a remedy", () => {
    for (const { rules } of alerts.groups)
      for (const { annotations } of rules) expect([annotations.summary, annotations.remedy].join()).toMatch(/.+,.+/)
  })
})
