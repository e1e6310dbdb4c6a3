/** Queries that select what is kept for clients: by its owner, and by its age. */
import { Schema } from "effect"
import { parameter } from "./parameters.ts"

export const ownerFilters = {
  app: parameter("Only of this application"),
  endUser: parameter("Only of this end user"),
  before: parameter("Only those that were made before a date or an instant"),
}

/** The same for an erasure, which nobody asks of all for want of a filter. */
export const eraseFilters = {
  ...ownerFilters,
  all: Schema.optionalKey(Schema.Literal("true")).annotate({
    description: "All of the organisation; required if there is no filter",
  }),
}
