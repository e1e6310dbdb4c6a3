/** The owner of something that is kept for clients, as operators see it, and the filters by which they select it. */
import { Schema } from "effect"

/** An application, or a person, and an end user if the request was for one. */
export const ownerFields = {
  app: Schema.optionalKey(Schema.String),
  person: Schema.optionalKey(Schema.String),
  endUser: Schema.optionalKey(Schema.String),
}
const Fields = Schema.Struct(ownerFields)
export type OwnerFields = typeof Fields.Type

/** The entries to which all of these apply. */
export interface OwnerFilter {
  readonly app?: string | undefined
  readonly endUser?: string | undefined
  /** Only those that were made before this instant. */
  readonly before?: string | undefined
}

interface OwnerRow {
  readonly app_id: string
  readonly person_id: string
  readonly end_user_id: string
}

/** The owner in a row, in which an absent part is empty. */
export const ownerOfRow = ({ app_id, person_id, end_user_id }: OwnerRow) => ({
  ...(app_id !== "" && { app: app_id }),
  ...(person_id !== "" && { person: person_id }),
  ...(end_user_id !== "" && { endUser: end_user_id }),
})
