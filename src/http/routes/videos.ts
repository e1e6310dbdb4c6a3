/** `/t1/videos/{id}`: the state of a job, its result, and its cancellation. */
import { Effect, Schema, Stream } from "effect"
import { HttpServerResponse } from "effect/http"
import { isForbidden } from "../../calls/model.ts"
import { makeTimeouts } from "../../calls/vendor/timeouts.ts"
import { Catalogue } from "../../catalogue/catalogue.ts"
import { WeirConfig } from "../../config.ts"
import { CallDeadlines } from "../../deadlines.ts"
import type { Caller } from "../../identity/caller.ts"
import { makeJobTargets } from "../../jobs/job-calls.ts"
import { type Job, JobStore } from "../../jobs/job-store.ts"
import { Jobs } from "../../jobs/jobs.ts"
import { serviceError } from "../../protocol/error.ts"
import { invalidInput, issuesOf } from "../../protocol/json/issues.ts"
import { type VideoJob, VideoVariant } from "../../protocol/kinds/video.ts"
import { VendorClient } from "../../upstream/client.ts"
import { type Authenticated, makeForCaller } from "../caller-request.ts"
import { foreignHeaders } from "../foreign-bytes.ts"
import { openContent, rangeOf } from "../media/job-content.ts"
import { makeRevocation } from "../revocation.ts"

export const makeVideos = Effect.gen(function* () {
  const store = yield* JobStore
  const jobs = yield* Jobs
  const client = yield* VendorClient
  const targetOf = yield* makeJobTargets
  const config = yield* WeirConfig
  const { streamStallMs } = config
  const catalogue = yield* Catalogue
  const deadlines = yield* CallDeadlines
  const { again } = yield* makeForCaller
  const { streamWhileValid } = yield* makeRevocation
  const timeoutsOf = makeTimeouts(config, yield* Effect.context<never>())

  const mayUse = (caller: Caller, { model }: Job) => !isForbidden(model, caller, catalogue.current())

  /** A job of the caller's organisation and of a model that it may use; an end user sees its own only. */
  const find = Effect.fnUntraced(function* (caller: Caller, id: string) {
    const { org, endUserId } = caller
    const job = yield* store.find(org.id, id)
    const isOwn = job?.kind === "video" && (endUserId === undefined || job.endUserId === endUserId)
    return isOwn && mayUse(caller, job) ? job : yield* serviceError("not_found", "There is no such job")
  })

  /** A page of the videos that a caller may see, and whether there are more. Rows of forbidden models are skipped. */
  const list = Effect.fnUntraced(function* ({ caller, request }: Authenticated) {
    const query = new URL(request.url, "http://gateway").searchParams
    const { limit, after, order } = yield* Effect.mapError(
      Schema.decodeUnknownEffect(ListQuery)(Object.fromEntries(query)),
      (error) => invalidInput(issuesOf(error)),
    )
    const seen: Array<Job> = []
    let last = after
    let most = limit + 1
    let isWhole = true
    while (isWhole && seen.length <= limit) {
      const page = yield* store.page(caller.org.id, {
        kind: "video",
        endUserId: caller.endUserId,
        after: last,
        isOldestFirst: order === "asc",
        most,
      })
      seen.push(...page.filter((job) => mayUse(caller, job)))
      last = page.at(-1)?.id
      isWhole = page.length === most
      most = mostListed
    }
    return { jobs: seen.slice(0, limit), hasMore: seen.length > limit }
  })

  return {
    find,

    list,

    read: Effect.fnUntraced(function* ({ caller }: Authenticated, id: string) {
      return HttpServerResponse.jsonUnsafe(viewOf(yield* find(caller, id)))
    }),

    cancel: Effect.fnUntraced(function* ({ caller }: Authenticated, id: string) {
      const job = yield* find(caller, id)
      yield* jobs.cancel(job)
      return HttpServerResponse.jsonUnsafe(viewOf(yield* find(caller, id)))
    }),

    content: Effect.fnUntraced(function* ({ caller, request: asked }: Authenticated, id: string) {
      const variant = yield* variantOf(asked.url)
      const job = yield* find(caller, id)
      if (job.state !== "done") {
        return yield* serviceError("not_found", "The job has no result", { detail: { status: job.state } })
      }
      const found = yield* targetOf(job)
      if (found !== undefined && !found.dialect.variants.includes(variant)) {
        return yield* invalidInput([{ path: "variant", message: `there is no ${variant} of this video` }])
      }
      const wire = found?.dialect.content(job.vendorJob, job.content, found.target.vendor.baseUrl, variant)
      if (found === undefined || wire === undefined) {
        return yield* serviceError("upstream_error", "The result cannot be fetched any more")
      }
      const ranged = { ...wire, headers: { ...wire.headers, ...rangeOf(asked) } }
      const request = yield* Effect.mapError(found.request(ranged), ({ cause }) =>
        serviceError("upstream_error", "The result cannot be fetched now", { cause }),
      )
      const snapshot = catalogue.current()
      const { ttfb: headMs, idle: idleMs } = timeoutsOf(snapshot, found.target, snapshot.model(job.model))
      const { status, contentType, headers, bytes } = yield* openContent(client, request, {
        deadlines,
        headMs,
        idleMs,
        stallMs: streamStallMs,
      })
      const { "content-range": range = "", "content-length": length, ...more } = headers
      if (status === 416) {
        return HttpServerResponse.empty({ status, headers: { "content-range": range, "cache-control": "no-store" } })
      }
      const foreign = foreignHeaders(contentType ?? usualTypes[variant], id)
      return HttpServerResponse.stream(Stream.orDie(streamWhileValid(() => again(asked), bytes)), {
        status,
        contentType: foreign["content-type"],
        ...(length !== undefined && { contentLength: Number(length) }),
        headers: { ...more, ...foreign, ...(status === 206 && { "content-range": range }) },
      })
    }),
  }
})

const mostListed = 100

const ListQuery = Schema.Struct({
  limit: Schema.NumberFromString.check(Schema.isInt(), Schema.isBetween({ minimum: 1, maximum: mostListed })).pipe(
    Schema.withDecodingDefaultKey(Effect.succeed("20")),
  ),
  after: Schema.optionalKey(Schema.String.check(Schema.isMaxLength(64))),
  order: Schema.optionalKey(Schema.Literals(["asc", "desc"])),
})

/** The type of bytes whose vendor names none. */
const usualTypes: Readonly<Record<VideoVariant, string | undefined>> = {
  video: "video/mp4",
  thumbnail: undefined,
  spritesheet: undefined,
}

/** `?variant=thumbnail`; the video itself if absent. */
const variantOf = (url: string) => {
  const asked = new URL(url, "http://gateway").searchParams.get("variant") ?? "video"
  return Effect.mapError(Schema.decodeUnknownEffect(VideoVariant)(asked), () =>
    invalidInput([{ path: "variant", message: `one of ${VideoVariant.literals.join(", ")} is required` }]),
  )
}

const seconds = (view: Job["view"]) => (typeof view["seconds"] === "number" ? { seconds: view["seconds"] } : {})
const size = (view: Job["view"]) => (typeof view["size"] === "string" ? { size: view["size"] } : {})

const remixedFrom = (view: Job["view"]) =>
  typeof view["remixedFrom"] === "string" ? { remixedFrom: view["remixedFrom"] } : {}

export const viewOf = ({ id, state, model, progress, createdAt, endedAt, view, errorCode }: Job): VideoJob => ({
  id,
  status: state,
  model,
  progress,
  createdAt: createdAt.toISOString(),
  ...(endedAt !== undefined && { endedAt: endedAt.toISOString() }),
  ...seconds(view),
  ...size(view),
  ...remixedFrom(view),
  // The vendor's own text is not forwarded.
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
