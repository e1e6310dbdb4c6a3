/**
 * Pictures in Gemini's format: `generateContent` with the modality of pictures, `predict` for Imagen. Source:
 * https://ai.google.dev/gemini-api/docs/image-generation, https://ai.google.dev/gemini-api/docs/imagen
 */
import { Result } from "effect"
import type { MediaBody, NamedFile } from "../../media/media-file.ts"
import type { ImageAsked, ImageDialect, ReportedUsage } from "../media-dialect.ts"
import { type JsonObject, objectAt, objectsAt, reportedCountAt } from "../parse/json.ts"
import { picturesOf } from "../vendor/pictures.ts"
import { readSize, type Size } from "../vendor/sizes.ts"
import { jsonRequest } from "../whole-dialect.ts"
import type { EncodeRefusal, WireRequest } from "../wire.ts"
import { geminiFilter } from "./faults.ts"

const isImagen = (family: string): boolean => family.startsWith("imagen-")

const ratios = ["1:1", "2:3", "3:2", "3:4", "4:3", "4:5", "5:4", "9:16", "16:9", "21:9"]
/** https://ai.google.dev/gemini-api/docs/image-generation#aspect_ratios_and_image_size, of Gemini 3.1 alone */
const moreRatios = ["1:4", "4:1", "1:8", "8:1"]
const knownLines = ["1K", "2K", "4K"]
const moreLines = ["0.5K"]
const knowsMore = (family: string): boolean => family.startsWith("gemini-3.1")

export const geminiImage: ImageDialect = {
  maxImages: (family) => (isImagen(family) ? 4 : 1),
  encode: (asked, model, family) => {
    const refused = refusalOf(asked, family)
    if (refused !== undefined) return Result.fail(refused)
    const size = readSize(asked.size, asked.resolution)
    return Result.succeed(isImagen(family) ? predict(asked, model, size) : generate(asked, model, size))
  },
  decode: (body, { n, format }) => {
    const predicted = objectsAt(body, "predictions").map(({ bytesBase64Encoded }) => bytesBase64Encoded)
    const generated = objectsAt(body, "candidates").flatMap((candidate) =>
      objectsAt(objectAt(candidate, "content"), "parts").flatMap((part) => {
        // Drafts of a model that reasons are no pictures of the reply.
        const inline = part["thought"] === true ? undefined : objectAt(part, "inlineData")
        return inline === undefined ? [] : [inline["data"]]
      }),
    )
    const images = picturesOf([...predicted, ...generated], n, format)
    return images && { images, usage: usageOf(objectAt(body, "usageMetadata")) }
  },
  faultIn: geminiFilter,
}

/** Fields that only other vendors have, with the values that change nothing and are accepted. */
const others = { quality: "auto", compression: 100, fidelity: "low", moderation: "auto", style: "vivid" } as const
const otherNames = ["quality", "compression", "fidelity", "moderation", "style"] as const

const refusalOf = (asked: ImageAsked, family: string) => {
  const { mask, images, background, format, size, resolution } = asked
  const refuse = (capability: string, message: string): EncodeRefusal => ({ capability, message })
  const { ratio, lines } = readSize(size, resolution)
  const [allRatios, allLines] = knowsMore(family)
    ? [
        [...ratios, ...moreRatios],
        [...knownLines, ...moreLines],
      ]
    : [ratios, knownLines]
  if (ratio !== undefined && !allRatios.includes(ratio)) {
    return refuse("size", "this model knows sizes of the ratios 1:1, 2:3, 3:4, 4:5, 9:16, 21:9 and their reverses")
  }
  if (lines !== undefined && !allLines.includes(lines)) {
    return refuse("resolution", `this model knows ${allLines.join(", ")}`)
  }
  if (mask !== undefined) return refuse("mask", "this model takes no mask")
  if (isImagen(family) && images.length > 0) return refuse("images", "this model changes no pictures")
  if (background === "transparent") return refuse("background", "this model makes no transparent background")
  if (format === "webp" || (format === "jpeg" && !isImagen(family))) return refuse("format", "this model makes png")
  const lacking = otherNames.find((name) => asked[name] !== undefined && asked[name] !== others[name])
  return lacking && refuse(lacking, `this model has no ${lacking}`)
}

const predict = ({ prompt, n, format, seed }: ImageAsked, model: string, { ratio, lines }: Size): WireRequest =>
  jsonRequest(`/v1beta/models/${encodeURIComponent(model)}:predict`, {
    instances: [{ prompt }],
    parameters: {
      sampleCount: n,
      ...(ratio !== undefined && { aspectRatio: ratio }),
      ...(lines !== undefined && { sampleImageSize: lines }),
      // A picture with a watermark has no seed.
      ...(seed !== undefined && { seed, addWatermark: false }),
      ...(format === "jpeg" && { outputOptions: { mimeType: "image/jpeg" } }),
    },
  })

const generate = (
  { prompt, images, seed }: ImageAsked,
  model: string,
  { ratio, lines }: Size,
): WireRequest<string | MediaBody> => {
  const config = {
    responseModalities: ["TEXT", "IMAGE"],
    ...((ratio !== undefined || lines !== undefined) && {
      imageConfig: {
        ...(ratio !== undefined && { aspectRatio: ratio }),
        ...(lines !== undefined && { imageSize: lines }),
      },
    }),
    ...(seed !== undefined && { seed }),
  }
  const path = `/v1beta/models/${encodeURIComponent(model)}:generateContent`
  const body: MediaBody = [
    `{"contents":[{"role":"user","parts":[${JSON.stringify({ text: prompt })}`,
    ...images.flatMap(inlinePart),
    `]}],"generationConfig":${JSON.stringify(config)}}`,
  ]
  return { ...jsonRequest(path, {}), body }
}

const inlinePart = ({ file, mime }: NamedFile): MediaBody => [
  `,{"inlineData":{"mimeType":${JSON.stringify(mime)},"data":"`,
  { base64: file },
  '"}}',
]

const usageOf = (usage: JsonObject | undefined): ReportedUsage | undefined =>
  usage && {
    inTokens: reportedCountAt(usage, "promptTokenCount"),
    outTokens: outTokensOf(usage),
    imageIn: tokensOf(usage, "promptTokensDetails", "IMAGE"),
  }

const outTokensOf = (usage: JsonObject): number | undefined => {
  const made = reportedCountAt(usage, "candidatesTokenCount")
  return made === undefined ? undefined : made + (reportedCountAt(usage, "thoughtsTokenCount") ?? 0)
}

/** Tokens of one modality. */
const tokensOf = (usage: JsonObject, details: string, modality: string): number | undefined =>
  reportedCountAt(
    objectsAt(usage, details).find((detail) => detail["modality"] === modality),
    "tokenCount",
  )
