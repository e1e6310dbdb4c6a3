/**
 * Opaque reasoning means something only to the vendor that wrote it. Its dialect is kept in the signature, so that a
 * thread may move between vendors: each gives back its own, and leaves the others' behind. Anthropic's stand as they came.
 */
type SigningDialect = "anthropic" | "openai" | "gemini" | "openrouter"

const tagged = /^(openai|gemini|openrouter):/

/** A vendor's signature as twp/1 carries it. */
export const signFor = (dialect: SigningDialect, signature: string): string =>
  dialect === "anthropic" ? signature : `${dialect}:${signature}`

/** The vendor's own signature; undefined where there is none, or it is another vendor's. */
export const signatureFor = (dialect: SigningDialect, signature: string | undefined): string | undefined => {
  if (signature === undefined) return undefined
  const [tag] = tagged.exec(signature) ?? []
  if (dialect === "anthropic") return tag === undefined ? signature : undefined
  return tag === `${dialect}:` ? signature.slice(tag.length) : undefined
}
