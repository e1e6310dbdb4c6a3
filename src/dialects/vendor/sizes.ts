/** Sizes of pictures in the words of vendors: pixels, a ratio, or lines. */

export interface Size {
  readonly width?: number
  readonly height?: number
  /** In its lowest terms, e.g. `16:9`. */
  readonly ratio?: string
  /** In thousands of pixels of a side, e.g. `2K`. */
  readonly lines?: string
}

/** @param resolution lines, where the size is a ratio */
export const readSize = (size: string | undefined, resolution: string | undefined): Size => {
  const lines = resolution?.toUpperCase()
  if (size === undefined || size === "auto") return lines === undefined ? {} : { lines }
  if (/^[\d.]+k$/i.test(size)) return { lines: size.toUpperCase() }
  const isPixels = size.includes("x")
  const [width = 0, height = 0] = size.split(isPixels ? "x" : ":").map(Number)
  const divisor = commonDivisor(width, height)
  return {
    ...(isPixels && { width, height }),
    ratio: `${width / divisor}:${height / divisor}`,
    ...(lines !== undefined && { lines }),
  }
}

const commonDivisor = (a: number, b: number): number => (b === 0 ? Math.max(a, 1) : commonDivisor(b, a % b))
