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
