/** The search of the console: organisations, applications and keys by the beginning of an id or a name; exchanges by their id. */
import { Clock, Effect, Schema } from "effect"
import { ExchangeLog } from "../../money/exchange-log.ts"
import type { SearchResults } from "../../protocol/control/search.ts"
import { Directory } from "../../tenants/directory.ts"
import { type ListQuery, searchOf } from "../page-query.ts"

/** The results of each kind. */
const most = 5
/** Exchanges have no index by their id alone: the search reads a week of them, and gives up after this time. */
const exchangeDays = 7
const exchangeWait = "2 seconds"
/** Shorter texts are no ids of exchanges. */
const leastIdLength = 8

const dayMs = 86_400_000

export const makeSearch = Effect.gen(function* () {
  const directory = yield* Directory
  const log = yield* ExchangeLog

  const exchangesWith = Effect.fnUntraced(function* (request: string) {
    if (request.length < leastIdLength) return []
    const toMs = yield* Clock.currentTimeMillis
    const page = { limit: most, cursor: undefined }
    const { data } = yield* log.list({ request, fromMs: toMs - exchangeDays * dayMs, toMs }, page)
    return data.map(({ id, org: orgId, model, at }) => ({ id, orgId, model, at }))
  })

  return Effect.fnUntraced(function* (query: Pick<ListQuery, "search">) {
    const { search = "" } = yield* searchOf(query)
    if (search === "") return { organisations: [], applications: [], keys: [], exchanges: [] } satisfies SearchResults
    const asked = { search, limit: most, cursor: undefined }
    const [orgs, apps, keys, exchanges] = yield* Effect.all(
      [
        directory.list("org", asked),
        directory.list("app", asked),
        directory.keys(asked),
        Effect.timeoutOrElse(exchangesWith(search), {
          duration: exchangeWait,
          orElse: () => Effect.succeed([]),
        }),
      ],
      { concurrency: "unbounded" },
    )
    return {
      organisations: orgs.data.map(({ id, document }) => ({ id, ...nameOf(document) })),
      applications: apps.data.map(({ id, document }) => ({ id, ...nameOf(document), ...orgOf(document) })),
      keys: keys.data.map(({ id, name, orgId }) => ({
        id,
        ...(name !== undefined && { name }),
        ...(orgId !== undefined && { orgId }),
      })),
      exchanges,
    } satisfies SearchResults
  })
})

const isNamed = Schema.is(Schema.Struct({ name: Schema.String }))

const isOfOrg = Schema.is(Schema.Struct({ org: Schema.String }))

const orgOf = (document: unknown) => (isOfOrg(document) ? { orgId: document.org } : {})

const nameOf = (document: unknown) => (isNamed(document) ? { name: document.name } : {})
