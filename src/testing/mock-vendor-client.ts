/** A vendor client without a network, on Effect's clock: a test moves the time. */
import { Effect, Latch, Layer } from "effect"
import {
  type ReplyListener,
  type UpstreamCall,
  type UpstreamHead,
  type UpstreamRequest,
  VendorClient,
} from "../upstream/client.ts"

/** A reply and its timing; each pause comes before what follows it. Absent stages never happen. */
export interface MockReply {
  readonly connectAfterMs?: number
  readonly head?: { readonly afterMs: number } & Partial<UpstreamHead>
  readonly reads?: ReadonlyArray<{ readonly afterMs: number; readonly bytes: string | Uint8Array }>
  /** Pause between the last read and the end of the body; if absent, the body does not end. */
  readonly endAfterMs?: number
}

export interface MockVendor {
  readonly requests: Array<UpstreamRequest>
  /** Calls that were torn down before their end. */
  aborted: number
}

export const makeMockVendor = (): MockVendor => ({ requests: [], aborted: 0 })

const eventStream = { "content-type": "text/event-stream" }

/** Answers the calls with the replies in order; the last reply repeats. */
export const layerMockVendorClient = (
  vendor: MockVendor,
  replies: ReadonlyArray<MockReply>,
): Layer.Layer<VendorClient> =>
  Layer.effect(
    VendorClient,
    Effect.gen(function* () {
      const fork = Effect.runForkWith(yield* Effect.context<never>())
      const start = (request: UpstreamRequest, listener: ReplyListener): UpstreamCall => {
        const reply = replies[Math.min(vendor.requests.length, replies.length - 1)] ?? {}
        vendor.requests.push(request)
        const gate = Latch.makeUnsafe(true)
        let isOver = false
        const fiber = fork(
          Effect.andThen(
            play(reply, listener, gate.await),
            Effect.sync(() => {
              isOver = true
              listener.ended()
            }),
          ),
        )
        const end = (isAborted: boolean) => {
          if (!isOver && isAborted) vendor.aborted++
          isOver = true
          fiber.interruptUnsafe()
        }
        return {
          pause: () => gate.closeUnsafe(),
          resume: () => gate.openUnsafe(),
          leave: () => end(false),
          abort: () => end(true),
        }
      }
      return VendorClient.of({ start })
    }),
  )

const play = Effect.fnUntraced(function* (reply: MockReply, listener: ReplyListener, room: Effect.Effect<void>) {
  const { connectAfterMs, head, reads = [], endAfterMs } = reply
  if (connectAfterMs === undefined) return yield* Effect.never
  yield* Effect.sleep(connectAfterMs)
  listener.connected()
  if (head === undefined) return yield* Effect.never
  yield* Effect.sleep(head.afterMs)
  listener.head({ status: 200, headers: eventStream, ...head })
  for (const { afterMs, bytes } of reads) {
    yield* room
    yield* Effect.sleep(afterMs)
    listener.bytes(Buffer.from(bytes))
  }
  if (endAfterMs === undefined) return yield* Effect.never
  yield* Effect.sleep(endAfterMs)
})
