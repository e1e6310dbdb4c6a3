/** The seal of reasoning that a twin of OpenAI's gives, and takes back. */

const sealed = "gAAAAABtwin"

export const sealOf = (reasoning: string): string => sealed + Buffer.from(reasoning).toString("base64url").slice(0, 24)

export const isOwnSeal = (content: string): boolean => content.startsWith(sealed)
