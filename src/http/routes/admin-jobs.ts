/** Admin routes of jobs. */
import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { Caches } from "../../jobs/caches.ts"
import { type Job, JobStore } from "../../jobs/job-store.ts"
import { Jobs } from "../../jobs/jobs.ts"
import { cacheKind } from "../../kinds/cached-content/cached-content.ts"
import { tidy } from "../../money/amount.ts"
import { Api } from "../../protocol/api.ts"
import { serviceError } from "../../protocol/error.ts"
import type { JobEntry, JobList } from "../../protocol/kinds/job.ts"
import { makeForOperator } from "../operator.ts"

/** Jobs of one list. */
const most = 200

export const adminJobRoutes = HttpApiBuilder.group(
  Api,
  "adminJobs",
  Effect.fn(function* (handlers) {
    const forOperator = yield* makeForOperator
    const store = yield* JobStore
    const jobs = yield* Jobs
    const caches = yield* Caches

    const find = Effect.fnUntraced(function* (org: string, id: string) {
      return (yield* store.find(org, id)) ?? (yield* serviceError("not_found", "There is no such job"))
    })
    const list = (org: string | undefined, isOpen: boolean) =>
      Effect.map(store.list(org, isOpen, most), (found) => ({ jobs: found.map(entryOf) }) satisfies JobList)
    const cancel = Effect.fn("admin.cancelJob")(function* (org: string, id: string) {
      const job = yield* find(org, id)
      // Cached content is charged for the time that it lived.
      yield* job.kind === cacheKind ? caches.remove(job) : jobs.cancel(job)
      return entryOf(yield* find(org, id))
    })

    return handlers
      .handleRaw("adminJobs", ({ request, query }) => forOperator(request, list(query.org, query.open === "true")))
      .handleRaw("adminJob", ({ request, params }) =>
        forOperator(request, Effect.map(find(params.org, params.id), entryOf)),
      )
      .handleRaw("adminCancelJob", ({ request, params }) => forOperator(request, cancel(params.org, params.id)))
  }),
)

const entryOf = (job: Job): JobEntry => ({
  id: job.id,
  org: job.orgId,
  kind: job.kind,
  model: job.model,
  target: `${job.vendor}/${job.targetModel}`,
  vendorJob: job.vendorJob,
  status: job.state,
  progress: job.progress,
  ...(job.errorCode !== undefined && { error: job.errorCode }),
  held: tidy(job.held),
  currency: job.currency,
  dims: job.dims,
  polls: job.polls,
  createdAt: job.createdAt.toISOString(),
  endsAt: job.endsAt.toISOString(),
  ...(job.endedAt !== undefined && { endedAt: job.endedAt.toISOString() }),
})
