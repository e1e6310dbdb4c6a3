/** Problems of the node that answered, although it serves calls. */
import { Schema } from "effect"

export const NodeProblem = Schema.Struct({
  /** A file, or a part of the node: `telemetry`. */
  what: Schema.String,
  problem: Schema.String,
  since: Schema.String,
}).annotate({ identifier: "NodeProblem" })
export type NodeProblem = typeof NodeProblem.Type

export const NodeProblemList = Schema.Struct({ data: Schema.Array(NodeProblem) }).annotate({
  identifier: "NodeProblemList",
})
export type NodeProblemList = typeof NodeProblemList.Type
