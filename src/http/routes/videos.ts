/** `/t1/videos/{id}`: what became of a job, its result, and its end. */
import { Effect, Stream } from "effect"
import { HttpServerResponse } from "effect/http"
import type { Caller } from "../../identity/caller.ts"
import { makeJobTargets } from "../../jobs/job-calls.ts"
import { type Job, JobStore } from "../../jobs/job-store.ts"
import { Jobs } from "../../jobs/jobs.ts"
import { serviceError } from "../../protocol/error.ts"
import type { VideoJob } from "../../protocol/video.ts"
import { VendorClient } from "../../upstream/client.ts"
import { openContent } from "../media/job-content.ts"
import type { Authenticated } from "../runtime.ts"

export const makeVideos = Effect.gen(function* () {
  const store = yield* JobStore
  const jobs = yield* Jobs
  const client = yield* VendorClient
  const targetOf = yield* makeJobTargets

  /** A job of the caller's organisation; an end user sees its own only. */
  const find = Effect.fnUntraced(function* ({ org, endUserId }: Caller, id: string) {
    const job = yield* store.find(org.id, id)
    const isOwn = job !== undefined && (endUserId === undefined || job.endUserId === endUserId)
    return isOwn ? job : yield* serviceError("not_found", "There is no such job")
  })

  return {
    find,

    read: Effect.fnUntraced(function* ({ caller }: Authenticated, id: string) {
      return HttpServerResponse.jsonUnsafe(viewOf(yield* find(caller, id)))
    }),

    cancel: Effect.fnUntraced(function* ({ caller }: Authenticated, id: string) {
      const job = yield* find(caller, id)
      yield* jobs.cancel(job)
      return HttpServerResponse.jsonUnsafe(viewOf(yield* find(caller, id)))
    }),

    content: Effect.fnUntraced(function* ({ caller }: Authenticated, id: string) {
      const job = yield* find(caller, id)
      if (job.state !== "done") {
        return yield* serviceError("not_found", "The job has no result", { detail: { status: job.state } })
      }
      const found = yield* targetOf(job)
      const wire = found?.dialect.content(job.vendorJob, job.content, found.target.vendor.baseUrl)
      if (found === undefined || wire === undefined) {
        return yield* serviceError("upstream_error", "The result cannot be fetched any more")
      }
      const request = yield* Effect.mapError(found.request(wire), ({ cause }) =>
        serviceError("upstream_error", "The result cannot be fetched now", { cause }),
      )
      const { contentType, length, bytes } = yield* openContent(client, request)
      return HttpServerResponse.stream(Stream.orDie(bytes), {
        contentType,
        ...(length !== undefined && { contentLength: Number(length) }),
      })
    }),
  }
})

const seconds = (view: Job["view"]) => (typeof view["seconds"] === "number" ? { seconds: view["seconds"] } : {})
const size = (view: Job["view"]) => (typeof view["size"] === "string" ? { size: view["size"] } : {})

export const viewOf = ({ id, state, model, progress, createdAt, view, errorCode }: Job): VideoJob => ({
  id,
  status: state,
  model,
  progress,
  createdAt: createdAt.toISOString(),
  ...seconds(view),
  ...size(view),
  // The vendor's own words are not told.
  ...(state === "failed" && {
    error: errorOf(errorCode),
  }),
})

const errorOf = (errorCode: string | undefined): NonNullable<VideoJob["error"]> => {
  if (errorCode === "content_blocked") {
    return { code: errorCode, message: "The vendor's content filter refused the request; nothing was charged" }
  }
  const code = errorCode === "timeout" ? "upstream_total_timeout" : "upstream_error"
  return { code, message: "The vendor made no video; nothing was charged" }
}
