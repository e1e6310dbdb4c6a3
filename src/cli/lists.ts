/** Flags that commands share: organisations, pages and filters of lists. */
import { Option } from "effect"
import { Argument, Flag } from "effect/cli"

/** An organisation's id. */
export const org = Argument.String("org").pipe(Argument.withDescription("The organisation's id"))

/** The page of a list. */
export const page = {
  limit: Flag.Int("limit").pipe(Flag.withDescription("Rows per page, 1 to 200"), Flag.withDefault(50)),
  cursor: Flag.String("cursor").pipe(Flag.withDescription("The cursor that the previous page printed"), Flag.optional),
}

/** Filters a list by one organisation. */
export const ofOrg = Flag.String("org").pipe(Flag.withDescription("Only of this organisation"), Flag.optional)
/** Filters a list by the beginning of its entries. */
export const search = Flag.String("search").pipe(
  Flag.withDescription("The beginning of an id, a name or an address"),
  Flag.optional,
)

/** The optional flags that were given. */
export const givenOf = <Name extends string>(
  flags: Readonly<Record<Name, Option.Option<string>>>,
): { readonly [name in Name]?: string } => {
  const given: { [name in Name]?: string } = {}
  for (const name in flags) {
    const value = flags[name]
    if (Option.isSome(value)) given[name] = value.value
  }
  return given
}

/** The query parameters that select a page of a list. */
export const queryOf = <Name extends string>(limit: number, flags: Readonly<Record<Name, Option.Option<string>>>) => ({
  limit: String(limit),
  ...givenOf(flags),
})

/** The last line of a page that is not the last. */
export const more = (nextCursor: string | null): ReadonlyArray<string> =>
  nextCursor === null ? [] : [`More with --cursor ${nextCursor}`]
