/** Asks the engines of policies over real sockets. */
import { Cause, Effect, Exit, Layer, References, Result, Schema } from "effect"
import type { EngineVerdict } from "../../../src/policies/engines/engine.ts"
import { EngineFailed } from "../../../src/policies/engines/engine.ts"
import { type EnginePolicy, PolicyEngines, type Reviewed } from "../../../src/policies/engines/engines.ts"
import type { Span } from "../../../src/policies/engines/spans.ts"
import { compilePolicy } from "../../../src/policies/policy.ts"
import { Policy } from "../../../src/protocol/catalogue/policy.ts"
import { layerTestConfig } from "../../../src/testing/stores.ts"
import { VendorClient } from "../../../src/upstream/client.ts"
import { Egress } from "../../../src/upstream/egress.ts"
import { TargetHealth } from "../../../src/upstream/health.ts"
import type { EnginesOfTest } from "./kinds.ts"

const decodePolicy = Schema.decodeUnknownSync(Policy, { onExcessProperty: "error" })

/** The compiled policy of a match as a catalogue has it. */
export const policyOf = (engines: EnginesOfTest, match: unknown): EnginePolicy => {
  const policy = decodePolicy({ id: "guarded", direction: "both", reason: "flagged", match })
  const { id, check } = Result.getOrThrow(compilePolicy(policy, engines.resolve, engines.targets))
  if (check.kind !== "engine") throw new Error("an engine was meant")
  return { id, check }
}

export interface Asking {
  readonly review: (policy: EnginePolicy, reviewed: Partial<Reviewed>) => Promise<EngineVerdict | string>
  readonly find: (policy: EnginePolicy, text: string) => Promise<ReadonlyArray<Span> | string>
  readonly stop: () => Promise<void>
}

/** A service of engines; a failure is its reason. */
export const startAsking = async (): Promise<Asking> => {
  const client = VendorClient.layer.pipe(Layer.provide(Egress.layer), Layer.provide(layerTestConfig()))
  const layer = PolicyEngines.layer.pipe(Layer.provide(Layer.mergeAll(client, TargetHealth.layer)))
  let end = () => {}
  const ended = new Promise<void>((resolve) => {
    end = resolve
  })
  let stopped = Promise.resolve()
  const engines = await new Promise<PolicyEngines["Service"]>((resolve, reject) => {
    const running = Effect.gen(function* () {
      resolve(yield* PolicyEngines)
      yield* Effect.promise(() => ended)
    })
    const quiet = Effect.provideService(Effect.provide(running, layer), References.MinimumLogLevel, "None")
    stopped = Effect.runPromise(quiet).catch(reject)
  })
  const outcome = async <A>(asked: Effect.Effect<A, EngineFailed>): Promise<A | string> => {
    const exit = await Effect.runPromiseExit(asked)
    if (Exit.isSuccess(exit)) return exit.value
    const failure = Cause.squash(exit.cause)
    return failure instanceof EngineFailed ? failure.reason : `died: ${String(failure)}`
  }
  return {
    review: (policy, { text = "Good morning", direction = "inbound", earlier }) =>
      outcome(engines.review(policy, { text, direction, earlier })),
    find: (policy, text) => outcome(engines.find(policy, { text, direction: "inbound" })),
    stop: () => {
      end()
      return stopped
    },
  }
}
