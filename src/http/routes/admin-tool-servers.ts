/** Admin routes of servers of tools. */
import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { Api } from "../../protocol/api.ts"
import { AgreeTerms } from "../../protocol/control/tool-servers.ts"
import { serviceError } from "../../protocol/error.ts"
import { OperatorsTools } from "../../tool-servers/operators-tools.ts"
import { makeForOperator, maxBodyBytes, operator } from "../operator.ts"
import { type Request, readJson } from "../request.ts"

export const adminToolServerRoutes = HttpApiBuilder.group(
  Api,
  "adminToolServers",
  Effect.fn(function* (handlers) {
    const forOperator = yield* makeForOperator
    const tools = yield* OperatorsTools

    const show = Effect.fnUntraced(function* (server: string) {
      return (yield* tools.show(server)) ?? (yield* unknownServer)
    })
    const forget = Effect.fnUntraced(function* (server: string) {
      if (!(yield* tools.forget(server))) return yield* unknownServer
    })
    const agree = Effect.fnUntraced(function* (request: Request, server: string) {
      const terms = yield* readJson(AgreeTerms, request, maxBodyBytes)
      if (!tools.has(server)) return yield* unknownServer
      const agreed = yield* tools.agree(server, terms, operator)
      if (agreed.length === 0 && terms.tools !== undefined) return yield* notWaiting
      return { agreed }
    })

    const changes = Effect.fnUntraced(function* (server: string | undefined) {
      if (server !== undefined && !tools.has(server)) return yield* unknownServer
      return { changes: yield* tools.changes(server) }
    })

    return handlers
      .handleRaw("listToolServers", ({ request }) =>
        forOperator(
          request,
          Effect.map(tools.list, (servers) => ({ servers })),
        ),
      )
      .handleRaw("getToolServer", ({ request, params }) => forOperator(request, show(params.server)))
      .handleRaw("forgetToolList", ({ request, params }) => forOperator(request, forget(params.server)))
      .handleRaw("listChangedTools", ({ request, query }) => forOperator(request, changes(query.server)))
      .handleRaw("agreeToTools", ({ request, params }) => forOperator(request, agree(request, params.server)))
  }),
)

const unknownServer = serviceError("not_found", "There is no such server of tools")
const notWaiting = serviceError("conflict", "None of these tools waits for agreement with the definition that was seen")
