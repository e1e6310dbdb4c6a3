/** Jobs in PostgreSQL: each is taken by one node at a time, and ends once. */
import { Context, Effect, Layer, Schema } from "effect"
import { JobState } from "../protocol/kinds/video.ts"
import { queryDeadline } from "../store/database.ts"
import { inEach, inThoseThatAnswer, Shards } from "../store/shards/shards.ts"
import type { StoreUnavailable } from "../store/unavailable.ts"

export interface Job {
  readonly orgId: string
  readonly id: string
  readonly endUserId: string | undefined
  readonly kind: string
  readonly model: string
  readonly vendor: string
  readonly targetModel: string
  readonly vendorJob: string
  readonly isOwn: boolean
  readonly currency: string
  /** A decimal. */
  readonly held: string
  readonly dims: Readonly<Record<string, number>>
  readonly view: Readonly<Record<string, string | number>>
  readonly state: JobState
  readonly progress: number
  readonly errorCode: string | undefined
  readonly content: string | undefined
  readonly createdAt: Date
  readonly endsAt: Date
  /** Whether its time was over when it was taken, by the clock of the database. */
  readonly isOver: boolean
  /** Whether {@link endingMs} were over too. */
  readonly isGivenUp: boolean
  readonly endedAt: Date | undefined
  readonly polls: number
}

export interface JobPage {
  readonly kind: string
  readonly endUserId: string | undefined
  /** The last job of the page before. */
  readonly after: string | undefined
  readonly isOldestFirst: boolean
  readonly most: number
}

/** The end of a job: its cost, and the location of its result. */
export interface JobEnd {
  readonly state: "done" | "failed" | "cancelled"
  readonly errorCode?: string | undefined
  readonly content?: string | undefined
  /** The cost of a job that is done, a decimal; all that is held if absent. */
  readonly cost?: string
  /** Its units; those of its call if absent. */
  readonly dims?: Job["dims"]
}

/**
 * The time that a job's vendor may take to end it after its timeout. Until then its money stays held, because the vendor
 * may complete the job and bill it.
 */
export const endingMs = 15 * 60_000

export class JobStore extends Context.Service<
  JobStore,
  {
    readonly find: (orgId: string, id: string) => Effect.Effect<Job | undefined, StoreUnavailable>
    /** The newest first. @param orgId of one organisation, or of all */
    readonly list: (
      orgId: string | undefined,
      isOpen: boolean,
      most: number,
    ) => Effect.Effect<ReadonlyArray<Job>, StoreUnavailable>
    /** A page of one organisation's jobs, and of one end user's if one is named. */
    readonly page: (orgId: string, page: JobPage) => Effect.Effect<ReadonlyArray<Job>, StoreUnavailable>
    /** Jobs that are to be asked for now; they are this node's until the lease is over. */
    readonly take: (node: string, most: number, leaseMs: number) => Effect.Effect<ReadonlyArray<Job>, StoreUnavailable>
    readonly goesOn: (
      job: Job,
      node: string,
      state: "queued" | "running",
      progress: number,
      afterMs: number,
    ) => Effect.Effect<void, StoreUnavailable>
    /** Jobs of a kind that have not ended, and whose time is over. */
    readonly over: (kind: string, most: number) => Effect.Effect<ReadonlyArray<Job>, StoreUnavailable>
    readonly endsSooner: (job: Job, at: Date) => Effect.Effect<void, StoreUnavailable>
    /**
     * Charges a job that is done, and releases the hold of any other.
     * @returns false if it had ended
     */
    readonly end: (job: Job, end: JobEnd) => Effect.Effect<boolean, StoreUnavailable>
  }
>()("weir/jobs/JobStore") {
  static readonly layer = Layer.effect(
    JobStore,
    Effect.gen(function* () {
      const shards = yield* Shards
      const bounded = yield* queryDeadline
      const readAll = (rows: ReadonlyArray<unknown>) => rows.map((row) => jobOf(decodeRow(row)))
      return JobStore.of({
        find: (orgId, id) =>
          shards
            .of(orgId)
            .run(({ sql, books }) => sql`select * from ${books}jobs where org_id = ${orgId} and id = ${id}`)
            .pipe(
              Effect.map((rows) => readAll(rows)[0]),
              bounded,
            ),
        list: (orgId, isOpen, most) =>
          inEach(
            shards,
            ({ sql, books }) => sql`select * from ${books}jobs
              where (${orgId ?? null}::text is null or org_id = ${orgId ?? null})
                and (not ${isOpen}::boolean or ended_at is null)
              order by created_at desc limit ${most}`,
          ).pipe(
            Effect.map((rows) => readAll(rows).sort(byNewest).slice(0, most)),
            bounded,
          ),
        page: (orgId, { kind, endUserId = null, after = null, isOldestFirst, most }) =>
          shards
            .of(orgId)
            .run(({ sql, books }) => {
              const last = sql`(select created_at, id from ${books}jobs where org_id = ${orgId} and id = ${after})`
              const rest = isOldestFirst ? sql`(created_at, id) > ${last}` : sql`(created_at, id) < ${last}`
              const order = isOldestFirst ? sql`created_at, id` : sql`created_at desc, id desc`
              return sql`select * from ${books}jobs where org_id = ${orgId} and kind = ${kind}
                and (${endUserId}::text is null or end_user_id = ${endUserId})
                and (${after}::text is null or ${rest})
                order by ${order} limit ${most}`
            })
            .pipe(Effect.map(readAll), bounded),
        take: (node, most, leaseMs) =>
          inThoseThatAnswer(
            shards,
            ({ sql, books }) =>
              sql`select *, ends_at <= now() as is_over,
                ends_at + ${endingMs}::double precision * interval '1 millisecond' <= now() as is_given_up
                from ${books}jobs_take(${node}, ${most}::integer, ${leaseMs}::double precision)`,
          ).pipe(Effect.map(readAll), bounded),
        goesOn: (job, node, state, progress, afterMs) =>
          shards
            .of(job.orgId)
            .run(
              ({ sql, books }) => sql`select ${books}job_goes_on(${job.orgId}, ${job.id}, ${node}, ${state},
                ${progress}::integer, ${afterMs}::double precision)`,
            )
            .pipe(Effect.asVoid, bounded),
        over: (kind, most) =>
          inThoseThatAnswer(
            shards,
            ({ sql, books }) => sql`select * from ${books}jobs
              where ended_at is null and kind = ${kind} and ends_at <= now() order by ends_at limit ${most}`,
          ).pipe(Effect.map(readAll), bounded),
        endsSooner: (job, at) =>
          shards
            .of(job.orgId)
            .run(({ sql, books }) => sql`select ${books}job_ends_sooner(${job.orgId}, ${job.id}, ${at})`)
            .pipe(Effect.asVoid, bounded),
        end: (job, { state, errorCode, content, cost = job.held, dims = job.dims }) =>
          shards
            .of(job.orgId)
            .run(
              ({ sql, books }) => sql<{ readonly ended: boolean }>`
                select ${books}job_end(${job.orgId}, ${job.id}, ${state}, ${errorCode ?? null}, ${content ?? null},
                  ${state === "done" ? cost : "0"}::numeric, ${JSON.stringify(dims)}::jsonb) as ended`,
            )
            .pipe(
              Effect.map(([row]) => row?.ended === true),
              bounded,
            ),
      })
    }),
  )
}

const nullable = <S extends Schema.Top>(schema: S) => Schema.NullOr(schema)

const Row = Schema.Struct({
  org_id: Schema.String,
  id: Schema.String,
  end_user_id: nullable(Schema.String),
  kind: Schema.String,
  model: Schema.String,
  vendor: Schema.String,
  target_model: Schema.String,
  vendor_job: Schema.String,
  is_own: Schema.Boolean,
  currency: Schema.String,
  held: Schema.String,
  dims: Schema.Record(Schema.String, Schema.Finite),
  view: Schema.Record(Schema.String, Schema.Union([Schema.String, Schema.Finite])),
  state: JobState,
  progress: Schema.Int,
  error_code: nullable(Schema.String),
  content: nullable(Schema.String),
  created_at: Schema.Date,
  ends_at: Schema.Date,
  ended_at: nullable(Schema.Date),
  polls: Schema.Int,
  is_over: Schema.optionalKey(Schema.Boolean),
  is_given_up: Schema.optionalKey(Schema.Boolean),
})

const byNewest = (a: Job, b: Job): number => b.createdAt.getTime() - a.createdAt.getTime()

const decodeRow = Schema.decodeUnknownSync(Row)

const jobOf = (row: typeof Row.Type): Job => ({
  orgId: row.org_id,
  id: row.id,
  endUserId: row.end_user_id ?? undefined,
  kind: row.kind,
  model: row.model,
  vendor: row.vendor,
  targetModel: row.target_model,
  vendorJob: row.vendor_job,
  isOwn: row.is_own,
  currency: row.currency,
  held: row.held,
  dims: row.dims,
  view: row.view,
  state: row.state,
  progress: row.progress,
  errorCode: row.error_code ?? undefined,
  content: row.content ?? undefined,
  createdAt: row.created_at,
  endsAt: row.ends_at,
  endedAt: row.ended_at ?? undefined,
  polls: row.polls,
  isOver: row.is_over === true,
  isGivenUp: row.is_given_up === true,
})
