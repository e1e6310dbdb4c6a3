/** Files of requests, from their content. */
import { createHash } from "node:crypto"
import { headBytes, type MediaFile } from "../../src/media/media-file.ts"

export const mediaFileOf = (text: string): MediaFile => {
  const content = Buffer.from(text)
  return {
    bytes: content.length,
    sha256: createHash("sha256").update(content).digest("hex"),
    head: content.subarray(0, headBytes),
    chunks: async function* () {
      yield content
    },
  }
}
