/** Pictures of vendors' replies. */

import type { ImageFormat, MadeImage } from "../../protocol/kinds/image.ts"
import type { JsonObject } from "../parse/json.ts"

const dataUrl = /^data:([\w.+-]+\/[\w.+-]+);base64,(.+)$/s

/** A picture at an address, which may hold it, as a block of twp/1. */
export const imageBlockOf = (url: unknown): JsonObject => {
  const [, mime, data] = typeof url === "string" ? (dataUrl.exec(url) ?? []) : []
  return data === undefined ? { t: "image", mime: "image/*", url } : { t: "image", mime, data }
}

const beginnings: ReadonlyArray<readonly [string, string]> = [
  ["iVBORw0KGgo", "image/png"],
  ["/9j/", "image/jpeg"],
  ["UklGR", "image/webp"],
]

/**
 * A picture in base64; its first bytes show the format.
 * @param format the format if they do not
 */
export const pictureOf = (data: unknown, format: ImageFormat = "png"): MadeImage | undefined => {
  if (typeof data !== "string" || data === "" || !base64.test(data.slice(0, 64))) return undefined
  const known = beginnings.find(([beginning]) => data.startsWith(beginning))
  return { mime: known?.[1] ?? `image/${format}`, data }
}

const base64 = /^[A-Za-z0-9+/]+={0,2}$/

/** All pictures, if there is at least one and no more than were asked for. */
export const picturesOf = (
  found: ReadonlyArray<unknown>,
  n: number,
  format: ImageFormat | undefined,
): ReadonlyArray<MadeImage> | undefined => {
  const images = found.flatMap((data) => pictureOf(data, format) ?? [])
  return images.length > 0 && images.length === found.length && images.length <= n ? images : undefined
}
