/** The results of a search over everything that has an id or a name. */
import { Schema } from "effect"

const Found = Schema.Struct({ id: Schema.String, name: Schema.optionalKey(Schema.String) })
const FoundInOrg = Schema.Struct({ ...Found.fields, orgId: Schema.optionalKey(Schema.String) })

/** At most five of each kind. */
export const SearchResults = Schema.Struct({
  organisations: Schema.Array(Found),
  applications: Schema.Array(FoundInOrg),
  keys: Schema.Array(FoundInOrg),
  /** Exchanges of the last seven days whose id, or whose caller's request id, is the text. */
  exchanges: Schema.Array(
    Schema.Struct({ id: Schema.String, orgId: Schema.String, model: Schema.String, at: Schema.String }),
  ),
}).annotate({ identifier: "SearchResults" })
export type SearchResults = typeof SearchResults.Type
