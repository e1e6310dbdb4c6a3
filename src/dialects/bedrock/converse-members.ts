/**
 * Unions of Converse: an object with one member, which names its kind. A second member would be lost, so it is refused; null is
 * absent, as AWS reads it.
 */
import { entryOf } from "../../protocol/values/entry.ts"
import { type FieldReader, isAbsent } from "../client/fields.ts"
import type { JsonObject } from "../parse/json.ts"

/** The reader of each kind. */
export type MemberReaders<A> = Readonly<Record<string, (reader: FieldReader, value: unknown, path: string) => A>>

/**
 * Reads the only member of a union.
 *
 * @returns undefined if it is refused
 */
export const readMember = <A>(
  reader: FieldReader,
  kinds: MemberReaders<A>,
  union: JsonObject,
  path: string,
): A | undefined => {
  // JSON of a tool may be null.
  const given = Object.keys(union).filter((name) => name === "json" || !isAbsent(union[name]))
  const [kind = "", ...more] = given
  const read = entryOf(kinds, kind)
  if (read === undefined || more.length > 0) {
    reader.refuse(path, `must have one member of ${Object.keys(kinds).join(", ")}`)
    return undefined
  }
  return read(reader, union[kind], `${path}.${kind}`)
}
