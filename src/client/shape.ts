/**
 * Guards of replies without a schema library: each names the members without which a reply is not what it should be. The
 * types come from the schemas of the protocol, and the compiler compares both.
 */

type KindOf<A> = [A] extends [string]
  ? "string"
  : [A] extends [number]
    ? "number"
    : [A] extends [boolean]
      ? "boolean"
      : [A] extends [ReadonlyArray<unknown>]
        ? "array"
        : "object"

type Required<A> = { [K in keyof A]-?: undefined extends A[K] ? never : K }[keyof A]

/** Members that every value of the type has, and their kinds. */
export type Shape<A> = { readonly [K in Required<A>]?: KindOf<A[K]> }

/** A guard for objects with these members; others are ignored. */
export const hasShape =
  <A extends object>(shape: Shape<A>) =>
  (value: unknown): value is A =>
    isRecord(value) && Object.entries(shape).every(([name, kind]) => kindOf(value[name]) === kind)

export const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value)

const kindOf = (value: unknown): string => (value === null ? "null" : Array.isArray(value) ? "array" : typeof value)

/** The value of a JSON text; undefined for others. */
export const parseJson = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
