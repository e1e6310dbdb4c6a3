/** Answers of the endpoint itself: what it is, and the lists of everything that the caller may use. */
import { Effect, Option } from "effect"
import type { ToolServerEntry } from "../../catalogue/snapshot.ts"
import type { Caller } from "../../identity/caller.ts"
import { type ServiceError, serviceError } from "../../protocol/error.ts"
import type { JsonObject } from "../../protocol/mcp/message.ts"
import {
  isSessionVersion,
  mcpVersions,
  metaNames,
  type SessionVersion,
  sessionVersions,
} from "../../protocol/mcp/versions.ts"
import type { ServerFailed } from "../../tool-servers/ask-server.ts"
import { type CallerTools, joinedEntry } from "../../tool-servers/caller-tools.ts"
import type { SessionOwner } from "../../tool-servers/session-owner.ts"
import type { ListName } from "../../tool-servers/tool-lists.ts"
import { forSessions } from "../../tools/list-entries.ts"
import { connectTool } from "./account-needed.ts"

export const serverInfo = { name: "weir", title: "Weir", version: "1" }

/** The lists are the caller's own, and fresh for a minute. */
const caching = { ttlMs: 60_000, cacheScope: "private" }

const capabilities = {
  tools: { listChanged: true },
  prompts: { listChanged: true },
  resources: { listChanged: true },
  completions: {},
}

export const discovered = (instructions: string | undefined): JsonObject => ({
  resultType: "complete",
  supportedVersions: [...mcpVersions],
  capabilities,
  ...(instructions !== undefined && { instructions }),
  ...caching,
  _meta: { [metaNames.server]: serverInfo },
})

/** The version of a session: the client's own, or the newest. */
export const agreedVersion = (asked: unknown): SessionVersion => (isSessionVersion(asked) ? asked : sessionVersions[0])

export const initialised = (version: SessionVersion, instructions: string | undefined): JsonObject => ({
  protocolVersion: version,
  capabilities: { ...capabilities, logging: {} },
  serverInfo,
  ...(instructions !== undefined && { instructions }),
})

const lists: Readonly<Record<string, ListName>> = {
  "tools/list": "tools",
  "prompts/list": "prompts",
  "resources/list": "resources",
  "resources/templates/list": "resourceTemplates",
}

/** The list that a method asks for. */
export const namedList = (method: string): ListName | undefined =>
  Object.hasOwn(lists, method) ? lists[method] : undefined

/** The time that a list of several servers waits for one of them. */
const longestMs = 5000

/** Entries of a page. */
const pageSize = 500

export interface ListRequest {
  readonly caller: Caller
  /** The servers that are listed. */
  readonly entries: ReadonlyArray<ToolServerEntry>
  /** Whether names have their server's. */
  readonly isJoined: boolean
  readonly owner: SessionOwner
  readonly isStateless: boolean
  readonly cursor: unknown
}

/** A page of a list. A server that does not answer is left out where there are others. */
export const listed = Effect.fnUntraced(function* (
  tools: CallerTools["Service"],
  list: ListName,
  { caller, entries, isJoined, owner, isStateless, cursor }: ListRequest,
): Effect.fn.Return<JsonObject, ServiceError> {
  const from = offsetOf(cursor)
  if (from === undefined) return yield* serviceError("bad_request", "The cursor is none of this list")
  const read = (entry: ToolServerEntry): Effect.Effect<ReadonlyArray<JsonObject>, ServerFailed> =>
    list === "tools"
      ? Effect.map(tools.toolsOf(caller, entry, owner), (found) =>
          found.map(({ definition }) => (isStateless ? definition : forSessions(definition))),
        )
      : tools.listOf(caller, entry, list, owner)
  const parts = yield* Effect.forEach(
    entries,
    (entry) => {
      const offered = Effect.catch(read(entry), (failure) =>
        list === "tools" && failure.needed?.path !== undefined
          ? Effect.succeed([connectTool(failure.needed, entry.server.name ?? entry.server.id)])
          : Effect.fail(failure),
      )
      const own = Effect.map(offered, (found) =>
        isJoined ? found.map((each) => joinedEntry(entry.server.id, list, each)) : found,
      )
      return isJoined
        ? Effect.map(Effect.timeoutOption(Effect.option(own), longestMs), (found) =>
            Option.getOrElse(Option.flatten(found), (): ReadonlyArray<JsonObject> => []),
          )
        : Effect.mapError(own, (cause) =>
            cause.needed === undefined
              ? serviceError("upstream_error", "The server does not give its list", { cause })
              : serviceError("forbidden", cause.needed.message),
          )
    },
    { concurrency: 8 },
  )
  const all = parts.flat()
  const page = all.slice(from, from + pageSize)
  const next = from + page.length
  return {
    ...(isStateless && { resultType: "complete", ...caching }),
    [list]: page,
    ...(next < all.length && { nextCursor: Buffer.from(String(next)).toString("base64url") }),
  }
})

const offsetOf = (cursor: unknown): number | undefined => {
  if (cursor === undefined) return 0
  if (typeof cursor !== "string" || cursor.length > 16) return undefined
  const text = Buffer.from(cursor, "base64url").toString("latin1")
  return /^[1-9]\d{0,7}$/.test(text) ? Number(text) : undefined
}
