/** Batches in PostgreSQL: their parts are taken by one node at a time, and they end once. */
import { Context, Effect, Layer } from "effect"
import type { LineTokens } from "../calls/reply/line-tokens.ts"
import type { KeptOwner } from "../kept-responses/kept-response.ts"
import type { MovedNeed, MoveOutcome } from "../money/ledger.ts"
import { LongQueries } from "../store/connections.ts"
import { queryDeadline } from "../store/database.ts"
import { Sealing } from "../store/seal.ts"
import { inThoseThatAnswer } from "../store/shards/shards.ts"
import type { StoreUnavailable } from "../store/unavailable.ts"
import type { Batch, BatchCounts, BatchOutcome, NewBatch } from "./batch.ts"
import { type Chunk, chunkOf, makeBatchOf, readChunks, readResults, type SealedResult } from "./batch-rows.ts"

type Result<A> = Effect.Effect<A, StoreUnavailable>

export interface BatchPage {
  readonly api: string
  readonly limit: number
  /** The batch before the page. */
  readonly after: string | undefined
  /** Towards newer ones. */
  readonly isBackwards?: boolean
}

/** An answer to keep. */
export interface NewResult extends Pick<SealedResult, "line" | "state" | "content"> {
  readonly tokens: LineTokens
}

export class BatchStore extends Context.Service<
  BatchStore,
  {
    /**
     * Begins a batch, with the money that a node has held for it; idempotent.
     */
    readonly begin: (batch: NewBatch, node: string | undefined, needs: ReadonlyArray<MovedNeed>) => Result<MoveOutcome>
    readonly find: (orgId: string, owner: KeptOwner | undefined, id: string) => Result<Batch | undefined>
    /** The batch that a client has made with a request id. */
    readonly byRequest: (orgId: string, keyId: string, request: string) => Result<Batch | undefined>
    /** One more than the limit, if there are. */
    readonly list: (orgId: string, owner: KeptOwner, page: BatchPage) => Result<ReadonlyArray<Batch>>
    /** The number of batches of an organisation that have not ended. */
    readonly open: (orgId: string) => Result<number>
    /** @param most requests, approximately */
    readonly take: (node: string, most: number, leaseMs: number) => Result<ReadonlyArray<Chunk>>
    readonly renew: (node: string, leaseMs: number) => Result<void>
    readonly chunkDone: (chunk: Chunk) => Result<void>
    readonly chunkBack: (chunk: Chunk, node: string, pauseMs: number, isFailed: boolean) => Result<void>
    /** The numbers of the lines from one on that have an answer. */
    readonly answered: (orgId: string, batchId: string, from: number, lines: number) => Result<ReadonlyArray<number>>
    readonly addResult: (batch: Pick<Batch, "orgId" | "id">, result: NewResult) => Result<void>
    /** A page of answers, in the order in which they came. @param after the last one of the page before */
    readonly results: (
      batch: Pick<Batch, "orgId" | "id">,
      after: SealedResult | undefined,
      most: number,
    ) => Result<ReadonlyArray<SealedResult>>
    /** A page of answers, in the order of their requests. @param after the line of the last one of the page before */
    readonly resultsByLine: (
      batch: Pick<Batch, "orgId" | "id">,
      after: number,
      most: number,
    ) => Result<ReadonlyArray<SealedResult>>
    /** Batches whose results are to be written now. */
    readonly toFinish: (node: string, most: number, leaseMs: number) => Result<ReadonlyArray<Batch>>
    /** @returns false if it had ended */
    readonly end: (
      batch: Batch,
      node: string,
      state: "completed" | "expired" | "cancelled",
      counts: BatchCounts,
      outcome: BatchOutcome,
    ) => Result<boolean>
    readonly cancel: (orgId: string, id: string) => Result<void>
    /** @returns false if there is none that has ended */
    readonly erase: (orgId: string, id: string) => Result<boolean>
  }
>()("weir/batches/BatchStore") {
  static readonly layer = Layer.effect(
    BatchStore,
    Effect.gen(function* () {
      // Not the connections of calls: parts of batches may wait.
      const { shards } = yield* LongQueries
      const { sealer } = yield* Sealing
      const bounded = yield* queryDeadline
      const { batchOf, sealFacts, sealOutcome } = makeBatchOf(sealer)

      return BatchStore.of({
        begin: ({ orgId, owner, keyId, facts, outcome, chunks, money, ...batch }, node, needs) => {
          const row = {
            ...batch,
            ...owner,
            ...money,
            key: keyId,
            ...(outcome !== undefined && { outcome: sealOutcome(orgId, batch.id, outcome).toString("base64") }),
          }
          return shards
            .of(orgId)
            .run(
              ({ sql, books }) => sql<{ outcome: MoveOutcome }>`
                select ${books}batch_begin(${orgId}, ${JSON.stringify(row)}::text::jsonb, ${sealFacts(orgId, batch.id, facts)},
                  ${JSON.stringify(chunks)}::text::jsonb, ${node ?? null}::text, ${JSON.stringify(needs)}::text::jsonb) as outcome`,
            )
            .pipe(
              Effect.map(([row]) => row?.outcome ?? "lapsed"),
              bounded,
            )
        },
        find: (orgId, owner, id) =>
          shards
            .of(orgId)
            .run(
              ({ sql, books }) => sql`
                select b.*, c.* from ${books}batches b cross join ${books}batch_counts(b) c
                where b.org_id = ${orgId} and b.id = ${id}
                  and (${owner === undefined}::boolean or b.app_id = ${owner?.app ?? ""} and b.person_id = ${owner?.person ?? ""}
                    and b.end_user_id = ${owner?.endUser ?? ""})`,
            )
            .pipe(
              Effect.map((rows) => rows.flatMap(batchOf)[0]),
              bounded,
            ),
        byRequest: (orgId, keyId, request) =>
          shards
            .of(orgId)
            .run(
              ({ sql, books }) => sql`
                select b.*, c.* from ${books}batches b cross join ${books}batch_counts(b) c
                where b.org_id = ${orgId} and b.key_id = ${keyId} and b.request_id = ${request}`,
            )
            .pipe(
              Effect.map((rows) => rows.flatMap(batchOf)[0]),
              bounded,
            ),
        list: (orgId, { app, person, endUser }, { api, limit, after = null, isBackwards = false }) =>
          shards
            .of(orgId)
            .run(({ sql, books }) => {
              const rest = isBackwards ? sql`b.id > ${after}` : sql`b.id < ${after}`
              const order = isBackwards ? sql`b.id` : sql`b.id desc`
              return sql`
                select b.*, c.* from (
                  select b.* from ${books}batches b
                  where b.org_id = ${orgId} and b.app_id = ${app} and b.person_id = ${person} and b.end_user_id = ${endUser}
                    and b.api = ${api} and (${after}::text is null or ${rest})
                  order by ${order} limit ${limit + 1}::integer) b
                cross join ${books}batch_counts(b) c order by ${order}`
            })
            .pipe(
              Effect.map((rows) => rows.flatMap(batchOf)),
              bounded,
            ),
        open: (orgId) =>
          shards
            .of(orgId)
            .run(
              ({ sql, books }) => sql<{ open: number }>`
                select count(*)::integer as open from ${books}batches where org_id = ${orgId} and ended_at is null`,
            )
            .pipe(
              Effect.map(([row]) => row?.open ?? 0),
              bounded,
            ),
        take: (node, most, leaseMs) =>
          inThoseThatAnswer(
            shards,
            ({ sql, books }) =>
              sql`select * from ${books}batch_chunks_take(${node}, ${most}::integer, ${leaseMs}::double precision)`,
          ).pipe(
            Effect.map((rows) => readChunks(rows).map(chunkOf)),
            bounded,
          ),
        renew: (node, leaseMs) =>
          inThoseThatAnswer(
            shards,
            ({ sql, books }) => sql`select ${books}batch_chunks_renew(${node}, ${leaseMs}::double precision)`,
          ).pipe(Effect.asVoid, bounded),
        chunkDone: ({ orgId, batchId, chunk }) =>
          shards
            .of(orgId)
            .run(({ sql, books }) => sql`select ${books}batch_chunk_done(${orgId}, ${batchId}, ${chunk}::integer)`)
            .pipe(Effect.asVoid, bounded),
        chunkBack: ({ orgId, batchId, chunk }, node, pauseMs, isFailed) =>
          shards
            .of(orgId)
            .run(
              ({ sql, books }) => sql`
                select ${books}batch_chunk_back(${orgId}, ${batchId}, ${chunk}::integer, ${node}, ${pauseMs}::double precision,
                  ${isFailed}::boolean)`,
            )
            .pipe(Effect.asVoid, bounded),
        answered: (orgId, batchId, from, lines) =>
          shards
            .of(orgId)
            .run(
              ({ sql, books }) => sql<{ line: number }>`
                select line from ${books}batch_results
                where org_id = ${orgId} and batch_id = ${batchId} and line >= ${from} and line < ${from + lines}`,
            )
            .pipe(
              Effect.map((rows) => rows.map(({ line }) => line)),
              bounded,
            ),
        addResult: ({ orgId, id }, { line, state, content, tokens: { input, cached, output, reasoning } }) =>
          shards
            .of(orgId)
            .run(
              ({ sql, books }) =>
                sql`select ${books}batch_result(${orgId}, ${id}, ${line}::integer, ${state}, ${content}::bytea,
                  ${input}::bigint, ${cached}::bigint, ${output}::bigint, ${reasoning}::bigint)`,
            )
            .pipe(Effect.asVoid, bounded),
        results: ({ orgId, id }, after, most) =>
          shards
            .of(orgId)
            .run(
              ({ sql, books }) => sql`
                select line, state, content, (extract(epoch from at) * 1000000)::bigint::text as micros from ${books}batch_results
                where org_id = ${orgId} and batch_id = ${id} and (at, line) >
                  (timestamptz 'epoch' + ${after?.micros ?? "0"}::text::bigint * interval '1 microsecond', ${after?.line ?? 0}::integer)
                order by at, line limit ${most}`,
            )
            .pipe(Effect.map(readResults), bounded),
        resultsByLine: ({ orgId, id }, after, most) =>
          shards
            .of(orgId)
            .run(
              ({ sql, books }) => sql`
                select line, state, content, (extract(epoch from at) * 1000000)::bigint::text as micros from ${books}batch_results
                where org_id = ${orgId} and batch_id = ${id} and line > ${after}::integer order by line limit ${most}`,
            )
            .pipe(Effect.map(readResults), bounded),
        toFinish: (node, most, leaseMs) =>
          inThoseThatAnswer(
            shards,
            ({ sql, books }) =>
              sql`select * from ${books}batches_finish(${node}, ${most}::integer, ${leaseMs}::double precision)`,
          ).pipe(
            Effect.map((rows) => rows.flatMap(batchOf)),
            bounded,
          ),
        end: ({ orgId, id }, node, state, counts, outcome) =>
          shards
            .of(orgId)
            .run(
              ({ sql, books }) => sql<{ ended: boolean }>`
                select ${books}batch_end(${orgId}, ${id}, ${node}, ${state}, ${JSON.stringify(counts)}::text::jsonb,
                  ${sealOutcome(orgId, id, outcome)}) as ended`,
            )
            .pipe(
              Effect.map(([row]) => row?.ended === true),
              bounded,
            ),
        cancel: (orgId, id) =>
          shards
            .of(orgId)
            .run(({ sql, books }) => sql`select ${books}batch_cancel(${orgId}, ${id})`)
            .pipe(Effect.asVoid, bounded),
        erase: (orgId, id) =>
          shards
            .of(orgId)
            .run(({ sql, books }) => sql<{ erased: number }>`select ${books}batch_erase(${orgId}, ${id}) as erased`)
            .pipe(
              Effect.map(([row]) => row?.erased === 1),
              bounded,
            ),
      })
    }),
  )
}
