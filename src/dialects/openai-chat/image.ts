/** Pictures in OpenAI's format, which many vendors share. Source: https://platform.openai.com/docs/api-reference/images */

import { Result } from "effect"
import type { MediaBody, NamedFile } from "../../media/media-file.ts"
import type { MadeFigures } from "../../protocol/kinds/image.ts"
import type { ImageAsked, ImageDialect, ReportedUsage } from "../media-dialect.ts"
import { type JsonObject, objectAt, objectsAt, reportedCountAt, stringAt } from "../parse/json.ts"
import { malformedReply } from "../vendor/faults.ts"
import { type FormPart, formRequest } from "../vendor/form-body.ts"
import { pictureOf, picturesOf } from "../vendor/pictures.ts"
import { jsonRequest } from "../whole-dialect.ts"
import { eventFault } from "./faults.ts"
import { type EditForm, type ImageFamily, imageFamilyOf, imageFields } from "./image-fields.ts"
import type { ImageProfile } from "./kind-profiles.ts"

export const makeImage = (profile: ImageProfile = {}): ImageDialect => ({
  maxImages: (name) => imageFamilyOf(profile, name).maxImages,
  encode: (asked, model, name) => {
    const family = imageFamilyOf(profile, name)
    return Result.map(imageFields(asked, family), (fields) => {
      const body = { model, prompt: asked.prompt, ...fields }
      const { edits, path } = family
      if (asked.images.length === 0) return jsonRequest(path, { ...body, ...streaming(asked, family) })
      return edits === undefined ? formEdit(asked, body, family) : jsonEdit(asked, body, edits)
    })
  },
  decode: (body, { n, format }) => {
    const items = objectsAt(body, "data")
    const images = picturesOf(
      items.map(({ b64_json }) => b64_json),
      n,
      format,
    )
    return (
      images && {
        images: images.map((image, at) => ({ ...image, ...promptOf(items[at]) })),
        made: figuresOf(body),
        usage: usageOf(objectAt(body, "usage")),
      }
    )
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
      : { whole: { images: [image], made: figuresOf(event), usage: usageOf(objectAt(event, "usage")) } }
  },
})

/** The number of partial pictures before the whole one, if the client does not set it. */
const usualPartials = 2

const streaming = (
  { stream, n, partialImages = usualPartials }: ImageAsked,
  { streams }: ImageFamily,
): { readonly stream?: true; readonly partial_images?: number } =>
  stream === true && streams && n === 1 ? { stream: true, partial_images: partialImages } : {}

/** Pictures as files, which the vendor takes by their type. */
const formEdit = ({ images, mask, ...asked }: ImageAsked, body: object, family: ImageFamily) => {
  const { stream, ...partials } = streaming({ images, mask, ...asked }, family)
  const fields: ReadonlyArray<FormPart> = Object.entries({ ...body, ...partials })
  return formRequest("/images/edits", [
    ...fields,
    ...images.map((image): FormPart => [family.isOwn ? "image[]" : "image", named(image)]),
    ["mask", mask && named(mask)],
    ["stream", stream && "true"],
  ])
}

const named = ({ file, mime }: NamedFile): NamedFile => ({ file, mime })

/** Pictures as data URLs within the JSON. */
const jsonEdit = ({ images }: ImageAsked, body: object, { path, one, many, before, after }: EditForm) => {
  const given = images.map((image): MediaBody => [before, ...dataUrl(image), after])
  const head = JSON.stringify(body).slice(0, -1)
  const isOne = one !== undefined && given.length === 1
  return {
    ...jsonRequest(path, {}),
    body: [`${head},"${isOne ? one : many}":${isOne ? "" : "["}`, ...separated(given), isOne ? "}" : "]}"],
  }
}

const dataUrl = ({ file, mime }: NamedFile): MediaBody => [`"data:${mime};base64,`, { base64: file }, '"']

const separated = (all: ReadonlyArray<MediaBody>): MediaBody =>
  all.flatMap((one, at) => (at === 0 ? one : [",", ...one]))

/** The prompt as the vendor changed it. */
const promptOf = (item: JsonObject | undefined) => {
  const prompt = stringAt(item, "revised_prompt")
  return prompt === undefined ? {} : { revisedPrompt: prompt }
}

/** Size, quality and background as the vendor names them: it chooses if the request says `auto`. */
const figuresOf = (body: JsonObject): MadeFigures => {
  const [size, quality, background] = ["size", "quality", "background"].map((name) => stringAt(body, name))
  return {
    ...(size !== undefined && { size }),
    ...(quality !== undefined && { quality }),
    ...(background !== undefined && { background }),
  }
}

const usageOf = (usage: JsonObject | undefined): ReportedUsage | undefined =>
  usage && {
    inTokens: reportedCountAt(usage, "input_tokens") ?? reportedCountAt(usage, "prompt_tokens"),
    outTokens: reportedCountAt(usage, "output_tokens") ?? reportedCountAt(usage, "completion_tokens"),
    imageIn: reportedCountAt(objectAt(usage, "input_tokens_details"), "image_tokens"),
  }
