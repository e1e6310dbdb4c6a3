/** An identity at a cloud that an organisation brought, as text in the place of its key: it is sealed like one. */
import { Schema } from "effect"
import { OwnIdentity } from "../protocol/control/own-identity.ts"

/** No key has this character. */
const mark = "\u0001"
const Stored = Schema.fromJsonString(OwnIdentity)

export const storedIdentity = (own: OwnIdentity): string => mark + Schema.encodeSync(Stored)(own)

/** The identity in a stored text; undefined if the text is a key. */
export const readStoredIdentity = (text: string): OwnIdentity | undefined => {
  if (!text.startsWith(mark)) return undefined
  const found = Schema.decodeUnknownOption(Stored)(text.slice(mark.length))
  return found._tag === "None" ? undefined : found.value
}
