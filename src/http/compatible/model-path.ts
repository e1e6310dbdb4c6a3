/** Paths of Gemini's API: its versions, and a model's handle. Pure. */

/** Each has the same routes here. */
export const geminiVersions = ["v1", "v1beta", "v1alpha"] as const

/** The characters of a model in a path, before a colon and a method. */
export const modelPattern = "([\\w.~%-]+)"

/** The handle: handles are plain, and escapes of other characters name no model. */
export const handleInPath = (text: string | undefined): string | undefined =>
  text === undefined || /%(?![2-7][0-9a-fA-F])/.test(text) ? undefined : decodeURIComponent(text)
