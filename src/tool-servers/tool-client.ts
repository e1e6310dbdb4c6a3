/** Requests to servers of tools of each sort, through one interface: remote ones, processes of this machine, and HTTP APIs. */
import { Context, Effect, Layer } from "effect"
import { Catalogue } from "../catalogue/catalogue.ts"
import type { CatalogueSnapshot, ToolServerEntry } from "../catalogue/snapshot.ts"
import { makeForkIn } from "../collections.ts"
import { CallDeadlines } from "../deadlines.ts"
import { isSessionVersion, statelessVersion } from "../protocol/mcp/versions.ts"
import { VendorClient } from "../upstream/client.ts"
import { type ApiServices, isApiUrl, startApi } from "./api-client.ts"
import { type DescribedApi, makeDocuments } from "./api-document.ts"
import { ServerFailed } from "./ask-server.ts"
import type { CommandServer, ProcessFailed, ServerSession as ProcessSession } from "./processes/options.ts"
import { clientWith, makeProcesses } from "./processes/processes.ts"
import type { ServerSession } from "./server-session.ts"

export class ToolClient extends Context.Service<
  ToolClient,
  {
    readonly client: VendorClient["Service"]
    /** The session with a process, which its pool opens itself; undefined for other servers. */
    readonly sessionOf: (entry: ToolServerEntry) => Effect.Effect<ServerSession, ServerFailed> | undefined
    /** The next reader of the tools of an HTTP API reads its document again. */
    readonly forget: (server: string) => Effect.Effect<void>
    /** Calls when a process announces that a list has changed. */
    readonly onChange: (changed: (server: string) => void) => void
  }
>()("weir/tools/ToolClient") {
  static readonly layer = Layer.effect(
    ToolClient,
    Effect.gen(function* () {
      const catalogue = yield* Catalogue
      const remote = yield* VendorClient
      const fork = yield* makeForkIn
      const listeners: Array<(server: string) => void> = []
      const processes = yield* makeProcesses({
        servers: [],
        maxMessageBytes: mostReplyBytes,
        onNotification: (server, { method }) => {
          if (method.endsWith("/list_changed")) for (const changed of listeners) changed(server)
        },
      })
      let declared: CatalogueSnapshot | undefined
      /** The processes of the catalogue in force. */
      const inForce = () => {
        const current = catalogue.current()
        if (current === declared) return processes
        declared = current
        processes.declare([...current.toolServers.values()].flatMap(commandOf))
        return processes
      }
      const documents = yield* makeDocuments(remote, yield* CallDeadlines)
      const apis: ApiServices = {
        client: remote,
        apiOf: (id) => apiOf(catalogue.current().toolServers.get(id)),
        operationsOf: documents.operationsOf,
        fork,
        maxBytes: mostReplyBytes,
      }
      const local = clientWith(remote, { start: (request, listener) => inForce().start(request, listener) })
      return ToolClient.of({
        client: {
          start: (request, listener) =>
            isApiUrl(request.baseUrl) ? startApi(apis, request, listener) : local.start(request, listener),
        },
        sessionOf: (entry) =>
          entry.server.command === undefined
            ? undefined
            : Effect.mapBoth(inForce().ready(entry.server.id), { onFailure: failureOf, onSuccess: sessionOf }),
        forget: documents.forget,
        onChange: (changed) => {
          listeners.push(changed)
        },
      })
    }),
  )
}

/** The largest reply of a server. */
export const mostReplyBytes = 8 * 1024 * 1024

/** The most memory of a process, if the catalogue does not say so. */
const usualMemoryBytes = 512 * 1024 * 1024

const commandOf = ({ server: { id, command }, environment }: ToolServerEntry): ReadonlyArray<CommandServer> =>
  command === undefined ? [] : [{ id, memoryBytes: usualMemoryBytes, ...command, environment }]

const apiOf = (entry: ToolServerEntry | undefined): DescribedApi | undefined => {
  const api = entry?.server.openapi
  if (entry === undefined || api === undefined) return undefined
  const { document, baseUrl, tags, operations } = api
  return { id: entry.server.id, document, baseUrl, tags, operations, network: entry.targets[0]?.network }
}

const sessionOf = ({
  version,
  isStateless,
  capabilities,
  serverInfo,
  instructions,
}: ProcessSession): ServerSession => ({
  version: isStateless ? statelessVersion : isSessionVersion(version) ? version : "2025-03-26",
  sessionId: undefined,
  capabilities: asJson(capabilities),
  serverInfo: asJson(serverInfo ?? {}),
  instructions,
})

const asJson = (value: object): ServerSession["capabilities"] => JSON.parse(JSON.stringify(value))

const failureOf = (cause: ProcessFailed): ServerFailed =>
  new ServerFailed({ reason: "unreachable", status: 0, headers: {}, cause })
