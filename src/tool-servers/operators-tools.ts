/** Servers of tools for operators: asked now, with their tools, prices and changes. */
import { Context, Duration, Effect, Fiber, Layer } from "effect"
import { lacksCredential } from "../calls/vendor/credential.ts"
import { Catalogue } from "../catalogue/catalogue.ts"
import type { ToolServerEntry as DeclaredEntry } from "../catalogue/snapshot.ts"
import type {
  AgreeTerms,
  ChangedTool,
  ToolDetail,
  ToolServerDetail,
  ToolServerEntry,
} from "../protocol/control/tool-servers.ts"
import { joinedName } from "../protocol/mcp/joined-names.ts"
import { type Actor, AuditLog } from "../store/audit-log.ts"
import type { StoreUnavailable } from "../store/unavailable.ts"
import { usableEntries } from "../tools/list-entries.ts"
import { offeredName } from "../tools/tool-names.ts"
import { ServerFailed } from "./ask-server.ts"
import { gatewayItself } from "./negotiate.ts"
import { offeredTools } from "./offered-tools.ts"
import { problemOf } from "./server-problem.ts"
import type { SessionOwner } from "./session-owner.ts"
import { type PresentTools, ToolLists } from "./tool-lists.ts"
import { ToolPins } from "./tool-pins.ts"

export class OperatorsTools extends Context.Service<
  OperatorsTools,
  {
    /** Asks all servers of the catalogue in force. */
    readonly list: Effect.Effect<ReadonlyArray<ToolServerEntry>>
    /** Asks one server; undefined if the catalogue has none of that id. */
    readonly show: (server: string) => Effect.Effect<ToolServerDetail | undefined>
    /** @returns whether the catalogue has the server */
    readonly forget: (server: string) => Effect.Effect<boolean>
    /** Whether the catalogue has the server. */
    readonly has: (server: string) => boolean
    readonly changes: (server: string | undefined) => Effect.Effect<ReadonlyArray<ChangedTool>, StoreUnavailable>
    /** Agrees to changes, and writes that into the audit log. @returns the tools that are offered again */
    readonly agree: (
      server: string,
      terms: AgreeTerms,
      actor: Actor,
    ) => Effect.Effect<ReadonlyArray<string>, StoreUnavailable>
  }
>()("weir/tool-servers/OperatorsTools") {
  static readonly layer = Layer.effect(
    OperatorsTools,
    Effect.gen(function* () {
      const catalogue = yield* Catalogue
      const lists = yield* ToolLists
      const pins = yield* ToolPins
      const audit = yield* AuditLog

      const look = (entry: DeclaredEntry): Effect.Effect<ToolServerDetail> => {
        const asked = lists.look(entry, owner)
        // A server may not know the session any more, which is opened again then.
        const again = Effect.catch(asked, (failure) =>
          failure.status === 400 || failure.status === 404 ? asked : Effect.fail(failure),
        )
        // An opening that nobody waits for any longer goes on: others may use its session.
        const bounded = Effect.timeoutOrElse(Effect.flatMap(Effect.forkDetach(again), Fiber.join), {
          duration: patience,
          orElse: () => Effect.fail(new ServerFailed({ reason: "slow", status: 0, headers: {} })),
        })
        // Callers do not get for a minute what an operator sees held back.
        const seen = Effect.tap(bounded, ({ heldBack }) =>
          heldBack.size > 0 ? lists.forget(entry.server.id) : Effect.void,
        )
        return Effect.match(seen, {
          onSuccess: (present) => reached(entry, present),
          onFailure: (failure) => ({
            ...factsOf(entry),
            isReachable: false,
            problem: problemOf(failure),
            isCut: false,
            tools: [],
          }),
        })
      }

      return OperatorsTools.of({
        has: (server) => catalogue.current().toolServers.has(server),
        list: Effect.suspend(() =>
          Effect.forEach(
            catalogue.current().toolServers.values(),
            (entry) => Effect.map(look(entry), withoutDefinitions),
            { concurrency: 8 },
          ),
        ),
        show: (server) =>
          Effect.suspend(() => {
            const entry = catalogue.current().toolServers.get(server)
            return entry === undefined ? Effect.undefined : look(entry)
          }),
        forget: (server) =>
          Effect.suspend(() => Effect.as(lists.forget(server), catalogue.current().toolServers.has(server))),
        changes: (server) =>
          Effect.map(pins.waiting(server), (waiting) =>
            waiting.map((each) => ({ ...each, changedAt: each.changedAt.toISOString() })),
          ),
        agree: Effect.fn("OperatorsTools.agree")(function* (server, { tools }, actor) {
          const agreed = yield* pins.agree(server, tools)
          if (agreed.length > 0) {
            yield* audit.write("tools.agreed", actor, { server, tools: [...agreed] })
            yield* lists.forget(server)
          }
          return agreed
        }),
      })
    }),
  )
}

/** The time in which a server answers an operator. */
const patience = Duration.seconds(10)

/** The gateway itself: no organisation, and no person. */
const owner: SessionOwner = { name: "", client: gatewayItself, org: "", person: undefined }

const factsOf = (entry: DeclaredEntry) => {
  const { id, name, url, command, openapi } = entry.server
  const lacking = entry.targets.some(lacksCredential) ? ["credential"] : []
  return {
    id,
    ...(name !== undefined && { name }),
    kind: url !== undefined ? "url" : command !== undefined ? "command" : "openapi",
    address: url ?? command?.program ?? openapi?.baseUrl ?? "",
    missingSecrets: [...lacking, ...entry.missing],
  } as const
}

const reached = (entry: DeclaredEntry, { version, entries, heldBack, isCut }: PresentTools): ToolServerDetail => {
  const { server } = entry
  const usable = usableEntries("tools", entries).entries
  const offered = new Map(offeredTools(entry, usable).map((tool) => [tool.own, tool]))
  const tools = entries.map((definition): ToolDetail => {
    const ownName = String(definition["name"])
    const tool = offered.get(ownName)
    const name = offeredName(server, ownName)
    return {
      name,
      handle: joinedName(server.id, name),
      ownName,
      state: tool === undefined ? "not_offered" : heldBack.has(ownName) ? "held_back" : "offered",
      price: declaredPrice(entry, ownName),
      definition: tool?.definition ?? definition,
    }
  })
  return {
    ...factsOf(entry),
    version,
    isReachable: true,
    isCut,
    tools: tools.toSorted((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0)),
  }
}

const declaredPrice = ({ server }: DeclaredEntry, tool: string) => {
  const prices = server.tools?.price ?? {}
  return (Object.hasOwn(prices, tool) ? prices[tool] : undefined) ?? server.price ?? "free"
}

const withoutDefinitions = ({ tools, ...server }: ToolServerDetail): ToolServerEntry => ({
  ...server,
  tools: tools.map(({ definition: _, ...tool }) => tool),
})
