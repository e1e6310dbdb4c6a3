/** Jobs: work of vendors that goes on after its request, with the hold of each. */

import { html } from "htm/preact"
import type { JobEntry, JobList } from "../../protocol/kinds/job.ts"
import { call, get } from "../api.ts"
import { useOrganisations } from "../choices.ts"
import { instant, money } from "../format.ts"
import { useLoad } from "../load.ts"
import type { PageProps } from "../page.ts"
import { linkTo, setQuery } from "../route.ts"
import { ActionButton, Filters, type Values } from "../ui/form.ts"
import { Card, Empty, ErrorBox, Head, Loading, Tag } from "../ui/parts.ts"
import { Table } from "../ui/table.ts"
import { Time } from "../ui/time.ts"

const everyMs = 3000

export const Page = ({ query }: PageProps) => {
  const { org = "", open = "" } = query
  const { data, error, reload } = useLoad(
    `jobs ${org} ${open}`,
    (signal) => get<JobList>("v1/admin/jobs", { org, open }, signal),
    everyMs,
  )
  const cancel = (job: JobEntry) => async () => {
    await call("DELETE", `v1/admin/orgs/${encodeURIComponent(job.org)}/jobs/${encodeURIComponent(job.id)}`)
    reload()
  }
  const actions = {
    name: "Actions",
    show: (job: JobEntry) =>
      job.endedAt === undefined &&
      html`<${ActionButton} name="Cancel" confirm="Cancel the job" title="Cancel ${job.id}?" tone="danger" explain="Its money goes back, and its vendor is asked to cancel it if the vendor supports that. This cannot be undone." act=${cancel(job)} />`,
  }
  const fields = [
    { name: "org", label: "Organisation", value: org, suggestions: useOrganisations() },
    { name: "open", label: "Status", value: open, options: which },
  ]
  return html`
    <${Head} title="Jobs" />
    <${Card} title="Newest jobs">
      <${Filters} fields=${fields} apply=${(values: Values) => setQuery(values)} />
      <${ErrorBox} error=${error} retry=${reload} />
      ${
        data === undefined
          ? error === undefined && html`<${Loading} />`
          : html`<${Table} caption="Jobs" rows=${data.jobs} empty=${html`<${Empty} title="No jobs yet">Videos are jobs: <a href=${linkTo(["playground"])}>create one</a> in the playground, or at <code>POST /t1/videos</code>.<//>`} columns=${[
              {
                name: "Created",
                align: "nowrap",
                show: ({ createdAt }: JobEntry) => html`<${Time} at=${createdAt} />`,
              },
              { name: "Job", show: ({ id }: JobEntry) => html`<code class="small wrap">${id}</code>` },
              { name: "Organisation", show: ({ org }: JobEntry) => org },
              {
                name: "Model",
                show: ({ model, target }: JobEntry) => html`${model}<br /><small class="soft">${target}</small>`,
              },
              {
                name: "Status",
                show: ({ status, error }: JobEntry) =>
                  html`<${Tag} tone=${tones[status]}>${status}<//> ${error !== undefined && html`<code>${error}</code>`}`,
              },
              { name: "Progress", align: "right", show: ({ progress }: JobEntry) => `${progress} %` },
              { name: "Set aside", align: "right", show: (job: JobEntry) => money(job.held, job.currency) },
              {
                name: "Ends",
                align: "nowrap",
                show: ({ endedAt, endsAt }: JobEntry) =>
                  endedAt === undefined ? `by ${instant(endsAt)}` : instant(endedAt),
              },
              ...(data.jobs.some(({ endedAt }) => endedAt === undefined) ? [actions] : []),
            ]} />`
      }
    <//>
  `
}

const which = [
  ["", "all"],
  ["true", "not ended"],
] as const

const tones = { queued: "soft", running: "warn", done: "good", failed: "bad", cancelled: "soft" } as const
