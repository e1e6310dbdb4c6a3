/** A model's handle in a path of Gemini's API. Pure. */

/** The characters of a model in a path, before a colon and a method. */
export const modelPattern = "([\\w.~%-]+)"

/** The handle: handles are plain, and escapes of other characters name no model. */
export const handleInPath = (text: string | undefined): string | undefined =>
  text === undefined || /%(?![2-7][0-9a-fA-F])/.test(text) ? undefined : decodeURIComponent(text)
