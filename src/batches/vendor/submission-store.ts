/** Parts of batches that run at vendors, in PostgreSQL: each is looked at by one node at a time, and ends once. */
import { Context, Effect, Layer, Schema } from "effect"
import type { VendorBatch } from "../../dialects/batch-dialect.ts"
import { LongQueries } from "../../store/connections.ts"
import { queryDeadline } from "../../store/database.ts"
import { inThoseThatAnswer } from "../../store/shards/shards.ts"
import type { StoreUnavailable } from "../../store/unavailable.ts"
import type { NewChunk } from "../batch.ts"
import { endingMs, failingMs, listedMs, readSubmissions, type Submission, submissionOf } from "./submission.ts"

type Result<A> = Effect.Effect<A, StoreUnavailable>

/** The state of a submission that goes on. */
export interface Next extends Pick<Submission, "state" | "isCancelled" | "reads" | "polls"> {
  readonly vendorBatch: VendorBatch | undefined
  /** The time until it is looked at again. */
  readonly afterMs: number
}

const OpenSubmissions = Schema.Struct({
  vendor: Schema.String,
  state: Schema.String,
  submissions: Schema.Int,
  lines: Schema.Int,
})
type OpenSubmissions = typeof OpenSubmissions.Type
const readOpen = Schema.decodeUnknownSync(Schema.Array(OpenSubmissions))

export class SubmissionStore extends Context.Service<
  SubmissionStore,
  {
    readonly take: (node: string, most: number, leaseMs: number) => Result<ReadonlyArray<Submission>>
    /** The number of submissions that have not ended, and of their lines, by vendor and state. */
    readonly open: Result<ReadonlyArray<OpenSubmissions>>
    readonly renew: (node: string, leaseMs: number) => Result<void>
    /** Its vendor is asked to make a batch now. @returns false if the node has it no more, or its batch begins nothing more */
    readonly sends: (submission: Submission, node: string, lines: number) => Result<boolean>
    readonly goesOn: (submission: Submission, node: string, next: Next) => Result<void>
    /** Gives it back as it is in the database. */
    readonly back: (submission: Submission, node: string, afterMs: number) => Result<void>
    /**
     * Ends it; the gateway answers the rest itself, if the batch goes on.
     * @returns false if another node has it now
     */
    readonly done: (submission: Submission, node: string, rest: ReadonlyArray<NewChunk>) => Result<boolean>
  }
>()("weir/batches/vendor/SubmissionStore") {
  static readonly layer = Layer.effect(
    SubmissionStore,
    Effect.gen(function* () {
      const { shards } = yield* LongQueries
      const bounded = yield* queryDeadline
      const giveBack = ({ orgId, batchId, submission }: Submission, node: string, next: object): Result<void> =>
        shards
          .of(orgId)
          .run(
            ({ sql, books }) => sql`
              select ${books}batch_submission_goes_on(${orgId}, ${batchId}, ${submission}::integer, ${node},
                ${JSON.stringify(next)}::text::jsonb)`,
          )
          .pipe(Effect.asVoid, bounded)

      return SubmissionStore.of({
        take: (node, most, leaseMs) =>
          inThoseThatAnswer(
            shards,
            ({ sql, books }) => sql`
              select s.*, coalesce(b.end_at <= now(), true) as is_over,
                coalesce(b.end_at <= now() - ${endingMs}::double precision * interval '1 millisecond', true) as is_given_up,
                coalesce(b.end_at <= now() - ${failingMs}::double precision * interval '1 millisecond', true) as is_last_try,
                coalesce(s.sent_at <= now() - ${listedMs}::double precision * interval '1 millisecond', false) as is_long_sent
              from ${books}batch_submissions_take(${node}, ${most}::integer, ${leaseMs}::double precision) s
              left join lateral (
                select least(q.ends_at, q.cancelled_at) as end_at from ${books}batches q
                where q.org_id = s.org_id and q.id = s.batch_id and q.ended_at is null) b on true`,
          ).pipe(
            Effect.map((rows) => readSubmissions(rows).map(submissionOf)),
            bounded,
          ),
        open: inThoseThatAnswer(
          shards,
          ({ sql, books }) => sql`
            select vendor, state, count(*)::integer as submissions, sum(lines)::integer as lines
            from ${books}batch_submissions group by vendor, state`,
        ).pipe(Effect.map(readOpen), bounded),
        renew: (node, leaseMs) =>
          inThoseThatAnswer(
            shards,
            ({ sql, books }) => sql`select ${books}batch_submissions_renew(${node}, ${leaseMs}::double precision)`,
          ).pipe(Effect.asVoid, bounded),
        sends: ({ orgId, batchId, submission }, node, lines) =>
          shards
            .of(orgId)
            .run(
              ({ sql, books }) => sql<{ sends: boolean }>`
                select ${books}batch_submission_sends(${orgId}, ${batchId}, ${submission}::integer, ${node}, ${lines}::integer)
                  as sends`,
            )
            .pipe(
              Effect.map(([row]) => row?.sends === true),
              bounded,
            ),
        goesOn: (submission, node, { vendorBatch, ...next }) =>
          giveBack(submission, node, { ...next, vendorBatch: vendorBatch?.id, inputFile: vendorBatch?.inputFile }),
        back: (submission, node, afterMs) => giveBack(submission, node, { afterMs }),
        done: ({ orgId, batchId, submission }, node, rest) =>
          shards
            .of(orgId)
            .run(
              ({ sql, books }) => sql<{ done: boolean }>`
                select ${books}batch_submission_done(${orgId}, ${batchId}, ${submission}::integer, ${node},
                  ${JSON.stringify(rest)}::text::jsonb) as done`,
            )
            .pipe(
              Effect.map(([row]) => row?.done === true),
              bounded,
            ),
      })
    }),
  )
}
