/**
 * What happens when the gate's store does not answer: `enforce` fails closed, `shadow` and `off` fail open, and the
 * metric says which. Source: interface.md heartbeat rule 8; field lesson 17.
 */
import { Effect, Layer } from "effect"
import { serviceError } from "../protocol/error.ts"
import { recordGateFailure } from "../telemetry/metrics.ts"
import { type Admission, Gate } from "./gate.ts"

export type GateMode = "off" | "shadow" | "enforce"

const retryAfterMs = 1000
const admitted: Admission = { _tag: "Admitted" }

/** Gives a gate its mode. Without a store nothing is counted; the ledger still refuses a second flight of a key. */
export const withGateMode =
  (mode: GateMode) =>
  <E, R>(gate: Layer.Layer<Gate, E, R>): Layer.Layer<Gate, E, R> =>
    Layer.effect(
      Gate,
      Effect.gen(function* () {
        const inner = yield* Gate
        const context = yield* Effect.context<never>()
        return Gate.of({
          ...inner,
          admit: (request) =>
            Effect.catchTag(inner.admit(request), "StoreUnavailable", (error) => {
              recordGateFailure(context, mode)
              if (mode !== "enforce") return Effect.succeed(admitted)
              return Effect.fail(
                serviceError("plan_gate_unavailable", "Admission is not possible at the moment", {
                  retryAfterMs,
                  cause: error,
                }),
              )
            }),
        })
      }),
    ).pipe(Layer.provide(gate))
