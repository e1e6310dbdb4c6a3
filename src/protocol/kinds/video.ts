/** Videos, which are jobs: they outlive their request. */
import { Schema } from "effect"
import { ImageBlock } from "../block.ts"
import { ExchangeMeta } from "../exchange.ts"
import { ModelHandle } from "../model-handle.ts"

const optional = Schema.optionalKey

export const videoSizeForm = String.raw`([1-9]\d{0,4}x[1-9]\d{0,4}|[1-9]\d?:[1-9]\d?|[1-9]\d{2,3}p|[1-9]\d?[kK])`

const fields = {
  model: ModelHandle,
  prompt: Schema.NonEmptyString.check(Schema.isMaxLength(32_000)),
  /** The length of the video. */
  seconds: Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 120 })),
  /** A size that the model knows: width and height in pixels, a ratio such as `16:9`, or lines such as `720p` or `4K`. */
  size: optional(
    Schema.String.check(Schema.isPattern(new RegExp(`^${videoSizeForm}$`), { expected: "a size such as 1280x720" })),
  ),
  meta: optional(ExchangeMeta),
}

/** The fields beside the picture. */
export const VideoFields = Schema.Struct(fields)
export type VideoFields = typeof VideoFields.Type

/** The request in JSON; a form has the same fields, and the picture is its part `image`. */
export const VideoRequest = Schema.Struct({
  ...fields,
  /** The first picture. */
  image: optional(ImageBlock),
}).annotate({ identifier: "VideoRequest" })
export type VideoRequest = typeof VideoRequest.Type

/** The part of a finished video that is fetched: the video itself, one picture of it, or one picture of several moments. */
export const VideoVariant = Schema.Literals(["video", "thumbnail", "spritesheet"])
export type VideoVariant = typeof VideoVariant.Type

export const JobState = Schema.Literals(["queued", "running", "done", "failed", "cancelled"])
export type JobState = typeof JobState.Type

export const VideoJob = Schema.Struct({
  id: Schema.String,
  status: JobState,
  model: Schema.String,
  /** The progress in per cent. */
  progress: Schema.Int,
  createdAt: Schema.String,
  /** Absent while the job goes on. */
  endedAt: optional(Schema.String),
  seconds: optional(Schema.Int),
  size: optional(Schema.String),
  /** The video that it was made from. */
  remixedFrom: optional(Schema.String),
  /** The error of a job that failed: its hold was released. */
  error: optional(Schema.Struct({ code: Schema.String, message: Schema.String })),
}).annotate({ identifier: "VideoJob" })
export type VideoJob = typeof VideoJob.Type
