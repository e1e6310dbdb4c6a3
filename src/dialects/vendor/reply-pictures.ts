/** Pictures in replies of chat: vendors that have them send them in blocks of their own. */
import type { VendorBlock } from "../../protocol/block.ts"
import type { MadeImage } from "../../protocol/kinds/image.ts"
import { objectAt, parseObject, stringAt } from "../parse/json.ts"
import { imageBlockOf, pictureOf } from "./pictures.ts"

type Told = Pick<VendorBlock, "dialect" | "v">

/** The picture of a block; undefined if it has none, or one that the model made while it thought. */
export const pictureIn = ({ dialect, v }: Told): MadeImage | undefined => {
  const made = parseObject(v)
  if (dialect === "openai" && made?.["type"] === "image_generation_call") return pictureOf(made["result"])
  if (dialect !== "gemini" || made?.["thought"] === true) return undefined
  const inline = objectAt(made, "inlineData")
  const mime = stringAt(inline, "mimeType") ?? ""
  const data = stringAt(inline, "data") ?? ""
  return mime.startsWith("image/") && data !== "" ? { mime, data } : undefined
}

/**
 * A picture in the form of chat completions, at vendors whose models draw:
 * https://openrouter.ai/docs/features/multimodal/image-generation
 */
export const chatPicture = ({ mime, data }: MadeImage, index: number) => ({
  type: "image_url",
  image_url: { url: `data:${mime};base64,${data}` },
  index,
})

/** The same as a part of Gemini's, in JSON. @param url of the picture, which may hold it */
export const pictureBlock = (url: string): string => {
  const { mime, data } = imageBlockOf(url)
  return JSON.stringify(
    data === undefined ? { fileData: { mimeType: mime, fileUri: url } } : { inlineData: { mimeType: mime, data } },
  )
}
