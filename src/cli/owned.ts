/** Flags of commands about what is kept for clients: its owner and its age, and one entry, some or all. */
import { Option } from "effect"
import { Flag } from "effect/cli"
import { givenOf } from "./lists.ts"

export const ownerFilters = {
  app: Flag.String("app").pipe(Flag.withDescription("Only of this application"), Flag.optional),
  endUser: Flag.String("end-user").pipe(Flag.withDescription("Only of this end user"), Flag.optional),
  before: Flag.String("before").pipe(
    Flag.withDescription("Only those that were made before a date or an instant"),
    Flag.optional,
  ),
}

export const all = Flag.Boolean("all").pipe(Flag.withDescription("All of the organisation"), Flag.withDefault(false))

interface Owner {
  readonly app?: string | undefined
  readonly person?: string | undefined
  readonly endUser?: string | undefined
}

export const ownerText = ({ app, person, endUser }: Owner): string =>
  [app ?? person, endUser].filter((part) => part !== undefined).join(" / ")

type Given = Readonly<Record<"id" | keyof typeof ownerFilters, Option.Option<string>>> & { readonly all: boolean }

/** The entries to erase: one by its id, or those of a query. Undefined if the command names none, or in several ways. */
export const toErase = ({ id, app, endUser, before, all: isAll }: Given) => {
  const filter = givenOf({ app, endUser, before })
  const ways = [Option.isSome(id), Object.keys(filter).length > 0, isAll]
  if (ways.filter((is) => is).length !== 1) return undefined
  return { id: Option.getOrUndefined(id), query: { ...filter, ...(isAll && { all: "true" as const }) } }
}
