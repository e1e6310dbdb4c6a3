/**
 * Opaque reasoning is meaningful only to the vendor that wrote it. The signature contains the dialect's name, so that a
 * thread can move between vendors: each gets its own reasoning back. Anthropic's signatures are unchanged.
 */
type SigningDialect = "anthropic" | "openai" | "gemini" | "openrouter"

const tagged = /^(openai|gemini|openrouter):/

/** A vendor's signature in twp/1. */
export const signFor = (dialect: SigningDialect, signature: string): string =>
  dialect === "anthropic" ? signature : `${dialect}:${signature}`

/** The vendor's own signature; undefined if there is none, or it is another vendor's. */
export const signatureFor = (dialect: SigningDialect, signature: string | undefined): string | undefined => {
  if (signature === undefined) return undefined
  const [tag] = tagged.exec(signature) ?? []
  if (dialect === "anthropic") return tag === undefined ? signature : undefined
  return tag === `${dialect}:` ? signature.slice(tag.length) : undefined
}

/** The stand-in for a missing signature: https://ai.google.dev/gemini-api/docs/thought-signatures */
export const geminiBypass = "skip_thought_signature_validator"

/** Marks a signature of another vendor where a client of Gemini's API keeps bytes in base64. */
const wrapping = "weir:"

/** A signature as a client of Gemini's API gets it: Google's own as Google sent it, others in base64, which SDKs decode. */
export const signatureToGemini = (signature: string): string =>
  signatureFor("gemini", signature) ?? Buffer.from(wrapping + signature).toString("base64")

/** The signature that such a client sends back; a thread may have begun at Google itself. */
export const signatureFromGemini = (sent: string): string => {
  const text = Buffer.from(sent, "base64").toString("utf8")
  return text.startsWith(wrapping) ? text.slice(wrapping.length) : signFor("gemini", sent)
}

const ofAnthropic = "anthropic:"

/** A signature as a client of OpenAI's responses gets it, as an item's encrypted content. */
export const signatureToResponses = (signature: string): string =>
  tagged.test(signature) ? signature : ofAnthropic + signature

/**
 * The signature that such a client sends back; a thread may have begun at OpenAI itself.
 * @param id of the item
 */
export const signatureFromResponses = (sent: string, id: string): string => {
  if (tagged.test(sent)) return sent
  return sent.startsWith(ofAnthropic) ? sent.slice(ofAnthropic.length) : signFor("openai", `${id}:${sent}`)
}
