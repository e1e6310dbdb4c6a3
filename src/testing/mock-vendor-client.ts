/** A vendor client without a network, on Effect's clock: tests move the time, and nothing waits for real. */
import { Effect, Layer } from "effect"
import { type UpstreamHead, type UpstreamRequest, VendorClient } from "../vendor/client.ts"

/** A reply as it would arrive; every pause is waited before what follows it. Absent stages never come. */
export interface MockReply {
  readonly connectAfterMs?: number
  readonly head?: { readonly afterMs: number } & Partial<UpstreamHead>
  readonly reads?: ReadonlyArray<{ readonly afterMs: number; readonly bytes: string }>
  /** How long after the last read the body ends; it hangs when absent. */
  readonly endAfterMs?: number
}

export interface MockVendor {
  readonly requests: Array<UpstreamRequest>
  /** Calls that were torn down before they had ended. */
  aborted: number
}

export const makeMockVendor = (): MockVendor => ({ requests: [], aborted: 0 })

const eventStream = { "content-type": "text/event-stream" }

/** Answers the calls in order with the replies, and the last reply again and again. */
export const layerMockVendorClient = (
  vendor: MockVendor,
  replies: ReadonlyArray<MockReply>,
): Layer.Layer<VendorClient> =>
  Layer.succeed(
    VendorClient,
    VendorClient.of({
      open: (request) =>
        Effect.gen(function* () {
          const reply = replies[Math.min(vendor.requests.length, replies.length - 1)] ?? {}
          vendor.requests.push(request)
          const reads = [...(reply.reads ?? [])]
          let whole = false
          yield* Effect.addFinalizer(() =>
            Effect.sync(() => {
              if (!whole) vendor.aborted++
            }),
          )
          return {
            connected: reply.connectAfterMs === undefined ? Effect.never : Effect.sleep(reply.connectAfterMs),
            head:
              reply.head === undefined
                ? Effect.never
                : Effect.as(Effect.sleep(reply.head.afterMs), { status: 200, headers: eventStream, ...reply.head }),
            read: Effect.suspend(() => {
              const next = reads.shift()
              if (next !== undefined) return Effect.as(Effect.sleep(next.afterMs), Buffer.from(next.bytes))
              if (reply.endAfterMs === undefined) return Effect.never
              whole = true
              return Effect.as(Effect.sleep(reply.endAfterMs), undefined)
            }),
            leave: () => {
              whole = true
            },
          }
        }),
    }),
  )
