/**
 * Finds the version that a server speaks: it is asked to describe itself, which only servers without sessions can; any other is
 * asked for a session.
 * Source: https://modelcontextprotocol.io/specification/2026-07-28/basic/versioning#backward-compatibility-with-initialization-based-versions
 */
import { Effect } from "effect"
import { isObject } from "../dialects/parse/json.ts"
import { errorCodes, type JsonObject } from "../protocol/mcp/message.ts"
import { isSessionVersion, metaNames, sessionVersions, statelessVersion } from "../protocol/mcp/versions.ts"
import { type Addressed, type Answer, type AskServices, ask, ServerFailed, sendTo } from "./ask-server.ts"
import { clientInfo, type ServerSession, statelessMeta } from "./server-session.ts"

/** The client that a session is for. */
export interface SessionClient {
  readonly info: JsonObject
  readonly capabilities: JsonObject
}

export const gatewayItself: SessionClient = { info: clientInfo, capabilities: {} }

export const negotiate = (
  services: AskServices,
  at: Addressed,
  client: SessionClient,
): Effect.Effect<ServerSession, ServerFailed> => {
  const stateless = discover(services, at)
  const withSession = initialize(services, at, client)
  // Only in a session can a server ask its client something in the middle of a call.
  const ways = Object.keys(client.capabilities).length > 0 ? [withSession, stateless] : [stateless, withSession]
  return Effect.flatMap(Effect.result(ways[0] ?? stateless), (found) => {
    if (found._tag === "Success" && found.success !== undefined) return Effect.succeed(found.success)
    // A server that cannot be reached, or wants a credential, is not asked a second time.
    if (found._tag === "Failure" && !maySpeakAnother(found.failure)) return Effect.fail(found.failure)
    return Effect.flatMap(ways[1] ?? withSession, (session) =>
      session === undefined
        ? Effect.fail(new ServerFailed({ reason: "malformed", status: 200, headers: {} }))
        : Effect.succeed(session),
    )
  })
}

const maySpeakAnother = ({ reason, status }: ServerFailed): boolean =>
  reason === "malformed" || (reason === "refused" && status !== 401 && status !== 403 && status !== 429 && status < 500)

/** @returns undefined if the server has answered as one with sessions does */
const discover = (services: AskServices, at: Addressed): Effect.Effect<ServerSession | undefined, ServerFailed> => {
  const stateless = { version: statelessVersion, sessionId: undefined } as const
  const asked = ask(
    services,
    at,
    stateless,
    { method: "server/discover", params: { _meta: statelessMeta() } },
    "discover",
  )
  // A server that refuses the version, and names it among those that it supports, is asked once more.
  const again = Effect.flatMap(asked, (answer) => (isWronglyRefused(answer) ? asked : Effect.succeed(answer)))
  return Effect.map(again, ({ message }) => {
    if (!("result" in message)) return undefined
    const { supportedVersions, capabilities, instructions, _meta } = message.result
    if (!Array.isArray(supportedVersions) || !supportedVersions.includes(statelessVersion)) return undefined
    return {
      ...stateless,
      capabilities: objectOf(capabilities),
      serverInfo: objectOf(objectOf(_meta)[metaNames.server]),
      instructions: typeof instructions === "string" ? instructions : undefined,
    }
  })
}

const isWronglyRefused = ({ message }: Answer): boolean => {
  if (!("error" in message) || message.error.code !== errorCodes.unsupportedVersion) return false
  const { data } = message.error
  const supported = isJsonObject(data) ? data["supported"] : undefined
  return Array.isArray(supported) && supported.includes(statelessVersion)
}

const objectOf = (json: unknown): JsonObject => (isJsonObject(json) ? json : {})
const isJsonObject = (json: unknown): json is JsonObject => isObject(json)

const initialize = (
  services: AskServices,
  at: Addressed,
  { info, capabilities }: SessionClient,
): Effect.Effect<ServerSession, ServerFailed> => {
  const params = { protocolVersion: sessionVersions[0], capabilities, clientInfo: info }
  const asked = ask(services, at, undefined, { method: "initialize", params }, "initialize")
  return Effect.flatMap(asked, (answer) => {
    const session = sessionOf(answer)
    if (session === undefined) return Effect.fail(new ServerFailed({ reason: "malformed", ...answer }))
    const text = JSON.stringify({ jsonrpc: "2.0", method: "notifications/initialized" })
    const ready = sendTo(services, at, session, { method: "notifications/initialized", text }, undefined)
    return Effect.as(ready, session)
  })
}

const sessionOf = ({ message, headers }: Answer): ServerSession | undefined => {
  if (!("result" in message)) return undefined
  const { protocolVersion, capabilities, serverInfo, instructions } = message.result
  if (!isSessionVersion(protocolVersion)) return undefined
  return {
    version: protocolVersion,
    sessionId: headers["mcp-session-id"],
    capabilities: objectOf(capabilities),
    serverInfo: objectOf(serverInfo),
    instructions: typeof instructions === "string" ? instructions : undefined,
  }
}
