/** Videos towards clients of OpenAI's API. Source: https://platform.openai.com/docs/api-reference/videos */
import type { VideoJob } from "../../protocol/video.ts"
import { all, carried, FieldReader, type FieldTable, present } from "../fields.ts"
import type { MediaClient } from "./media-client.ts"
import { openaiErrors } from "./whole-client.ts"

const videoFields: FieldTable = all(carried, "model", "prompt", "seconds", "size")

/** As the API has it. */
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
      }),
      reply: openaiVideoOf,
    })
  },
}

const states: Readonly<Record<VideoJob["status"], string>> = {
  queued: "queued",
  running: "in_progress",
  done: "completed",
  failed: "failed",
  cancelled: "failed",
}

export const openaiVideoOf = ({ id, status, model, progress, createdAt, seconds, size, error }: VideoJob) => ({
  id,
  object: "video",
  model,
  status: states[status],
  progress,
  created_at: Math.floor(Date.parse(createdAt) / 1000),
  ...(seconds !== undefined && { seconds: String(seconds) }),
  ...(size !== undefined && { size }),
  error: error ?? (status === "cancelled" ? { code: "cancelled", message: "The job was cancelled" } : null),
})
