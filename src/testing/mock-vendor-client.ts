/** A vendor client without a network, on Effect's clock: a test moves the time. */
import { Effect, Layer } from "effect"
import { type UpstreamHead, type UpstreamRequest, VendorClient } from "../upstream/client.ts"

/** A reply and its timing; each pause comes before what follows it. Absent stages never happen. */
export interface MockReply {
  readonly connectAfterMs?: number
  readonly head?: { readonly afterMs: number } & Partial<UpstreamHead>
  readonly reads?: ReadonlyArray<{ readonly afterMs: number; readonly bytes: string }>
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
