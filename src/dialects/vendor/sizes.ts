/** Sizes of pictures in the forms of vendors: pixels, a ratio, or lines. */

export interface Size {
  readonly width?: number
  readonly height?: number
  /** The ratio in its lowest terms, e.g. `16:9`. */
  readonly ratio?: string
  /** The resolution in thousands of pixels of a side, e.g. `2K`. */
  readonly lines?: string
}

/** @param resolution the lines, if the size is a ratio */
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
