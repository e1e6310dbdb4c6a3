/** Videos in OpenAI's format. Source: https://platform.openai.com/docs/api-reference/videos */

import { Result } from "effect"
import { VideoVariant } from "../../protocol/kinds/video.ts"
import { entryOf } from "../../protocol/values/entry.ts"
import type { VendorJob, VideoDialect } from "../media-dialect.ts"
import { type JsonObject, numberAt, objectAt, stringAt } from "../parse/json.ts"
import type { VendorFault } from "../vendor/faults.ts"
import { formRequest } from "../vendor/form-body.ts"
import { jsonRequest } from "../whole-dialect.ts"
import { openaiFault } from "./faults.ts"

/** OpenAI's four states, and those of servers that are compatible with it. */
const states: Readonly<Record<string, VendorJob["state"]>> = {
  queued: "queued",
  pending: "queued",
  in_progress: "running",
  processing: "running",
  running: "running",
  completed: "done",
  succeeded: "done",
  failed: "failed",
  error: "failed",
  expired: "failed",
  cancelled: "failed",
  canceled: "failed",
}

const stateOf = (body: JsonObject): VendorJob["state"] | undefined => entryOf(states, stringAt(body, "status"))

/** Characters of an unknown state that are logged. */
/** An id that the books can store, and that fits into a path. */
const jobId = /^[\x21-\x7e]{1,512}$/

const mostStateCharacters = 64

const at = (job: string): string => `/videos/${encodeURIComponent(job)}`
/** The code shows the fault: a filter, or the vendor. */
const failureOf = (body: JsonObject): VendorFault =>
  openaiFault(objectAt(body, "error") ?? { code: stringAt(body, "status") ?? "failed" })

const plain = { headers: { accept: "application/json" }, body: "" }

/** Other models with this API have lengths of their own. */
const soraSeconds = [4, 8, 12]

export const openaiVideo: VideoDialect = {
  encode: ({ prompt, seconds, size, image, source }, model, family) => {
    if (source !== undefined) return Result.succeed(jsonRequest(`${at(source)}/remix`, { prompt }))
    return family.startsWith("sora-2") && !soraSeconds.includes(seconds)
      ? Result.fail({ capability: "seconds", message: `a video of this model has ${soraSeconds.join(", ")} seconds` })
      : Result.succeed(
          formRequest("/videos", [
            ["model", model],
            ["prompt", prompt],
            ["seconds", String(seconds)],
            ["size", size],
            ["input_reference", image && { file: image.file, mime: image.mime }],
          ]),
        )
  },
  decode: (body) => {
    const job = stringAt(body, "id")
    return job === undefined || !jobId.test(job) || stateOf(body) === "failed" ? undefined : { job }
  },
  faultIn: (body) => (stateOf(body) === "failed" ? failureOf(body) : undefined),
  poll: (job) => ({ ...plain, method: "GET", path: at(job) }),
  status: (body) => {
    const status = stringAt(body, "status")
    if (status === undefined) return undefined
    const state = stateOf(body)
    if (state === undefined) return { state: "running", unknownState: status.slice(0, mostStateCharacters) }
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
