/** The exchange service: runs each exchange in its own fiber, and drains them at shutdown. */
import { randomBytes } from "node:crypto"
import { Clock, Context, Effect, FiberSet, Layer } from "effect"
import { Gate } from "../admission/gate.ts"
import { Overload } from "../admission/overload.ts"
import { Sessions } from "../admission/sessions.ts"
import { Catalogue } from "../catalogue/catalogue.ts"
import { WeirConfig } from "../config.ts"
import { Ledger } from "../money/ledger.ts"
import { Settler } from "../money/settler.ts"
import { Review } from "../review/review.ts"
import { Sealing } from "../store/seal.ts"
import { withRequestId } from "../telemetry/logs.ts"
import { recordOpenExchanges } from "../telemetry/metrics.ts"
import { currentSpan, within } from "../telemetry/tracing.ts"
import { VendorClient } from "../upstream/client.ts"
import { TargetHealth } from "../upstream/health.ts"
import { UpstreamKeys } from "../upstream/upstream-keys.ts"
import { runExchange } from "./actor.ts"
import type { ActorServices } from "./admitted.ts"
import { ClientLink } from "./client-link.ts"
import type { ExchangeCall } from "./due.ts"
import { keepLeases } from "./leases.ts"
import { Tokenizer } from "./tokenizer.ts"

export class Exchanges extends Context.Service<
  Exchanges,
  {
    /** Starts an exchange. The reply is read from the link; its reader reports when the client disconnects. */
    readonly start: (
      call: Omit<ExchangeCall, "waiting">,
      options: { readonly cut: () => void },
    ) => Effect.Effect<ClientLink>
    /** The number of open exchanges. */
    readonly open: () => number
    /** Waits until all exchanges have ended; after the timeout, the others are ended with `t.err` and settled. */
    readonly drain: Effect.Effect<void>
  }
>()("weir/exchange/Exchanges") {
  static readonly layer = Layer.effect(
    Exchanges,
    Effect.gen(function* () {
      const services: ActorServices = {
        config: yield* WeirConfig,
        catalogue: yield* Catalogue,
        gate: yield* Gate,
        overload: yield* Overload,
        sessions: yield* Sessions,
        ledger: yield* Ledger,
        settler: yield* Settler,
        client: yield* VendorClient,
        health: yield* TargetHealth,
        review: yield* Review,
        upstreamKeys: yield* UpstreamKeys,
        tokenizer: yield* Tokenizer,
        sealer: (yield* Sealing).sealer,
        leased: new Set(),
        context: yield* Effect.context<never>(),
      }
      const clock = yield* Clock.Clock
      const nowMs = () => clock.currentTimeMillisUnsafe()
      // Closing this scope interrupts running exchanges; each settles before it ends.
      const running = yield* FiberSet.make<void, never>()
      let open = 0
      const count = (change: 1 | -1) => {
        open += change
        recordOpenExchanges(services.context, open)
      }
      const { config, leased, ledger, gate } = services
      yield* keepLeases({ ledger, gate, running: leased, leaseMs: config.leaseMs, checkpointMs: config.checkpointMs })
      const drain = FiberSet.awaitEmpty(running).pipe(
        Effect.timeoutOrElse({
          duration: services.config.drainTimeoutMs,
          orElse: () =>
            Effect.logWarning("Drain timeout: running exchanges are ended").pipe(
              Effect.andThen(FiberSet.clear(running)),
            ),
        }),
      )
      return Exchanges.of({
        drain,
        open: () => open,
        start: Effect.fnUntraced(function* (call, { cut }) {
          const link = new ClientLink({ bufferBytes: services.config.streamBufferBytes, nowMs, cut })
          count(1)
          const waiting = services.overload.enter()
          const actor = runExchange(services, { ...call, waiting }, link).pipe(
            withRequestId(call.requestId),
            Effect.ensuring(
              Effect.sync(() => {
                waiting.over()
                count(-1)
              }),
            ),
          )
          const span = yield* currentSpan
          yield* FiberSet.run(running, span === undefined ? actor : within(span, actor))
          return link
        }),
      })
    }),
  )
}

/** A new request id; short, because every table of the ledger has it. */
export const newRequestId = (): string => `req_${randomBytes(12).toString("base64url")}`
