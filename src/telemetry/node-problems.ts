/**
 * Problems of this node, which serves calls in spite of them, such as a configuration file that was refused. Operators see
 * it in the console and in `weir doctor`; a metric counts it.
 */
import { Clock, Context, Effect, Layer } from "effect"
import type { NodeProblem } from "../protocol/control/node-problem.ts"
import { problemSeries, recordProblem } from "./metrics.ts"

export class NodeProblems extends Context.Service<
  NodeProblems,
  {
    /** @param what the thing that does not work, e.g. a file or "telemetry"; its problem is replaced */
    readonly begin: (what: string, problem: string) => Effect.Effect<void>
    readonly end: (what: string) => Effect.Effect<void>
    /** The oldest first. */
    readonly list: () => ReadonlyArray<NodeProblem>
  }
>()("weir/telemetry/NodeProblems") {
  static readonly layer = Layer.effect(
    NodeProblems,
    Effect.gen(function* () {
      const services = yield* Effect.context<never>()
      const tell = yield* problemSeries
      const known = new Map<string, NodeProblem>()
      const tellAll = () => tell([...known.keys()].map((what) => [[what], 1]))
      return NodeProblems.of({
        begin: (what, problem) =>
          Effect.map(Clock.currentTimeMillis, (nowMs) => {
            const { since } = known.get(what) ?? { since: new Date(nowMs).toISOString() }
            known.set(what, { what, problem, since })
            recordProblem(services, what)
            tellAll()
          }),
        end: (what) =>
          Effect.sync(() => {
            if (known.delete(what)) tellAll()
          }),
        list: () => [...known.values()],
      })
    }),
  )
}
