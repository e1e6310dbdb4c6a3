/** Videos: the kind `video`. The call gives the work to a vendor; a job follows it. */
import { Result } from "effect"
import type { Kind } from "../../calls/kind.ts"
import { modelFor, orNotConfigured, targetsFor } from "../../calls/model.ts"
import type { CallTarget } from "../../catalogue/snapshot.ts"
import type { VideoAsked, VideoDialect } from "../../dialects/media-dialect.ts"
import type { NamedFile } from "../../media/media-file.ts"
import { exactUnit, noTokens, priceUsage, unitCharge, unitDims } from "../../money/pricing.ts"
import { type ServiceError, serviceError } from "../../protocol/error.ts"
import type { VideoFields, VideoJob } from "../../protocol/kinds/video.ts"
import { dailyCountsOf } from "../daily-counts.ts"
import { pricedSize } from "../media/priced-size.ts"
import { encodeWhole } from "../whole/whole-call.ts"
import { WholeTask } from "../whole/whole-task.ts"

/** A request with its picture as a file. */
export interface VideoCall extends VideoFields {
  readonly image: NamedFile | undefined
  /** The finished video that is changed. */
  readonly source?: VideoSource
}

/** A video of the caller's, at the vendor that made it. */
export interface VideoSource {
  readonly id: string
  readonly vendor: string
  readonly targetModel: string
  readonly vendorJob: string
  readonly isOwn: boolean
}

/** The id of the job of a call. */
export const jobIdOf = (requestId: string): string => `job_${requestId.slice("req_".length)}`

export const video: Kind<VideoCall, VideoJob> = {
  name: "video",
  purpose: "video",
  modelOf: ({ model }) => model,
  capability: "videoGen",
  dailyCounts: dailyCountsOf("videogen"),
  reviewed: ({ prompt }) => prompt,
  plan: ({ services, request, requestId, caller, catalogue, nowMs }) => {
    const { model, prompt, seconds, size, image, source } = request
    const found = modelFor(model, "video", caller, catalogue, nowMs)
    return Result.flatMap(orNotConfigured(found, "video", catalogue, "videogen_not_configured"), ({ entry, price }) => {
      const details = size === undefined ? [] : [pricedSize(size)]
      if (exactUnit(price, "video_seconds", details) === undefined) return Result.fail(unpriced)
      const targets = targetsFor(caller, entry.targets).filter((target) => source === undefined || has(target, source))
      if (targets.length === 0) return Result.fail(goneVendor)
      const dims = unitDims(price, "video_seconds", seconds, details)
      const asked: VideoAsked = {
        prompt,
        seconds,
        image,
        ...(size !== undefined && { size }),
        ...(source !== undefined && { source: source.vendorJob }),
      }
      const view = {
        seconds,
        ...(size !== undefined && { size }),
        ...(source !== undefined && { remixedFrom: source.id }),
      }
      const task = new WholeTask<{ readonly job: string }, VideoJob>(
        {
          model,
          targets,
          timeoutsOf: (target) => services.timeoutsOf(catalogue, target, entry),
          currency: price.currency,
          holdAmount: unitCharge(price, dims),
          holdTokens: 0,
          operation: "video",
          status: 202,
          encode: (target) => encodeWhole(target, dialectAt(target), "video", asked),
          decode: (target, body, _part, headers) => dialectAt(target)?.decode(body, asked, headers),
          faultIn: (target, body) => dialectAt(target)?.faultIn?.(body),
          bill: () => ({
            counts: { ...noTokens, dims },
          }),
          charge: ({ counts }) => priceUsage(price, counts),
          job: ([accepted], target) =>
            accepted && {
              id: jobIdOf(requestId),
              kind: "video",
              endUserId: caller.endUserId,
              targetModel: target.model,
              vendorJob: accepted.job,
              isOwn: target.isOwn,
              view,
              timeoutMs: services.config.jobTimeoutMs,
            },
          finish: () => () => ({
            id: jobIdOf(requestId),
            status: "queued",
            model,
            progress: 0,
            createdAt: new Date(nowMs).toISOString(),
            ...view,
          }),
        },
        services,
      )
      return Result.succeed(task)
    })
  },
}

const unpriced: ServiceError = serviceError("pricing_guard_tripped", "This model has no price for such a video")
const goneVendor: ServiceError = serviceError("bad_request", "The vendor of this video is not the model's any more")

/** Whether a target is the one that made a video, with the same account. */
const has = ({ vendor, model, isOwn }: CallTarget, source: VideoSource): boolean =>
  vendor.id === source.vendor && model === source.targetModel && isOwn === source.isOwn

const dialectAt = ({ dialect }: CallTarget): VideoDialect | undefined => dialect.video
