/** The parts from which the tables of rules are made. */
import type { JsonObject } from "../../dialects/parse/json.ts"
import { objectAt } from "../../dialects/parse/json.ts"
import type { TwinFault, TwinRule } from "./twin.ts"

export type Check = (body: JsonObject) => TwinFault | undefined

/** A rule about the body alone. */
export const rule = (name: string, source: string, check: Check): TwinRule => ({
  name,
  source,
  check: ({ body }) => check(body),
})

export const fault = (path: string, message: string): TwinFault => ({ path, message })

/** The first fault of several values. */
export const firstOf = <A>(
  values: ReadonlyArray<A>,
  check: (value: A, at: number) => TwinFault | undefined,
): TwinFault | undefined => {
  for (const [at, value] of values.entries()) {
    const found = check(value, at)
    if (found !== undefined) return found
  }
  return undefined
}

/** The value, if there is one, as a list. */
export const listed = <A>(value: A | undefined): ReadonlyArray<A> => (value === undefined ? [] : [value])

/** The objects among the members of an object. */
export const membersOf = (value: JsonObject | undefined): ReadonlyArray<JsonObject> =>
  Object.keys(value ?? {}).flatMap((name) => listed(objectAt(value, name)))

/** The first value that comes twice. */
export const repeated = <A>(values: ReadonlyArray<A>): A | undefined =>
  values.find((value, at) => values.indexOf(value) !== at)
