/** Videos in Gemini's format: a long-running operation. Source: https://ai.google.dev/gemini-api/docs/video */

import { Result } from "effect"
import type { MediaBody } from "../../media/media-file.ts"
import { entryOf } from "../../protocol/values/entry.ts"
import type { VideoAsked, VideoDialect } from "../media-dialect.ts"
import { type JsonObject, objectAt, objectsAt, reportedCountAt, stringAt } from "../parse/json.ts"
import { filteredReply, malformedReply, type VendorFault } from "../vendor/faults.ts"
import { jsonRequest } from "../whole-dialect.ts"
import type { EncodeRefusal } from "../wire.ts"
import { geminiFault } from "./faults.ts"

interface Format {
  readonly aspectRatio?: string
  readonly resolution?: string
}

/** The vendor's names of sizes: a ratio and a number of lines. */
const sizes: Readonly<Record<string, Format>> = {
  "16:9": { aspectRatio: "16:9" },
  "9:16": { aspectRatio: "9:16" },
  "720p": { resolution: "720p" },
  "1080p": { resolution: "1080p" },
  "1280x720": { aspectRatio: "16:9", resolution: "720p" },
  "720x1280": { aspectRatio: "9:16", resolution: "720p" },
  "1920x1080": { aspectRatio: "16:9", resolution: "1080p" },
  "1080x1920": { aspectRatio: "9:16", resolution: "1080p" },
}

const noSize: Format = {}

const plain = { headers: { accept: "application/json" }, body: "" }

export const geminiVideo: VideoDialect = {
  encode: ({ prompt, seconds, size, image, source }: VideoAsked, model, family) => {
    if (source !== undefined)
      return Result.fail({ capability: "source", message: "this vendor does not change finished videos" })
    const format = size === undefined ? noSize : entryOf(sizes, size)
    if (format === undefined) {
      const refused: EncodeRefusal = {
        capability: "size",
        message: `this model knows ${Object.keys(sizes).join(", ")}`,
      }
      return Result.fail(refused)
    }
    const known = format.resolution === "1080p" ? [8] : family.startsWith("veo-2") ? [5, 6, 7, 8] : [4, 6, 8]
    if (/^veo-/.test(family) && !known.includes(seconds)) {
      return Result.fail({
        capability: "seconds",
        message: `such a video of this model has ${known.join(", ")} seconds`,
      })
    }
    const picture: MediaBody =
      image === undefined
        ? []
        : [`,"image":{"mimeType":${JSON.stringify(image.mime)},"bytesBase64Encoded":"`, { base64: image.file }, '"}']
    const parameters = { durationSeconds: seconds, ...format }
    const body: MediaBody = [
      `{"instances":[{"prompt":${JSON.stringify(prompt)}`,
      ...picture,
      `}],"parameters":${JSON.stringify(parameters)}}`,
    ]
    return Result.succeed({
      ...jsonRequest(`/v1beta/models/${encodeURIComponent(model)}:predictLongRunning`, {}),
      body,
    })
  },
  decode: (body) => {
    const job = stringAt(body, "name")
    return job !== undefined && operation.test(job) && !job.includes("..") ? { job } : undefined
  },
  poll: (job) => ({ ...plain, method: "GET", path: `/v1beta/${job}` }),
  status: (body) => {
    if (body["done"] !== true) return { state: "running" }
    const error = objectAt(body, "error")
    if (error !== undefined) return { state: "failed", fault: geminiFault(error) }
    const response = objectAt(body, "response")
    const content = uriOf(response)
    return content === undefined || !address.test(content)
      ? { state: "failed", fault: withoutVideo(response) }
      : { state: "done", content }
  },
  variants: ["video"],
  content: (_job, content = "", baseUrl) => {
    if (!URL.canParse(content)) return undefined
    const { origin, pathname, search } = new URL(content)
    // The key is sent to no other host.
    return origin === new URL(baseUrl).origin
      ? { headers: { accept: "*/*" }, body: "", method: "GET", path: `${pathname}${search}` }
      : undefined
  },
}

/** An address that the books can store. */
const address = /^[\x21-\x7e]{1,8192}$/

const operation = /^[\w./-]{1,512}$/

/** A video that was filtered is none. */
const withoutVideo = (response: JsonObject | undefined): VendorFault => {
  const filtered = reportedCountAt(objectAt(response, "generateVideoResponse"), "raiMediaFilteredCount") ?? 0
  return filtered > 0 ? filteredReply : { ...malformedReply, code: "no_video" }
}

const uriOf = (response: JsonObject | undefined): string | undefined => {
  const [sample] = objectsAt(objectAt(response, "generateVideoResponse"), "generatedSamples")
  return stringAt(objectAt(sample, "video"), "uri")
}
