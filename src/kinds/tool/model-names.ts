/** Names of tools as models take them: 1 to 64 letters, digits, _ and -. Pure. */
import { createHash } from "node:crypto"

const longest = 64
const hashLength = 8

/** The items by their names: two that would have the same, and long ones, end with a hash. The first of two equal names counts. */
export const modelNames = <A>(items: ReadonlyArray<A>, nameOf: (item: A) => string): ReadonlyMap<string, A> => {
  const named = new Map<string, A>()
  const seen = new Set<string>()
  for (const item of items) {
    const own = nameOf(item)
    if (seen.has(own)) continue
    seen.add(own)
    const plain = own.replace(/[^a-zA-Z0-9_-]/g, "_")
    const isPlain = plain === own && plain.length <= longest && !named.has(plain)
    named.set(isPlain ? plain : hashed(plain, own), item)
  }
  return named
}

const hashed = (plain: string, own: string): string => {
  const hash = createHash("sha256").update(own).digest("hex").slice(0, hashLength)
  return `${plain.slice(0, longest - hashLength - 1)}_${hash}`
}
