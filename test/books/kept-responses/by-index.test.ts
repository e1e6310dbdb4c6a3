/** Kept responses are read, listed and retired by index: what a statement reads, and a node has in memory, does not grow with what is kept. */
import { expect, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { BackgroundStore } from "../../../src/kept-responses/background-store.ts"
import { ContentObjects } from "../../../src/kept-responses/content-objects.ts"
import { ConversationItems } from "../../../src/kept-responses/conversation-items.ts"
import { Conversations } from "../../../src/kept-responses/conversations.ts"
import { KeptResponses } from "../../../src/kept-responses/kept-responses.ts"
import { ResponseDirectory } from "../../../src/kept-responses/response-directory.ts"
import { keptResponseId } from "../../../src/kept-responses/response-id.ts"
import { dateOf, dayMs } from "../../../src/protocol/values/instant.ts"
import { AuditLog } from "../../../src/store/audit-log.ts"
import { LongQueries } from "../../../src/store/connections.ts"
import { Sealing } from "../../../src/store/seal.ts"
import { Shards } from "../../../src/store/shards/shards.ts"
import { citusWorkers } from "../../../src/testing/citus.ts"
import { makeTestDatabase } from "../../support/books.ts"

const onServers = process.env["SVC_TEST_DATABASE_URL"] !== undefined
/** The embedded database is slow: it has fewer. */
const rows = onServers ? 1_000_000 : 40_000
const days = 20
const orgs = 7
const mostGrownMb = 48
/** Each continues one of its day, organisation and owner. */
const toPrevious = days * orgs * 3

/** Statements of all services go to the connection of the test, whose transaction counts the rows that they read. */
const onConnectionOfTest = Layer.unwrap(
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const shards = yield* Shards
    const own: Shards["Service"] = {
      ...shards,
      all: shards.all.map((shard) => ({ ...shard, run: (query) => query({ sql, books: sql.literal("") }) })),
      of: (orgId) => ({ ...shards.of(orgId), run: (query) => query({ sql, books: sql.literal("") }) }),
    }
    return Layer.merge(Layer.succeed(Shards, own), Layer.succeed(LongQueries, { sql, shards: own }))
  }),
)

const services = Layer.mergeAll(
  KeptResponses.layer,
  ResponseDirectory.layer.pipe(Layer.provide(AuditLog.layer)),
  Conversations.layer.pipe(Layer.provide(ConversationItems.layer)),
  BackgroundStore.layer,
).pipe(
  Layer.provide(Layer.mergeAll(ContentObjects.layerInRows, Sealing.layer)),
  Layer.provide(onConnectionOfTest),
  Layer.provideMerge(makeTestDatabase({ databaseDeadlineMs: 60_000 })),
)

const org = { id: "org_1", name: "O", currency: "USD", models: [], keeps: { responses: "30d" } } as const
const owner = { app: "app_1", person: "", endUser: "" }

layer(services, { excludeTestServices: true, timeout: "240 seconds" })("of very many kept responses", (it) => {
  it.effect.skipIf(citusWorkers().length > 0)(
    `${rows} in ${days} days: few rows are read, and none in sequence`,
    () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const kept = yield* KeptResponses
        const directory = yield* ResponseDirectory
        const background = yield* BackgroundStore
        const conversations = yield* Conversations
        const nowMs = Date.now()
        const times = Array.from({ length: days }, (_, day) => nowMs - day * dayMs)
        const nameOf = (n: number) => `req_${n.toString().padStart(16, "0")}`
        const idOf = (n: number) => keptResponseId(nameOf(n), times[n % days] ?? nowMs)
        const suffixes = times.map((_, day) => idOf(day).slice(-4))
        yield* sql`select retain_response_days(3)`
        for (const atMs of times.slice(2)) {
          const [day, next] = [dateOf(atMs), dateOf(atMs + dayMs)]
          yield* sql.unsafe(
            `create table responses_${day.replaceAll("-", "")} partition of responses for values from ('${day}') to ('${next}')`,
          )
        }
        // One of a hundred is past keeping.
        yield* sql`
          insert into responses (org_id, day, id, previous_id, app_id, person_id, end_user_id, model, state, is_background,
            lease_until, created_at, erase_at, key_id, request_id, request_hash, content)
          select 'org_' || n % ${orgs}::int, d.day::date, 'resp_' || lpad(n::text, 16, '0') || d.suffix,
            case when n % 11 <> 0 then 'resp_' || lpad((n - ${toPrevious}::int)::text, 16, '0') || d.suffix end,
            'app_' || n % 3, '', '', 'main', case when n % 10000 = 17 then 'in_progress' else 'completed' end, true,
            case when n % 10000 = 17 then now() - interval '1 hour' end,
            d.day::date + (n % 1000) * interval '1 second', now() + (n % 100) * interval '1 hour' - interval '30 minutes', 'key',
            'r' || n, '', 'x'
          from generate_series(${toPrevious}::int, ${rows + toPrevious - 1}::int) n
          join unnest(${times.map(dateOf)}::text[], ${suffixes}::text[]) with ordinality d(day, suffix, number)
            on d.number = n % ${days}::int + 1`
        yield* sql`
          insert into response_items (org_id, id, response_id, erase_at)
          select org_id, 'item_' || id, id, erase_at from responses where substr(id, 6, 16)::bigint % 10 = 1`
        yield* sql`
          insert into conversations (org_id, id, app_id, person_id, end_user_id, erase_at, metadata)
          select 'org_' || n % ${orgs}::int, 'conv_' || md5(n::text), 'app_' || n % 3, '', 'e' || n % 1000,
            now() + (n % 100) * interval '1 hour' - interval '30 minutes', ''
          from generate_series(1, ${rows / 20}::int) n`
        yield* sql`analyze responses`
        yield* sql`analyze response_items`
        yield* sql`analyze conversations`

        const readNow = sql<{ inSequence: number; byIndex: number }>`
          select coalesce(sum(seq_tup_read), 0)::float8 as "inSequence", coalesce(sum(idx_tup_fetch), 0)::float8 as "byIndex"
          from pg_stat_xact_user_tables where relname ~ '^(responses|response_items|conversations|content_objects)'`
        /** The numbers of rows that a job reads. */
        const readBy = <A, E, R>(job: Effect.Effect<A, E, R>) =>
          Effect.gen(function* () {
            const [before] = yield* readNow
            const result = yield* job
            const [after] = yield* readNow
            const difference = (name: "inSequence" | "byIndex") => (after?.[name] ?? 0) - (before?.[name] ?? 0)
            return { result, inSequence: difference("inSequence"), byIndex: difference("byIndex") }
          })
        const expectFew = <A, E, R>(what: string, most: number, job: Effect.Effect<A, E, R>) =>
          Effect.map(readBy(job), ({ result, inSequence, byIndex }) => {
            expect(inSequence, `${what}, in sequence`).toBe(0)
            expect(byIndex, what).toBeGreaterThan(0)
            expect(byIndex, what).toBeLessThanOrEqual(most)
            return result
          })

        const numbers = Array.from({ length: 3000 }, (_, at) => rows - at)
        const mine = numbers.find((n) => n % orgs === 1 && n % 30 === 1 && n % 100 > 60 && n % 11 !== 0) ?? 0
        const page = { limit: 20, cursor: undefined }
        yield* sql.withTransaction(
          Effect.gen(function* () {
            const found = yield* expectFew("state", 5, kept.stateOf(org, owner, idOf(mine)))
            expect(found?.id).toBe(idOf(mine))
            yield* expectFew("read", 5, kept.find(org, owner, idOf(mine)))
            expect(yield* expectFew("request", 5, kept.idOf(org, nameOf(mine)))).toBe(idOf(mine))
            yield* expectFew("thread", 20, kept.thread(org, owner, idOf(mine), 1_000_000))
            yield* expectFew("items", 5, kept.ofItems(org, owner, [`item_${idOf(mine)}`]))
            yield* expectFew(
              "repeated",
              5,
              kept.ofRequest(org, owner, { key: "key", request: `r${mine}` }, nowMs - 30 * dayMs),
            )
            const list = yield* expectFew("list", 200, directory.list(org.id, {}, page))
            expect(list.data).toHaveLength(20)
            const next = yield* expectFew(
              "page",
              200,
              directory.list(org.id, {}, { ...page, cursor: list.nextCursor ?? undefined }),
            )
            expect(next.data).toHaveLength(20)
            yield* expectFew("list of an owner", 600, directory.list(org.id, { app: "app_1" }, page))
            expect((yield* expectFew("lost", 100, background.lost(10))).length).toBe(
              Math.min(10, Math.floor(rows / 10_000)),
            )
            const talk = conversations.create(org, { ...owner, endUser: "e1" }, {}, [], dayMs)
            // The first one counts those of its organisation, once a minute.
            yield* talk
            yield* expectFew("conversation", 100, talk)
          }),
        )
        const most = 50
        yield* sql.withTransaction(
          Effect.gen(function* () {
            // The plan of a function is made for any number of rows after five runs.
            for (let run = 0; run < 7; run++) {
              const [row] = yield* expectFew(
                "retire",
                12 * most,
                sql<{ gone: number }>`select retain_responses(${most}) as gone`,
              )
              expect(Number(row?.gone)).toBe(most)
            }
            const erase = sql<{ gone: number }>`
              select responses_remove('org_1', null, 'app_1', null, ${new Date(nowMs - (days - 2) * dayMs)}) as gone`
            const { result, inSequence } = yield* readBy(erase)
            expect(Number(result[0]?.gone)).toBeGreaterThan(0)
            expect(inSequence).toBeLessThan(rows / 100)
          }),
        )
        // The memory of a node does not grow with the rows that it lists and removes.
        const pages = 100
        const residentMb = () => process.memoryUsage().rss / 1024 / 1024
        const work = Effect.gen(function* () {
          let cursor: string | undefined
          for (let page = 0; page < pages; page++) {
            const { nextCursor } = yield* directory.list(org.id, {}, { limit: 100, cursor })
            cursor = nextCursor ?? undefined
            yield* sql`select retain_responses(${most})`
          }
        })
        yield* work
        const beforeMb = residentMb()
        yield* work
        const grownMb = residentMb() - beforeMb
        if (onServers) expect(grownMb).toBeLessThan(mostGrownMb)
        yield* Effect.logInfo("Memory while a million rows are listed and retired", { beforeMb, grownMb })
      }),
    240_000,
  )
})
