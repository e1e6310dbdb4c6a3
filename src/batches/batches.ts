/** The batches of clients. */
import { Context, Effect, Layer, type Stream } from "effect"
import { ClientFiles } from "../client-files/client-files.ts"
import type { PartLost } from "../client-files/file-parts.ts"
import type { KeptOwner } from "../kept-responses/kept-response.ts"
import type { TargetFailed } from "../object-storage/target.ts"
import type { ServiceError } from "../protocol/error.ts"
import type { StoreUnavailable } from "../store/unavailable.ts"
import { type BatchAsked, makeAdmitBatch } from "./admit-batch.ts"
import type { Batch, BatchApi } from "./batch.ts"
import { type BatchPage, BatchStore } from "./batch-store.ts"
import type { LineCalls } from "./line-calls.ts"
import { ownPurpose, resultsPurpose } from "./result-form.ts"

type BatchError = ServiceError | StoreUnavailable

export class Batches extends Context.Service<
  Batches,
  {
    /** Reads, checks, prices and holds the requests of a batch. One with a fault has failed from the beginning. */
    readonly create: (asked: BatchAsked) => Effect.Effect<Batch, BatchError>
    /** A batch that was made in this API. */
    readonly find: (
      api: BatchApi,
      orgId: string,
      owner: KeptOwner,
      id: string,
    ) => Effect.Effect<Batch | undefined, StoreUnavailable>
    readonly list: (
      orgId: string,
      owner: KeptOwner,
      page: BatchPage,
    ) => Effect.Effect<{ readonly batches: ReadonlyArray<Batch>; readonly hasMore: boolean }, StoreUnavailable>
    /** Nothing more is asked for; the batch ends as soon as the calls that run have ended. */
    readonly cancel: (batch: Batch) => Effect.Effect<void, StoreUnavailable>
    /** Erases a batch that has ended, with its results. @returns false if it has not ended */
    readonly erase: (batch: Batch) => Effect.Effect<boolean, StoreUnavailable>
    /** The results in one file; undefined if there are none. */
    readonly results: (
      batch: Batch,
    ) => Effect.Effect<Stream.Stream<Uint8Array, TargetFailed | PartLost> | undefined, BatchError>
  }
>()("weir/batches/Batches") {
  static readonly layer: Layer.Layer<
    Batches,
    never,
    LineCalls | ClientFiles | BatchStore | Effect.Services<typeof makeAdmitBatch>
  > = Layer.effect(
    Batches,
    Effect.gen(function* () {
      const store = yield* BatchStore
      const files = yield* ClientFiles
      const create = yield* makeAdmitBatch

      const outputOf = (batch: Batch) => {
        const { orgId, owner, outcome } = batch
        const purpose = resultsPurpose(batch) === ownPurpose ? ownPurpose : undefined
        return outcome?.output === undefined ? Effect.undefined : files.find(orgId, owner, outcome.output, purpose)
      }

      return Batches.of({
        create,
        find: (api, orgId, owner, id) =>
          Effect.map(store.find(orgId, owner, id), (batch) => (batch?.api === api ? batch : undefined)),
        list: (orgId, owner, page) =>
          Effect.map(store.list(orgId, owner, page), (batches) => ({
            batches: batches.slice(0, page.limit),
            hasMore: batches.length > page.limit,
          })),
        cancel: ({ orgId, id }) => store.cancel(orgId, id),
        erase: Effect.fnUntraced(function* (batch) {
          const isErased = yield* store.erase(batch.orgId, batch.id)
          const output = isErased ? yield* outputOf(batch) : undefined
          if (output !== undefined) yield* files.erase(output)
          return isErased
        }),
        results: Effect.fnUntraced(function* (batch) {
          const output = yield* outputOf(batch)
          return output && (yield* files.content(output))
        }),
      })
    }),
  )
}
