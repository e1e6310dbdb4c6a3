/** The signatures that a twin of Gemini gives, and takes back. */

const signed = "twin+gemini/"

export const signatureOf = (text: string): string => signed + Buffer.from(text).toString("base64").slice(0, 24)

/** Says that a call has no signature: https://ai.google.dev/gemini-api/docs/thought-signatures */
const bypasses = new Set(["skip_thought_signature_validator", "context_engineering_is_the_way_to_go"])

export const isOwnSignature = (signature: string): boolean => signature.startsWith(signed) || bypasses.has(signature)
