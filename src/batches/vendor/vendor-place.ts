/** The vendor of a submission, as the runner asks it: with the credential that the batch began with. */
import { Effect, Option } from "effect"
import { makeEarlierTargets } from "../../calls/vendor/earlier-target.ts"
import { CallDeadlines } from "../../deadlines.ts"
import type { BatchDialect } from "../../dialects/batch-dialect.ts"
import type { VendorFault } from "../../dialects/vendor/faults.ts"
import type { AnyWireRequest } from "../../dialects/wire.ts"
import type { StoreUnavailable } from "../../store/unavailable.ts"
import { fetchWhole, type UpstreamBroken, VendorClient, type WholeReply } from "../../upstream/client.ts"
import { chunksOfReply } from "./reply-chunks.ts"
import type { Submission } from "./submission.ts"

export interface VendorPlace {
  readonly dialect: BatchDialect
  readonly decodeError: (status: number, body: string) => VendorFault
  /** Asks, and reads the whole reply; undefined if there was none. */
  readonly ask: (wire: AnyWireRequest, timeoutMs?: number) => Effect.Effect<WholeReply | undefined>
  /** The chunks of a reply of any length; an error status breaks them. */
  readonly read: (wire: AnyWireRequest) => Effect.Effect<AsyncIterable<Uint8Array>, UpstreamBroken>
}

const replyMs = 20_000
/** A reply may have all results of a batch in it, at vendors that have no file of them. */
const mostReplyBytes = 64 * 1024 * 1024

export const makeVendorPlaces = Effect.gen(function* () {
  const client = yield* VendorClient
  const deadlines = yield* CallDeadlines
  const targetOf = yield* makeEarlierTargets

  /** Undefined if the catalogue has the vendor no more, or the key is gone. */
  return Effect.fnUntraced(function* (
    submission: Submission,
  ): Effect.fn.Return<VendorPlace | undefined, StoreUnavailable> {
    const found = yield* targetOf(submission)
    const dialect = found?.target.dialect.batch
    if (found === undefined || dialect === undefined) return undefined
    const { target, request } = found
    return {
      dialect,
      decodeError: target.dialect.decodeError,
      ask: (wire, timeoutMs = replyMs) =>
        Effect.map(
          Effect.option(
            Effect.flatMap(request(wire), (sent) => fetchWhole(client, sent, mostReplyBytes, { deadlines, timeoutMs })),
          ),
          Option.getOrUndefined,
        ),
      read: (wire) => Effect.map(request(wire), (sent) => chunksOfReply(client, sent)),
    }
  })
})
