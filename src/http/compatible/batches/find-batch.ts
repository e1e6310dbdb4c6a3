/** Finds a caller's batch by its id as an API writes it. Others' batches are not there. */
import { Effect } from "effect"
import type { Batch, BatchApi } from "../../../batches/batch.ts"
import { readBatchId } from "../../../batches/batch-id.ts"
import { Batches } from "../../../batches/batches.ts"
import { ownerOf } from "../../../kept-responses/kept-response.ts"
import { type ServiceError, serviceError } from "../../../protocol/error.ts"
import type { StoreUnavailable } from "../../../store/unavailable.ts"
import type { Authenticated } from "../../caller-request.ts"

/** The most letters of an id in an error. */
const mostLetters = 128

/** @param notFound the sentence of the API for a batch that is not there */
export const makeFindBatch = (api: BatchApi, notFound: (id: string) => string) =>
  Effect.map(Batches, (batches) =>
    Effect.fnUntraced(function* (
      { caller }: Authenticated,
      written: string,
    ): Effect.fn.Return<Batch, ServiceError<"not_found"> | StoreUnavailable> {
      const id = readBatchId(api, written)
      const batch = id === undefined ? undefined : yield* batches.find(api, caller.org.id, ownerOf(caller), id)
      return batch ?? (yield* serviceError("not_found", notFound(written.slice(0, mostLetters))))
    }),
  )
