/** The members of the OpenAPI document that its pages show. Source: OpenAPI 3.1. */
import { Schema } from "effect"

const Media = Schema.Struct({ schema: Schema.optionalKey(Schema.Json), example: Schema.optionalKey(Schema.Json) })
const Content = Schema.optionalKey(Schema.Record(Schema.String, Media))

const Parameter = Schema.Struct({
  name: Schema.String,
  in: Schema.String,
  required: Schema.optionalKey(Schema.Boolean),
  description: Schema.optionalKey(Schema.String),
  schema: Schema.optionalKey(Schema.Json),
})

export const Operation = Schema.Struct({
  tags: Schema.optionalKey(Schema.Array(Schema.String)),
  summary: Schema.optionalKey(Schema.String),
  description: Schema.optionalKey(Schema.String),
  operationId: Schema.String,
  parameters: Schema.optionalKey(Schema.Array(Parameter)),
  requestBody: Schema.optionalKey(Schema.Struct({ content: Content })),
  responses: Schema.Record(
    Schema.String,
    Schema.Struct({ description: Schema.optionalKey(Schema.String), content: Content }),
  ),
})
export type Operation = typeof Operation.Type
export type Content = Operation["responses"][string]["content"]

export const ApiDocument = Schema.Struct({
  tags: Schema.optionalKey(
    Schema.Array(Schema.Struct({ name: Schema.String, description: Schema.optionalKey(Schema.String) })),
  ),
  paths: Schema.Record(Schema.String, Schema.Record(Schema.String, Operation)),
  components: Schema.Struct({ schemas: Schema.Record(Schema.String, Schema.Json) }),
})

/** An operation with its method and its path. */
export interface Route {
  readonly method: string
  readonly path: string
  readonly operation: Operation
}
