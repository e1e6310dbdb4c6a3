/** Sound in a prompt, which OpenAI's APIs share: data, and a short name of its format. */
import type { AudioBlock, FileBlock } from "../../protocol/block.ts"
import { all, carried, type FieldReader } from "../client/fields.ts"
import type { JsonObject } from "../parse/json.ts"

const soundFields = all(carried, "data", "format")

/** A client's part of the type `input_audio`. */
export const soundOf = (reader: FieldReader, part: JsonObject, path: string): JsonObject => {
  const { data, format } = reader.checked(soundFields, part["input_audio"], `${path}.input_audio`)
  return { t: "audio", mime: format === "mp3" ? "audio/mpeg" : `audio/${String(format)}`, data }
}

export const encodeSound = ({ data, mime }: AudioBlock | FileBlock): object => ({
  type: "input_audio",
  input_audio: { data, format: mime === "audio/mpeg" ? "mp3" : mime.slice("audio/".length) },
})
