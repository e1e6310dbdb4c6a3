/**
 * The gate's mode while its store does not answer: `enforce` fails closed, `shadow` and `off` fail open; a metric
 * counts both.
 */
import { Effect, Layer } from "effect"
import { needsGateStore, WeirConfig } from "../config.ts"
import { serviceError } from "../protocol/error.ts"
import { StoreUnavailable } from "../store/unavailable.ts"
import { recordGateFailure } from "../telemetry/metrics.ts"
import { type Admission, Gate } from "./gate.ts"

const retryAfterMs = 1000
const admitted: Admission = { _tag: "Admitted" }
const isUnavailable = (error: unknown): error is StoreUnavailable => error instanceof StoreUnavailable

/**
 * Applies `SVC_PLAN_GATE_MODE` to a gate. Without a store nothing is counted; the ledger still refuses a spent request
 * id.
 */
export const withGateMode = <E, R>(gate: Layer.Layer<Gate, E, R>): Layer.Layer<Gate, E, R | WeirConfig> =>
  Layer.effect(
    Gate,
    Effect.gen(function* () {
      const inner = yield* Gate
      const config = yield* WeirConfig
      const context = yield* Effect.context<never>()
      /** @param open the answer while the store does not answer, and the gate is open */
      const inMode = <A, E>(answered: Effect.Effect<A, E | StoreUnavailable>, open: A) =>
        Effect.catchIf(answered, isUnavailable, (error) => {
          recordGateFailure(context, config.gateMode)
          if (!needsGateStore(config)) return Effect.succeed(open)
          return Effect.fail(
            serviceError("plan_gate_unavailable", "Admission is temporarily unavailable", {
              retryAfterMs,
              cause: error,
            }),
          )
        })
      return Gate.of({
        ...inner,
        admit: (request) => inMode(inner.admit(request), admitted),
        look: (request) => inMode(inner.look(request), undefined),
      })
    }),
  ).pipe(Layer.provide(gate))
