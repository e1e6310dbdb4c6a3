/** The tools, prompts and resources that a caller may use, of one server or of all. */
import { Context, Effect, Layer } from "effect"
import { Catalogue } from "../catalogue/catalogue.ts"
import type { ToolServerEntry } from "../catalogue/snapshot.ts"
import { joinedName, joinedUri } from "../protocol/mcp/joined-names.ts"
import type { JsonObject } from "../protocol/mcp/message.ts"
import { allowsTool, type LimitedSubject, noSubjects, type ToolHolder } from "../tenants/subject-limits.ts"
import type { ServerFailed } from "./ask-server.ts"
import { type OfferedTool, offeredTools } from "./offered-tools.ts"
import type { SessionOwner } from "./session-owner.ts"
import { type ListName, ToolLists } from "./tool-lists.ts"

export interface FoundTool extends OfferedTool {
  readonly entry: ToolServerEntry
}

export class CallerTools extends Context.Service<
  CallerTools,
  {
    /** The servers of which a caller may use something, in the catalogue's order. */
    readonly servers: (holder: ToolHolder) => ReadonlyArray<ToolServerEntry>
    /** The tools of a server that the caller may use. */
    readonly toolsOf: (
      holder: ToolHolder,
      entry: ToolServerEntry,
      owner: SessionOwner,
    ) => Effect.Effect<ReadonlyArray<FoundTool>, ServerFailed>
    /** Entries of another list of a server that the caller may use. */
    readonly listOf: (
      holder: ToolHolder,
      entry: ToolServerEntry,
      list: Exclude<ListName, "tools">,
      owner: SessionOwner,
    ) => Effect.Effect<ReadonlyArray<JsonObject>, ServerFailed>
    readonly lists: ToolLists["Service"]
  }
>()("weir/tools/CallerTools") {
  static readonly layer = Layer.effect(
    CallerTools,
    Effect.gen(function* () {
      const catalogue = yield* Catalogue
      const lists = yield* ToolLists
      return CallerTools.of({
        lists,
        servers: (holder) =>
          [...catalogue.current().toolServers.values()].filter(({ server }) => mayUse(holder, server.id)),
        toolsOf: (holder, entry, owner) =>
          Effect.map(lists.read(entry, "tools", owner), ({ entries }) =>
            offeredTools(entry, entries).flatMap((tool) =>
              allowsTool(holder, entry.server.id, joinedName(entry.server.id, tool.name)) ? [{ ...tool, entry }] : [],
            ),
          ),
        listOf: (holder, entry, list, owner) =>
          Effect.map(lists.read(entry, list, owner), ({ entries }) =>
            entries.filter((each) =>
              list === "prompts"
                ? typeof each["name"] === "string" && mayUsePrompt(holder, entry.server.id, each["name"])
                : mayUseResources(holder, entry.server.id),
            ),
          ),
      })
    }),
  )
}

export const mayUsePrompt = (holder: ToolHolder, server: string, name: string): boolean =>
  allowsTool(holder, server, joinedName(server, name))

/** Resources belong to their server: a caller that may use some of its tools only has none of them. */
export const mayUseResources = (holder: ToolHolder, server: string): boolean =>
  allowsTool(holder, server, joinedName(server, ""))

/** Whether every list names something of a server. */
export const mayUse = ({ org, limits = noSubjects }: ToolHolder, server: string): boolean => {
  const begins = joinedName(server, "")
  const names = (pattern: string) => {
    if (pattern === server || pattern.startsWith(begins)) return true
    return pattern.endsWith("*") && begins.startsWith(pattern.slice(0, -1))
  }
  const each = ({ tools }: Pick<LimitedSubject, "tools">) => tools === undefined || tools.some(names)
  return org.tools?.some(names) === true && limits.every(each)
}

/** An entry of a list of several servers. */
export const joinedEntry = (server: string, list: ListName, entry: JsonObject): JsonObject => {
  const { name, uri, uriTemplate } = entry
  switch (list) {
    case "tools":
    case "prompts":
      return { ...entry, name: joinedName(server, String(name)) }
    case "resources":
      return { ...entry, uri: joinedUri(server, String(uri)) }
    case "resourceTemplates":
      return { ...entry, uriTemplate: joinedUri(server, String(uriTemplate)) }
  }
}
