/** Checks a vendor with one small real call, outside any exchange; Weir bills nobody. */
import { Clock, Context, Effect, Layer, Result } from "effect"
import { Catalogue } from "../catalogue/catalogue.ts"
import type { CatalogueSnapshot, ModelTarget } from "../catalogue/snapshot.ts"
import { WeirConfig } from "../config.ts"
import type { VendorRequest } from "../dialects/dialect.ts"
import type { VendorCheckResponse } from "../protocol/admin.ts"
import { type ServiceError, serviceError } from "../protocol/error.ts"
import { resolveTimeouts } from "../protocol/timeout-tiers.ts"
import { textOfReply } from "../review/texts.ts"
import { VendorClient } from "../upstream/client.ts"
import { ClientLink } from "./client-link.ts"
import { type Conversation, converse } from "./conversation.ts"
import { Tally } from "./tally.ts"
import { totalClock } from "./tiers.ts"
import { Watch } from "./watch.ts"

export class VendorCheck extends Context.Service<
  VendorCheck,
  {
    /**
     * Calls a vendor of the catalogue.
     * @param model the vendor's own name of a model; one of the catalogue if absent
     */
    readonly run: (
      vendorId: string,
      model: string | undefined,
    ) => Effect.Effect<VendorCheckResponse, ServiceError<"not_found" | "bad_request">>
  }
>()("weir/exchange/VendorCheck") {
  static readonly layer = Layer.effect(
    VendorCheck,
    Effect.gen(function* () {
      const config = yield* WeirConfig
      const catalogue = yield* Catalogue
      const client = yield* VendorClient
      const services = yield* Effect.context<never>()

      const run = Effect.fn("VendorCheck.run")(function* (vendorId: string, model: string | undefined) {
        const snapshot = catalogue.current()
        const target = yield* targetOf(snapshot, vendorId, model)
        const clock = yield* Clock.Clock
        const nowMs = () => clock.currentTimeMillisUnsafe()
        const profile = snapshot.timeouts(config.env)
        const timeouts = resolveTimeouts({
          profile,
          variables: config.upstreamTimeouts,
          vendor: target.vendor.timeouts,
          model: undefined,
        })
        const tally = new Tally({ keepsBlocks: true })
        let firstFrameMs: number | undefined
        const beganMs = nowMs()
        const conversation: Conversation = {
          client,
          // A check neither uses nor changes the health of its target.
          health: { begin: (_target, call) => call, coolDown: () => Effect.void },
          services,
          vendorRequest: question,
          targets: [target],
          link: new ClientLink({ bufferBytes: config.streamBufferBytes, nowMs, cut: () => {} }),
          tally,
          maxReplyBytes: maxCheckBytes,
          timeoutsOf: () => timeouts,
          opening: () => {
            firstFrameMs = nowMs() - beganMs
            return ""
          },
          warnings: [],
          watch: new Watch(Math.min(timeouts.idle, timeouts.total)),
          target: undefined,
          opened: false,
          took: {},
        }
        conversation.watch.add(totalClock(beganMs, timeouts.total))
        const outcome = yield* Effect.result(Effect.raceFirst(converse(conversation), conversation.watch.run))
        const error = Result.isFailure(outcome) ? outcome.failure : undefined
        return {
          vendor: vendorId,
          dialect: target.vendor.dialect,
          model: target.model,
          ok: error === undefined,
          millis: nowMs() - beganMs,
          ...(firstFrameMs !== undefined && { firstFrameMs }),
          text: textOfReply(tally.blocks()),
          ...(tally.stop !== undefined && { stop: tally.stop }),
          ...(tally.usage !== undefined && { usage: tally.usage }),
          ...(error !== undefined && {
            error: {
              code: error.code,
              message: error.message,
              ...(error.detail !== undefined && { detail: error.detail }),
            },
          }),
        } satisfies VendorCheckResponse
      })
      return VendorCheck.of({ run })
    }),
  )
}

/** Small, but long enough for a model that reasons first. */
const question: Omit<VendorRequest, "model"> = {
  thread: [{ role: "user", blocks: [{ t: "text", v: "Reply with one word: ready" }] }],
  tools: [],
  maxTokens: 512,
  stop: [],
  canReason: false,
  cache: { enabled: false, skipWrite: true },
  stream: true,
}
const maxCheckBytes = 1024 * 1024

const targetOf = (
  snapshot: CatalogueSnapshot,
  vendorId: string,
  model: string | undefined,
): Effect.Effect<ModelTarget, ServiceError<"not_found" | "bad_request">> => {
  const entry = snapshot.vendor(vendorId)
  if (entry === undefined) return Effect.fail(serviceError("not_found", "The catalogue has no such vendor"))
  const name = model ?? entry.models[0]
  if (name === undefined) {
    return Effect.fail(serviceError("bad_request", "No model of the catalogue uses this vendor: set `model`"))
  }
  const { vendor, dialect, credential } = entry
  return Effect.succeed({
    vendor,
    dialect,
    credential,
    model: name,
    isOwn: false,
    isGuarded: false,
    key: vendorId,
    tier: 0,
    weight: 1,
  })
}
