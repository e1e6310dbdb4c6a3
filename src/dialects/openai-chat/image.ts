/** Pictures in OpenAI's words, which many vendors share. Source: https://platform.openai.com/docs/api-reference/images */

import { Result } from "effect"
import type { NamedFile } from "../../media/media-file.ts"
import { malformedReply } from "../faults.ts"
import { type FormPart, formRequest } from "../form-body.ts"
import { type JsonObject, objectAt, objectsAt, reportedCountAt, stringAt } from "../json.ts"
import type { ImageDialect, ReportedUsage } from "../media.ts"
import { pictureOf, picturesOf } from "../pictures.ts"
import { jsonRequest } from "../whole.ts"
import { eventFault } from "./faults.ts"

/** Models of this family answer with the picture itself and know its format; others are asked for the picture. */
const isOwnFamily = (model: string): boolean => /^(gpt|chatgpt)-image/.test(model)

export const openaiImage: ImageDialect = {
  maxImages: (model) => (model === "dall-e-3" ? 1 : 10),
  encode: ({ prompt, images, mask, n, size, quality, background, format, stream }, model) => {
    const isOwn = isOwnFamily(model)
    if (!isOwn && format !== undefined && format !== "png") {
      return Result.fail({ capability: "format", message: "this model makes png only" })
    }
    const asked: ReadonlyArray<readonly [string, string | number | undefined]> = [
      ["model", model],
      ["prompt", prompt],
      ["n", n === 1 ? undefined : n],
      ["size", size],
      ["quality", quality],
      ["background", background],
      ["output_format", isOwn ? format : undefined],
      ["response_format", isOwn ? undefined : "b64_json"],
    ]
    const isStreamed = stream === true && isOwn && n === 1
    if (images.length === 0) {
      const body = Object.fromEntries(asked.filter(([, value]) => value !== undefined))
      return Result.succeed(
        jsonRequest("/images/generations", { ...body, ...(isStreamed && { stream: true, partial_images: partials }) }),
      )
    }
    const files: ReadonlyArray<FormPart> = images.map((image) => [isOwn ? "image[]" : "image", named(image)])
    const streaming: ReadonlyArray<FormPart> = [
      ["stream", isStreamed ? "true" : undefined],
      ["partial_images", isStreamed ? partials : undefined],
    ]
    return Result.succeed(
      formRequest("/images/edits", [...asked, ...files, ["mask", mask && named(mask)], ...streaming]),
    )
  },
  decode: (body, { n, format }) => {
    const images = picturesOf(
      objectsAt(body, "data").map(({ b64_json }) => b64_json),
      n,
      format,
    )
    return images && { images, usage: usageOf(objectAt(body, "usage")) }
  },
  event: (event) => {
    const type = stringAt(event, "type") ?? ""
    if (type === "error" || event["error"] !== undefined) {
      return { fault: eventFault(event) }
    }
    const image = pictureOf(event["b64_json"])
    if (/^image_(generation|edit)\.partial_image$/.test(type)) return image && { partial: image }
    if (!/^image_(generation|edit)\.completed$/.test(type)) return undefined
    return image === undefined
      ? { fault: malformedReply }
      : { whole: { images: [image], usage: usageOf(objectAt(event, "usage")) } }
  },
}

/** Partial pictures before the whole one. */
const partials = 2

/** The vendor takes files by their name. */
const named = ({ file, mime }: NamedFile): NamedFile => ({ file, mime })

const usageOf = (usage: JsonObject | undefined): ReportedUsage | undefined =>
  usage && {
    inTokens: reportedCountAt(usage, "input_tokens"),
    outTokens: reportedCountAt(usage, "output_tokens"),
    imageIn: reportedCountAt(objectAt(usage, "input_tokens_details"), "image_tokens"),
  }
