/** Finds the server and the name that a message is for: of the tools, prompts and resources that its caller may use. */
import { Effect } from "effect"
import type { ToolServerEntry } from "../../catalogue/snapshot.ts"
import { isObject } from "../../dialects/parse/json.ts"
import type { Caller } from "../../identity/caller.ts"
import type { ToolMethod, ToolRequest } from "../../kinds/tool/tool-request.ts"
import { joinedName, splitName, splitUri } from "../../protocol/mcp/joined-names.ts"
import type { JsonObject } from "../../protocol/mcp/message.ts"
import type { NeededAccount } from "../../tool-servers/ask-server.ts"
import { type CallerTools, mayUsePrompt, mayUseResources } from "../../tool-servers/caller-tools.ts"
import type { SessionOwner } from "../../tool-servers/session-owner.ts"

export type FoundCall = Pick<ToolRequest, "entry" | "method" | "name" | "handle" | "prices" | "parameters">

/** The caller has no account at the server. */
export interface NoAccount {
  readonly needed: NeededAccount
}

export interface CallPlace {
  readonly caller: Caller
  readonly entries: ReadonlyArray<ToolServerEntry>
  readonly isJoined: boolean
  readonly owner: SessionOwner
}

/** @returns undefined if there is no such tool, prompt or resource for the caller */
export const findCall = Effect.fnUntraced(function* (
  tools: CallerTools["Service"],
  { caller, entries, isJoined, owner }: CallPlace,
  method: ToolMethod,
  params: JsonObject,
): Effect.fn.Return<FoundCall | NoAccount | undefined> {
  const { isUri, named } = namedIn(method, params)
  if (named === undefined) return undefined
  const split = isUri ? splitUri : splitName
  const place = isJoined ? split(named) : { server: entries[0]?.server.id ?? "", name: named }
  const entry = place && entries.find(({ server }) => server.id === place.server)
  if (place === undefined || entry === undefined) return undefined
  const { id } = entry.server
  const plain = { entry, method, parameters: [], prices: undefined }
  if (method === "tools/call") {
    const offered = yield* Effect.catch(tools.toolsOf(caller, entry, owner), ({ needed }) =>
      Effect.succeed(needed === undefined ? [] : { needed }),
    )
    if ("needed" in offered) return offered
    const tool = offered.find(({ name }) => name === place.name)
    if (tool === undefined) return undefined
    const { own, parameters } = tool
    return { entry, method, name: own, handle: joinedName(id, tool.name), prices: entry.priceOf(own), parameters }
  }
  const isAllowed = isUri ? mayUseResources(caller, id) : mayUsePrompt(caller, id, place.name)
  // Addresses of resources may be personal, and clients may invent names of prompts: usage records have neither.
  const handle = `${id}/${isUri ? "resources" : "prompts"}`
  return isAllowed ? { ...plain, name: place.name, handle } : undefined
})

const namedIn = (method: ToolMethod, { name, uri, ref }: JsonObject) => {
  const text = (value: unknown) => (typeof value === "string" ? value : undefined)
  if (method === "resources/read") return { isUri: true, named: text(uri) }
  if (method !== "completion/complete") return { isUri: false, named: text(name) }
  if (!isObject(ref)) return { isUri: false, named: undefined }
  return ref["type"] === "ref/resource"
    ? { isUri: true, named: text(ref["uri"]) }
    : { isUri: false, named: text(ref["name"]) }
}
