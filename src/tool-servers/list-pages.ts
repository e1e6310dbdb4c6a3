/** The pages of a list of a server. A server that lists without end, slowly or at length is read so far. */
import { Clock, Effect } from "effect"
import { isObject } from "../dialects/parse/json.ts"
import type { JsonObject } from "../protocol/mcp/message.ts"
import { ServerFailed } from "./ask-server.ts"

export interface ServerList {
  readonly entries: ReadonlyArray<JsonObject>
  /** Whether the server has more than is read. */
  readonly isCut: boolean
}

const mostPages = 100
const mostEntries = 5000
/** The JSON of all entries. */
const mostBytes = 8 * 1024 * 1024
/** No page is asked for after this time. */
const withinMs = 30_000

/** @param page asks for the result with a page; undefined if the server has answered with an error */
export const readPages = Effect.fnUntraced(function* (
  page: (cursor: string | undefined) => Effect.Effect<JsonObject | undefined, ServerFailed>,
  list: string,
): Effect.fn.Return<ServerList, ServerFailed> {
  const entries: Array<JsonObject> = []
  const cursors = new Set<string>()
  const startedAtMs = yield* Clock.currentTimeMillis
  let bytes = 0
  let cursor: string | undefined
  for (let read = 0; read < mostPages; read++) {
    const result = yield* page(cursor)
    const found = result?.[list]
    if (result === undefined || !Array.isArray(found)) {
      return yield* new ServerFailed({ reason: "malformed", status: 200, headers: {} })
    }
    for (const each of found) {
      if (!isEntry(each)) continue
      bytes += JSON.stringify(each).length
      if (bytes > mostBytes || entries.length === mostEntries) return { entries, isCut: true }
      entries.push(each)
    }
    const next = result["nextCursor"]
    if (typeof next !== "string" || next === "") return { entries, isCut: false }
    // A server that names a page again would be asked for ever.
    if (cursors.has(next)) break
    if ((yield* Clock.currentTimeMillis) - startedAtMs >= withinMs) break
    cursors.add(next)
    cursor = next
  }
  return { entries, isCut: true }
})

const isEntry = (json: unknown): json is JsonObject => isObject(json)
