/** Runs a message that is passed to a server as a call: admitted, held, recorded and settled like any other. */
import type { ServerResponse } from "node:http"
import { Effect, Result } from "effect"
import type { Kind } from "../../calls/kind.ts"
import type { ToolReply, ToolRequest } from "../../kinds/tool/tool-request.ts"
import type { RequestMessage } from "../../protocol/mcp/message.ts"
import { statelessVersion } from "../../protocol/mcp/versions.ts"
import { fingerprint } from "../../protocol/values/canonical.ts"
import type { Sealer } from "../../store/seal.ts"
import type { CallRunner } from "../call-runner.ts"
import type { Authenticated } from "../caller-request.ts"
import { readMeta } from "../compatible/request.ts"
import type { AccountAsking } from "./account-needed.ts"
import type { CallPlace, FoundCall } from "./find-call.ts"
import { type McpMessage, metaIn, readMcp } from "./read-message.ts"
import type { RunningCalls } from "./running-calls.ts"
import { sealRequest } from "./session-token.ts"
import { ToolConnection } from "./tool-connection.ts"

export interface ToolCall {
  readonly authenticated: Authenticated
  readonly response: ServerResponse
  readonly message: RequestMessage
  readonly read: McpMessage
  readonly found: FoundCall
  readonly place: CallPlace
  /** Whether the client has a session: then it takes requests of servers, and cancels by a notification. */
  readonly hasSession: boolean
  /** The way in which the client is asked for an account. */
  readonly asking: AccountAsking
}

export const makeRunCall =
  (runner: CallRunner, kind: Kind<ToolRequest, ToolReply>, sealer: Sealer, running: RunningCalls) =>
  ({ authenticated, response, message, read, found, place, hasSession, asking }: ToolCall): Effect.Effect<void> => {
    const { caller, requestId, request } = authenticated
    const connection = new ToolConnection(response, requestId, message.id, asking)
    const target = found.entry.targets[0]?.key ?? ""
    const server = found.entry.server.id
    const meta = readMeta(request.headers, requestIdIn(message))
    // Without a session, a client ends its call by leaving: ids of others are like its own.
    const remove = hasSession ? running.add(place.owner, message.id, connection) : () => {}
    const run = runner.runRead(kind, authenticated, {
      refusedAt: () => connection,
      status: () => response.statusCode,
      read: ({ body }) => {
        // The body has the marks of masks, if there are any.
        const masked = readMcp(request.headers, body)
        const { text, message: marked } = Result.isSuccess(masked) ? masked.success : read
        const params = "method" in marked ? (marked.params ?? {}) : {}
        const { _meta: _, ...hashed } = params
        return {
          connection,
          decoded: Result.map(meta, (meta) => ({
            request: {
              ...found,
              text,
              params,
              owner: place.owner,
              client: {
                isStateless: read.version === statelessVersion,
                isJoined: place.isJoined,
                notify: (text) => connection.notify(text),
                requestIdFor: hasSession
                  ? (session, id) => sealRequest(sealer, caller, { server, target, session: session ?? null, id })
                  : undefined,
              },
              ...(meta !== undefined && { meta }),
            },
            // A result may be its end user's alone, also where another one of the same key asks under the same id.
            payloadHash:
              meta?.requestId === undefined
                ? undefined
                : fingerprint([found.handle, found.method, hashed, caller.endUserId ?? null]),
          })),
        }
      },
    })
    return Effect.ensuring(run, Effect.sync(remove))
  }

/** The id under which a call is made once. */
const requestIdIn = (message: RequestMessage) => {
  const value = metaIn(message)[ownId]
  return value === undefined ? undefined : { field: `_meta.${ownId}`, value }
}

const ownId = "x-svc-request-id"
