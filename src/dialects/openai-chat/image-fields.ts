/** The fields of models of pictures with OpenAI's API, by family and by vendor. */
import { Result } from "effect"
import type { ImageAsked } from "../media-dialect.ts"
import { readSize } from "../vendor/sizes.ts"
import type { EncodeRefusal } from "../wire.ts"
import { type ImageWord, imageWordNames, imageWords } from "./image-words.ts"
import type { ImageProfile } from "./kind-profiles.ts"

export interface ImageFamily {
  /** Models that answer with the picture itself; others are asked for it. */
  readonly isOwn: boolean
  readonly streams: boolean
  /** The maximum number of pictures of one request. */
  readonly maxImages: number
  readonly words: ReadonlyArray<ImageWord>
  /** The form of a size; as requested if absent. */
  readonly size?: ImageProfile["size"]
  readonly data: "b64_json" | "base64"
  readonly path: "/images/generations" | "/images"
  /** The form in JSON of pictures to change; if absent, they are sent in a multipart form. */
  readonly edits?: EditForm
}

export interface EditForm {
  readonly path: "/images/edits" | ImageFamily["path"]
  /** The field of a single picture, if it has one of its own. */
  readonly one?: string
  readonly many: string
  /** The text before the data URL of each, and after it. */
  readonly before: string
  readonly after: string
}

const editForms: Readonly<Record<NonNullable<ImageProfile["edits"]>, EditForm>> = {
  objects: { path: "/images/edits", one: "image", many: "images", before: '{"url":', after: "}" },
  references: {
    path: "/images",
    many: "input_references",
    before: '{"type":"image_url","image_url":{"url":',
    after: "}}",
  },
}

/** https://platform.openai.com/docs/api-reference/images/create; its models no longer have a style. */
const own: ImageFamily = {
  isOwn: true,
  streams: true,
  maxImages: 10,
  words: imageWordNames.filter((name) => name !== "style" && name !== "seed"),
  data: "b64_json",
  path: "/images/generations",
}

/** An unknown server: the request is sent unchanged, and it asks for the picture itself. */
const other: ImageFamily = { ...own, isOwn: false, streams: false, words: ["quality", "background", "style", "seed"] }

const addresses: EditForm = { path: "/images/generations", many: "image", before: "", after: "" }

const families: ReadonlyArray<readonly [name: RegExp, family: ImageFamily]> = [
  [/^(gpt|chatgpt)-image/, own],
  [/^dall-e-3/, { ...other, words: ["quality", "style"], maxImages: 1 }],
  [/^dall-e/, { ...other, words: [] }],
  /** https://docs.byteplus.com/en/docs/ModelArk/1541523: pictures to change are sent beside the prompt; one is made at a time. */
  [/seedream/, { ...other, words: ["seed"], maxImages: 1, edits: addresses }],
]

export const imageFamilyOf = (profile: ImageProfile, name: string): ImageFamily => {
  const { size, data = "b64_json", words = other.words, path = own.path, edits } = profile
  const family = path === own.path ? families.find(([known]) => known.test(name))?.[1] : undefined
  if (family !== undefined) return family
  if (profile.isOwn === true && path === own.path) return own
  return {
    ...other,
    isOwn: profile.isOwn === true,
    ...(size !== undefined && { size }),
    data,
    words,
    path,
    ...(edits !== undefined && { edits: editForms[edits] }),
  }
}

/** The fields beside model, prompt and pictures; or the first field that the model does not support. */
export const imageFields = (
  asked: ImageAsked,
  family: ImageFamily,
): Result.Result<Readonly<Record<string, string | number>>, EncodeRefusal> => {
  const fields: Record<string, string | number> = asked.n === 1 ? {} : { n: asked.n }
  for (const name of imageWordNames) {
    const value = asked[name]
    if (value === undefined) continue
    const { field, neutral } = imageWords[name]
    if (family.words.includes(name)) fields[field] = value
    else if (value !== neutral) return Result.fail({ capability: name, message: `this model has no ${name}` })
  }
  if (asked.mask !== undefined && family.edits !== undefined) {
    return Result.fail({ capability: "mask", message: "this model takes no mask" })
  }
  const contradiction = family.isOwn ? contradictionIn(asked) : undefined
  if (contradiction !== undefined) return Result.fail(contradiction)
  return Result.map(sizeFields(asked, family), (size) => ({
    ...fields,
    ...size,
    ...(!family.isOwn && { response_format: family.data }),
  }))
}

/** Requests that the vendor refuses. Source: https://platform.openai.com/docs/api-reference/images/create */
const contradictionIn = ({ format = "png", compression = 100, background }: ImageAsked): EncodeRefusal | undefined => {
  if (format === "png" && compression !== 100) {
    return { capability: "compression", message: "a png is compressed without losses" }
  }
  return format === "jpeg" && background === "transparent"
    ? { capability: "background", message: "a jpeg has no transparent background" }
    : undefined
}

const sizeFields = (
  { size, resolution }: ImageAsked,
  family: ImageFamily,
): Result.Result<Readonly<Record<string, string | number>>, EncodeRefusal> => {
  const { width, height, ratio, lines } = readSize(size, resolution)
  switch (family.size) {
    case "ratio":
      return Result.succeed({
        ...(ratio !== undefined && { aspect_ratio: ratio }),
        ...(lines !== undefined && { resolution: lines.toLowerCase() }),
      })
    case "words":
      return Result.succeed({
        ...(width === undefined ? ratio !== undefined && { aspect_ratio: ratio } : size !== undefined && { size }),
        ...(lines !== undefined && { resolution: lines }),
      })
    case "sides":
      if (width !== undefined && height !== undefined) return Result.succeed({ width, height })
      return ratio === undefined && lines === undefined
        ? Result.succeed({})
        : Result.fail({ capability: "size", message: "this model knows sizes of pixels" })
    default:
      if (resolution !== undefined) {
        return Result.fail({ capability: "resolution", message: "this model knows sizes alone" })
      }
      return Result.succeed(size === undefined ? {} : { size })
  }
}
