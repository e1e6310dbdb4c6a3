/** The client's message as it is sent to a server, and the server's as the client gets it: text, with few members changed. Pure. */
import { isObject, parseLongObject } from "../../dialects/parse/json.ts"
import { cut, editJsonText, type JsonEdit, set } from "../../protocol/json/json-edit.ts"
import { countJson, workerLimits } from "../../protocol/json/json-size.ts"
import { namesIn } from "../../protocol/json/json-text.ts"
import { joinedUri } from "../../protocol/mcp/joined-names.ts"
import type { JsonObject, MessageId } from "../../protocol/mcp/message.ts"
import { metaNames } from "../../protocol/mcp/versions.ts"
import { isStateless, type ServerSession, statelessMeta } from "../../tool-servers/server-session.ts"
import type { ToolRequest } from "./tool-request.ts"

/** The member of a result's metadata with the cost of its call. */
export const usageName = "x-svc-usage"

/** The gateway's own name among the inputs that it asks a client for. */
export const ownInput = "weir_account"

const isJsonObject = (json: unknown): json is JsonObject => isObject(json)

/** The members of `_meta` that are for the gateway. */
const own: ReadonlySet<string> = new Set<string>([...Object.values(metaNames), "x-svc-request-id", "x-svc-tags"])

/** The client's own token for progress; undefined if it wants none. */
export const progressTokenOf = ({ _meta: meta }: JsonObject): string | number | undefined => {
  const token = isJsonObject(meta) ? meta["progressToken"] : undefined
  return typeof token === "string" || typeof token === "number" ? token : undefined
}

/** The client's metadata that its server gets. */
export const passedMeta = ({ _meta: meta }: JsonObject): JsonObject =>
  isJsonObject(meta) ? Object.fromEntries(Object.entries(meta).filter(([member]) => !own.has(member))) : {}

/** @param id of the message at the server, which is its token for progress too */
export const messageTo = (
  { text, params, method, name }: Pick<ToolRequest, "text" | "params" | "method" | "name">,
  session: ServerSession,
  id: string,
): string => {
  const { _meta: sent } = params
  const given = isJsonObject(sent) ? sent : {}
  const meta = {
    ...passedMeta(params),
    ...(progressTokenOf(params) !== undefined && { progressToken: id }),
    ...(isStateless(session) &&
      statelessMeta(objectIn(given, metaNames.capabilities), objectIn(given, metaNames.client))),
  }
  const edits: Array<JsonEdit> = [set(id, "id"), ...namedAt(method, params, name)]
  const { inputResponses } = params
  if (isJsonObject(inputResponses) && inputResponses[ownInput] !== undefined) {
    const { [ownInput]: _, ...others } = inputResponses
    const path = ["params", "inputResponses"]
    edits.push(Object.keys(others).length > 0 ? set(others, ...path) : { path, json: undefined })
  }
  if (Object.keys(meta).length > 0) edits.push(set(meta, "params", "_meta"))
  else if (sent !== undefined) edits.push({ path: ["params", "_meta"], json: undefined })
  return editJsonText(text, edits)
}

const objectIn = (meta: JsonObject, name: string): JsonObject | undefined => {
  const value = meta[name]
  return isJsonObject(value) ? value : undefined
}

const namedAt = (method: ToolRequest["method"], { ref }: JsonObject, name: string): ReadonlyArray<JsonEdit> => {
  if (method === "resources/read") return [set(name, "params", "uri")]
  if (method !== "completion/complete") return [set(name, "params", "name")]
  return [set(name, "params", "ref", isObject(ref) && ref["type"] === "ref/resource" ? "uri" : "name")]
}

/** The result, as the client's version and its names of resources have it. */
export const resultFor = (
  text: string,
  result: JsonObject,
  { method, entry, client }: Pick<ToolRequest, "method" | "entry" | "client">,
): string => {
  const edits: Array<JsonEdit> = []
  const { _meta: meta } = result
  // The cost is the gateway's to say.
  if (isJsonObject(meta) && meta[usageName] !== undefined) edits.push(cut("result", "_meta", usageName))
  if (client.isStateless) {
    if (result["resultType"] === undefined) edits.push(set("complete", "result", "resultType"))
    const isCacheable = method === "resources/read" && (result["resultType"] ?? "complete") === "complete"
    if (isCacheable && result["ttlMs"] === undefined) edits.push(set(0, "result", "ttlMs"))
    if (isCacheable && result["cacheScope"] === undefined) edits.push(set("private", "result", "cacheScope"))
  }
  if (client.isJoined) {
    const { id } = entry.server
    for (const { path, uri } of urisIn(result)) edits.push(set(joinedUri(id, uri), "result", ...path))
  }
  return editJsonText(text, edits)
}

interface PlacedUri {
  readonly path: ReadonlyArray<string | number>
  readonly uri: string
}

/** Addresses of resources in a result, which clients may read. */
const urisIn = (result: JsonObject): ReadonlyArray<PlacedUri> => {
  const found: Array<PlacedUri> = []
  const take = (value: unknown, ...path: ReadonlyArray<string | number>) => {
    if (isObject(value) && typeof value["uri"] === "string") found.push({ path: [...path, "uri"], uri: value["uri"] })
  }
  const { content, contents, messages } = result
  for (const [at, each] of listOf(contents).entries()) take(each, "contents", at)
  const inContent = (each: unknown, ...path: ReadonlyArray<string | number>) => {
    if (!isObject(each)) return
    if (each["type"] === "resource_link") take(each, ...path)
    if (each["type"] === "resource") take(each["resource"], ...path, "resource")
  }
  for (const [at, each] of listOf(content).entries()) inContent(each, "content", at)
  for (const [at, each] of listOf(messages).entries()) {
    if (isObject(each)) inContent(each["content"], "messages", at, "content")
  }
  return found
}

const listOf = (value: unknown): ReadonlyArray<unknown> => (Array.isArray(value) ? value : [])

/** Whether an object of a message names a member twice: of these, readers take the first or the last. */
export const namesTwice = (text: string): boolean =>
  countJson(Buffer.from(text), workerLimits).names !== namesIn(parseLongObject(text))

/** A notification of progress with the client's own token. */
export const progressFor = (text: string, token: string | number): string =>
  editJsonText(text, [set(token, "params", "progressToken")])

export const withId = (text: string, id: MessageId): string => editJsonText(text, [set(id, "id")])
