/** Plan usage: hourly peaks of concurrency as a heat map, by day. */
import { html } from "htm/preact"
import type { PlanLimits, PlanUsage } from "../../protocol/control/plan-usage.ts"
import { get } from "../api.ts"
import { useOrganisations } from "../choices.ts"
import { count } from "../format.ts"
import { useLoad } from "../load.ts"
import type { PageProps } from "../page.ts"
import { setQuery } from "../route.ts"
import { Filters, type Values } from "../ui/form.ts"
import { HeatMap } from "../ui/heat-map.ts"
import { Card, Empty, ErrorBox, Figures, Head, Loading } from "../ui/parts.ts"
import { useViewer } from "../viewer.ts"

export const Page = ({ query }: PageProps) => {
  const viewer = useViewer()
  const org = viewer.kind === "operator" ? (query["org"] ?? "") : viewer.org
  return html`
    <${Head} title="Plan usage" />
    ${viewer.kind === "operator" && html`<${OrganisationFilter} org=${org} />`}
    ${org === "" ? html`<${Card}><${Empty} title="Choose an organisation">Its peaks of concurrency are shown by the hour.<//><//>` : html`<${Peaks} org=${org} />`}
  `
}

const OrganisationFilter = ({ org }: { readonly org: string }) => {
  const organisations = useOrganisations()
  const field = { name: "org", label: "Organisation", value: org, suggestions: organisations }
  return html`<${Card}><${Filters} fields=${[field]} apply=${(values: Values) => setQuery(values)} /><//>`
}

const Peaks = ({ org }: { readonly org: string }) => {
  const viewer = useViewer()
  const path = viewer.kind === "operator" ? `v1/admin/orgs/${encodeURIComponent(org)}/plan-usage` : "v1/plan/usage"
  const limitsPath = viewer.kind === "operator" ? `v1/admin/orgs/${encodeURIComponent(org)}/plan` : "v1/plan"
  const { data: limits } = useLoad(`limits ${org}`, (signal) => get<PlanLimits>(limitsPath, undefined, signal), 30_000)
  const { data, error, reload } = useLoad(
    `plan ${org}`,
    (signal) => get<PlanUsage>(path, { days: "30" }, signal),
    30_000,
  )
  if (data === undefined) return html`<${ErrorBox} error=${error} retry=${reload} />${!error && html`<${Loading} />`}`
  const rows = [...data.days, data.today].map(({ day, hourlyPeaks }) => ({ name: day, values: hourlyPeaks }))
  const isIdle = rows.every(({ values }) => values.every((value) => !value))
  return html`${limits !== undefined && html`<${Limits} limits=${limits} />`}
  <${Card} title="Sessions at once, by the hour (UTC+8)">
    <${ErrorBox} error=${error} retry=${reload} />
    ${
      isIdle
        ? html`<${Empty} title="No sessions were open in these 30 days">Sessions begin with <code>POST /t1/heartbeat</code>.<//>`
        : html`<${HeatMap} title="Sessions at once, by day and hour" rows=${rows} cap=${limits?.concurrency} />`
    }
  <//>`
}

const Limits = ({ limits }: { readonly limits: PlanLimits }) => {
  const { plan, concurrency, perMinute, dailyTokens, maxFiles, maxFilesBytes, endUsers } = limits
  const limit = (value: number | undefined) => (value === undefined ? "no limit" : count(value))
  return html`<${Figures} figures=${[
    { name: "Plan", value: plan ?? "none" },
    { name: "Sessions at once", value: limit(concurrency) },
    { name: "Requests per minute", value: limit(perMinute) },
    { name: "Tokens per day", value: limit(dailyTokens) },
    ...(maxFiles === undefined ? [] : [{ name: "Files kept", value: count(maxFiles) }]),
    ...(maxFilesBytes === undefined ? [] : [{ name: "Bytes of files kept", value: count(maxFilesBytes) }]),
    ...(endUsers === undefined
      ? []
      : [
          { name: `End users in ${endUsers.month}`, value: `${endUsers.used} of ${endUsers.limit}`, note: "test tier" },
        ]),
  ]} />`
}
