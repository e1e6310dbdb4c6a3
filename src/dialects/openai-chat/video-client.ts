/** Videos towards clients of OpenAI's API. Source: https://platform.openai.com/docs/api-reference/videos */
import type { VideoJob } from "../../protocol/kinds/video.ts"
import { all, carried, FieldReader, type FieldTable, isAbsent, present } from "../client/fields.ts"
import { type MediaClient, pictureIn } from "./media-client.ts"
import { openaiErrors } from "./whole-client.ts"

const videoFields: FieldTable = all(carried, "model", "prompt", "seconds", "size", "input_reference")

/** The default of the API. */
const defaultSeconds = "4"

export const openaiVideos: MediaClient<VideoJob> = {
  name: "OpenAI videos",
  errors: openaiErrors,
  fields: videoFields,
  fieldNames: [["image", "input_reference"]],
  types: {},
  files: { input_reference: "image" },
  decode: (body) => {
    const reader = new FieldReader()
    reader.check(videoFields, body, "")
    const model = reader.string(body["model"], "model")
    const { seconds = defaultSeconds } = body
    return reader.result({
      omitted: reader.omitted,
      model,
      request: present({
        prompt: body["prompt"],
        // Text in this API.
        seconds: typeof seconds === "string" && /^\d{1,4}$/.test(seconds) ? Number(seconds) : seconds,
        size: body["size"],
        image: isAbsent(body["input_reference"])
          ? undefined
          : pictureIn(reader, body["input_reference"], "input_reference"),
      }),
      reply: openaiVideoOf,
    })
  },
}

const remixFields: FieldTable = all(carried, "prompt")

/** A finished video with another prompt; the rest is that video's. */
export const openaiRemixes: MediaClient<VideoJob> = {
  name: "OpenAI video remixes",
  errors: openaiErrors,
  fields: remixFields,
  fieldNames: [["source", "video_id"]],
  types: {},
  files: {},
  decode: (body) => {
    const reader = new FieldReader()
    reader.check(remixFields, body, "")
    const request = present({ prompt: body["prompt"] })
    return reader.result({ omitted: reader.omitted, model: "", request, reply: openaiVideoOf })
  },
}

const states: Readonly<Record<VideoJob["status"], string>> = {
  queued: "queued",
  running: "in_progress",
  done: "completed",
  failed: "failed",
  cancelled: "failed",
}

export const openaiVideoOf = ({ id, status, model, progress, createdAt, endedAt, ...job }: VideoJob) => ({
  id,
  object: "video",
  model,
  status: states[status],
  progress,
  created_at: secondsOf(createdAt),
  completed_at: endedAt !== undefined && status === "done" ? secondsOf(endedAt) : null,
  // Neither is known here: a vendor decides how long it stores its videos, and prompts are not stored.
  expires_at: null,
  prompt: null,
  remixed_from_video_id: job.remixedFrom ?? null,
  ...(job.seconds !== undefined && { seconds: String(job.seconds) }),
  ...(job.size !== undefined && { size: job.size }),
  error: job.error ?? (status === "cancelled" ? { code: "cancelled", message: "The job was cancelled" } : null),
})

const secondsOf = (instant: string): number => Math.floor(Date.parse(instant) / 1000)

export const openaiVideosOf = (jobs: ReadonlyArray<VideoJob>, hasMore: boolean) => ({
  object: "list",
  data: jobs.map(openaiVideoOf),
  first_id: jobs[0]?.id ?? null,
  last_id: jobs.at(-1)?.id ?? null,
  has_more: hasMore,
})
