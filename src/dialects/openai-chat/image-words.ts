/** Optional fields of a request for pictures: the fields of OpenAI's API, and the values that change nothing. */

export const imageWords = {
  quality: { field: "quality", neutral: "auto" },
  background: { field: "background", neutral: "auto" },
  format: { field: "output_format", neutral: "png" },
  compression: { field: "output_compression", neutral: 100 },
  fidelity: { field: "input_fidelity", neutral: "low" },
  moderation: { field: "moderation", neutral: "auto" },
  style: { field: "style", neutral: "vivid" },
  seed: { field: "seed", neutral: -1 },
} as const

export type ImageWord = keyof typeof imageWords

export const imageWordNames = [
  "quality",
  "background",
  "format",
  "compression",
  "fidelity",
  "moderation",
  "style",
  "seed",
] as const
