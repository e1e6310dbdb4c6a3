/** Videos in OpenAI's words. Source: https://platform.openai.com/docs/api-reference/videos */

import { Result } from "effect"
import { VideoVariant } from "../../protocol/video.ts"
import { entryOf } from "../../protocol/words.ts"
import type { VendorFault } from "../faults.ts"
import { formRequest } from "../form-body.ts"
import { type JsonObject, numberAt, objectAt, stringAt } from "../json.ts"
import type { VendorJob, VideoDialect } from "../media.ts"
import { openaiFault } from "./faults.ts"

const states: Readonly<Record<string, VendorJob["state"]>> = {
  queued: "queued",
  in_progress: "running",
  completed: "done",
  failed: "failed",
}

const at = (job: string): string => `/videos/${encodeURIComponent(job)}`
/** Its code says what failed: a filter, or the vendor. */
const failureOf = (body: JsonObject): VendorFault => openaiFault(objectAt(body, "error") ?? { code: "failed" })

const plain = { headers: { accept: "application/json" }, body: "" }

export const openaiVideo: VideoDialect = {
  encode: ({ prompt, seconds, size, image }, model) =>
    Result.succeed(
      formRequest("/videos", [
        ["model", model],
        ["prompt", prompt],
        ["seconds", String(seconds)],
        ["size", size],
        ["input_reference", image && { file: image.file, mime: image.mime }],
      ]),
    ),
  decode: (body) => {
    const job = stringAt(body, "id")
    return job === undefined || job === "" || body["status"] === "failed" ? undefined : { job }
  },
  faultIn: (body) => (body["status"] === "failed" ? failureOf(body) : undefined),
  poll: (job) => ({ ...plain, method: "GET", path: at(job) }),
  status: (body) => {
    const state = entryOf(states, stringAt(body, "status"))
    if (state === undefined) return undefined
    const progress = numberAt(body, "progress")
    return {
      state,
      ...(progress !== undefined && { progress: Math.min(100, Math.max(0, Math.round(progress))) }),
      ...(state === "failed" && { fault: failureOf(body) }),
    }
  },
  cancel: (job) => ({ ...plain, method: "DELETE", path: at(job) }),
  variants: VideoVariant.literals,
  content: (job, _content, _baseUrl, variant) => ({
    headers: { accept: "*/*" },
    body: "",
    method: "GET",
    path: `${at(job)}/content${variant === "video" ? "" : `?variant=${variant}`}`,
  }),
}
