/**
 * Pictures in Gemini's words: `generateContent` with the modality of pictures, `predict` for Imagen.
 * Source: https://ai.google.dev/gemini-api/docs/image-generation, https://ai.google.dev/gemini-api/docs/imagen
 */
import { Result } from "effect"
import type { MediaBody, NamedFile } from "../../media/media-file.ts"
import { type JsonObject, objectAt, objectsAt, reportedCountAt } from "../json.ts"
import type { ImageAsked, ImageDialect, ReportedUsage } from "../media.ts"
import { picturesOf } from "../pictures.ts"
import { jsonRequest } from "../whole.ts"
import type { EncodeRefusal, WireRequest } from "../wire.ts"
import { geminiFilter } from "./faults.ts"

const isImagen = (model: string): boolean => model.startsWith("imagen-")

const ratios: ReadonlyArray<readonly [number, number]> = [
  [1, 1],
  [2, 3],
  [3, 2],
  [3, 4],
  [4, 3],
  [4, 5],
  [5, 4],
  [9, 16],
  [16, 9],
  [21, 9],
]

export const geminiImage: ImageDialect = {
  maxImages: (model) => (isImagen(model) ? 4 : 1),
  encode: (asked, model) => {
    const refused = refusalOf(asked, model)
    if (refused !== undefined) return Result.fail(refused)
    const ratio = ratioOf(asked.size)
    return Result.succeed(isImagen(model) ? predict(asked, model, ratio) : generate(asked, model, ratio))
  },
  decode: (body, { n, format }) => {
    const predicted = objectsAt(body, "predictions").map(({ bytesBase64Encoded }) => bytesBase64Encoded)
    const generated = objectsAt(body, "candidates").flatMap((candidate) =>
      objectsAt(objectAt(candidate, "content"), "parts").flatMap((part) => {
        // Drafts of a model that thinks are no pictures of the reply.
        const inline = part["thought"] === true ? undefined : objectAt(part, "inlineData")
        return inline === undefined ? [] : [inline["data"]]
      }),
    )
    const images = picturesOf([...predicted, ...generated], n, format)
    return images && { images, usage: usageOf(objectAt(body, "usageMetadata")) }
  },
  faultIn: geminiFilter,
}

const refusalOf = ({ size, mask, images, background, quality, format }: ImageAsked, model: string) => {
  const refuse = (capability: string, message: string): EncodeRefusal => ({ capability, message })
  if (size !== undefined && size !== "auto" && ratioOf(size) === undefined) {
    return refuse("size", "this model knows sizes of the ratios 1:1, 2:3, 3:4, 4:5, 9:16, 21:9 and their reverses")
  }
  if (mask !== undefined) return refuse("mask", "this model takes no mask")
  if (isImagen(model) && images.length > 0) return refuse("images", "this model changes no pictures")
  if (background === "transparent") return refuse("background", "this model makes no transparent background")
  if (quality !== undefined && quality !== "auto") return refuse("quality", "this model has one quality")
  if (format === "webp" || (format === "jpeg" && !isImagen(model))) return refuse("format", "this model makes png")
  return undefined
}

/** The ratio of a size, if the vendor knows it. */
const ratioOf = (size: string | undefined): string | undefined => {
  const [width = 0, height = 0] = (size ?? "").split("x").map(Number)
  const found = ratios.find(([w, h]) => width > 0 && width * h === height * w)
  return found?.join(":")
}

const predict = ({ prompt, n, format }: ImageAsked, model: string, ratio: string | undefined): WireRequest =>
  jsonRequest(`/v1beta/models/${encodeURIComponent(model)}:predict`, {
    instances: [{ prompt }],
    parameters: {
      sampleCount: n,
      ...(ratio !== undefined && { aspectRatio: ratio }),
      ...(format === "jpeg" && { outputOptions: { mimeType: "image/jpeg" } }),
    },
  })

const generate = (
  { prompt, images }: ImageAsked,
  model: string,
  ratio: string | undefined,
): WireRequest<string | MediaBody> => {
  const config = {
    responseModalities: ["TEXT", "IMAGE"],
    ...(ratio !== undefined && { imageConfig: { aspectRatio: ratio } }),
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
