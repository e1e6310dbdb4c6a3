/** The handle of a model in a request. */
import { Schema } from "effect"

export const ModelHandle = Schema.NonEmptyString.check(Schema.isMaxLength(128))
