/**
 * Sessions of clients, for the versions that have sessions: a sealed text that any node can read, and that only its caller can
 * use. Nothing is kept.
 */
import { Option, Schema } from "effect"
import { isObject } from "../../dialects/parse/json.ts"
import type { Caller } from "../../identity/caller.ts"
import { type JsonObject, MessageId } from "../../protocol/mcp/message.ts"
import { sessionVersions } from "../../protocol/mcp/versions.ts"
import type { Sealer } from "../../store/seal.ts"
import { callerAsOwner, type SessionOwner } from "../../tool-servers/session-owner.ts"

const json = Schema.Record(Schema.String, Schema.Json)

export const ClientSession = Schema.Struct({
  version: Schema.Literals(sessionVersions),
  /** Names it among the sessions of its caller. */
  id: Schema.String,
  info: json,
  capabilities: json,
})
export type ClientSession = typeof ClientSession.Type

const SessionText = Schema.fromJsonString(ClientSession)
const writeSession = Schema.encodeSync(SessionText)
const readSession = Schema.decodeUnknownOption(SessionText)

/** Longest description of a client that is kept in its session. */
const longest = 2048

const bounded = (value: JsonObject): JsonObject => (JSON.stringify(value).length > longest ? {} : value)

/** The client that begins a session, as it describes itself. */
export const clientOf = ({ clientInfo, capabilities }: JsonObject): Pick<ClientSession, "info" | "capabilities"> => ({
  info: isJsonObject(clientInfo) ? clientInfo : {},
  capabilities: isJsonObject(capabilities) ? capabilities : {},
})

const isJsonObject = (value: unknown): value is JsonObject => isObject(value)

/** The organisation, the key and the end user. */
export const callerName = (caller: Caller): string => callerAsOwner(caller).name

/** The owner of sessions with servers: of a client's own session, or of all calls of its caller that have none. */
export const ownerOf = (caller: Caller, session: ClientSession | undefined): SessionOwner => {
  const owner = callerAsOwner(caller)
  if (session === undefined) return owner
  const { id, info, capabilities } = session
  return { ...owner, name: `${owner.name} ${id}`, client: { info, capabilities } }
}

const contextOf = (caller: Caller): string => `mcp-session ${callerName(caller)}`

export const sealSession = (sealer: Sealer, caller: Caller, session: ClientSession): string =>
  sealer.seal(
    writeSession({ ...session, info: bounded(session.info), capabilities: bounded(session.capabilities) }),
    contextOf(caller),
  )

/** @returns undefined if it is none, or another caller's */
export const openSession = (sealer: Sealer, caller: Caller, token: string): ClientSession | undefined =>
  Option.getOrUndefined(readSession(sealer.open(token, contextOf(caller)) ?? ""))

/** A request of a server that a client answers: the server, its session and the server's own id of the request. */
const ServerRequest = Schema.Struct({
  server: Schema.String,
  target: Schema.String,
  session: Schema.NullOr(Schema.String),
  id: MessageId,
})
export type ServerRequest = typeof ServerRequest.Type

const RequestText = Schema.fromJsonString(ServerRequest)
const writeRequest = Schema.encodeSync(RequestText)
const readRequest = Schema.decodeUnknownOption(RequestText)

export const sealRequest = (sealer: Sealer, caller: Caller, request: ServerRequest): string =>
  sealer.seal(writeRequest(request), `mcp-request ${callerName(caller)}`)

export const openRequest = (sealer: Sealer, caller: Caller, id: MessageId): ServerRequest | undefined =>
  typeof id === "string"
    ? Option.getOrUndefined(readRequest(sealer.open(id, `mcp-request ${callerName(caller)}`) ?? ""))
    : undefined
