/**
 * The definitions of tools that callers may see: as they were first seen, or as an operator has agreed to. A server that changes
 * what a model reads of a tool does so behind the back of those who chose it.
 */
import { createHash } from "node:crypto"
import { Context, Effect, Layer, Schema } from "effect"
import { SqlClient } from "effect/sql"
import type { JsonObject } from "../protocol/mcp/message.ts"
import { canonicalJson } from "../protocol/values/canonical.ts"
import { queryDeadline } from "../store/database.ts"
import type { StoreUnavailable } from "../store/unavailable.ts"

/** A tool whose definition has changed. */
export interface ChangedTool {
  readonly server: string
  readonly tool: string
  readonly agreed: JsonObject
  readonly changed: JsonObject
  readonly changedAt: Date
  /** Names the changed definition. */
  readonly hash: string
}

/** A tool to whose change an operator agrees. */
export interface AgreedTool {
  readonly tool: string
  /** The definition that was seen; the present one if absent. */
  readonly hash?: string | undefined
}

export class ToolPins extends Context.Service<
  ToolPins,
  {
    /** The names of tools whose definition is not the one that was agreed to; new ones are agreed to. */
    readonly changedIn: (
      server: string,
      tools: ReadonlyArray<JsonObject>,
    ) => Effect.Effect<ReadonlySet<string>, StoreUnavailable>
    /** The tools that wait for agreement, of one server or of all. */
    readonly waiting: (server?: string) => Effect.Effect<ReadonlyArray<ChangedTool>, StoreUnavailable>
    /**
     * Agrees to the changes of a server's tools.
     * @returns their names; not those that have changed again since they were seen
     * @param tools all that wait if absent
     */
    readonly agree: (
      server: string,
      tools?: ReadonlyArray<AgreedTool>,
    ) => Effect.Effect<ReadonlyArray<string>, StoreUnavailable>
  }
>()("weir/tools/ToolPins") {
  static readonly layer = Layer.effect(
    ToolPins,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const bounded = yield* queryDeadline
      const known = (server: string) =>
        Effect.map(
          sql`
            select tool, encode(hash, 'hex') as hash, encode(changed_hash, 'hex') as changed
            from tool_pins where server = ${server}`,
          decodePins,
        )
      return ToolPins.of({
        changedIn: (server, tools) =>
          bounded(
            Effect.gen(function* () {
              const pins = new Map((yield* known(server)).map((pin) => [pin.tool, pin]))
              const found = tools.map((definition) => ({
                tool: String(definition["name"]),
                hash: hashOf(definition),
                definition,
              }))
              const news = found.filter(({ tool, hash }) => {
                const pin = pins.get(tool)
                return pin === undefined || (pin.hash === hash ? pin.changed !== null : pin.changed !== hash)
              })
              if (news.length > 0) {
                // Two nodes may see a new tool at the same time: the first one pins it.
                yield* sql`
                  insert into tool_pins as pin (server, tool, hash, definition)
                  select ${server}, tool, decode(hash, 'hex'), definition from unnest(
                    ${news.map(({ tool }) => tool)}::text[], ${news.map(({ hash }) => hash)}::text[],
                    ${news.map(({ definition }) => JSON.stringify(definition))}::text[]) each(tool, hash, definition)
                  order by tool
                  on conflict (server, tool) do update set
                    changed_hash = nullif(excluded.hash, pin.hash),
                    changed_definition = case when excluded.hash = pin.hash then null else excluded.definition end,
                    changed_at = case when excluded.hash = pin.hash then null else now() end`
              }
              const agreed = news.length === 0 ? pins : new Map((yield* known(server)).map((pin) => [pin.tool, pin]))
              return new Set(found.flatMap(({ tool, hash }) => (agreed.get(tool)?.hash === hash ? [] : [tool])))
            }),
          ),
        waiting: (server) =>
          bounded(
            Effect.map(
              sql`
                select server, tool, definition as agreed, changed_definition as changed, changed_at as "changedAt",
                  encode(changed_hash, 'hex') as hash
                from tool_pins where changed_hash is not null and (${server ?? null}::text is null or server = ${server ?? null})
                order by server, tool limit 1000`,
              decodeChanged,
            ),
          ),
        agree: (server, tools) =>
          bounded(
            Effect.map(
              Effect.map(
                sql`
                  update tool_pins set hash = changed_hash, definition = changed_definition, changed_hash = null,
                    changed_definition = null, changed_at = null
                  where server = ${server} and changed_hash is not null
                    and (${tools === undefined} or exists (
                      select from unnest(${(tools ?? []).map(({ tool }) => tool)}::text[],
                        ${(tools ?? []).map(({ hash = "" }) => hash)}::text[]) as each(tool, hash)
                      where each.tool = tool_pins.tool and each.hash in ('', encode(changed_hash, 'hex'))))
                  returning tool`,
                decodeNames,
              ),
              (rows) => rows.map(({ tool }) => tool).toSorted(),
            ),
          ),
      })
    }),
  )
}

/** The members that a model reads, or that say how a tool is called. */
const hashOf = ({ name, title, description, inputSchema, outputSchema, annotations }: JsonObject): string =>
  createHash("sha256")
    .update(
      canonicalJson([name, title, description, inputSchema, outputSchema, annotations].map((each) => each ?? null)),
    )
    .digest("hex")

const Definition = Schema.fromJsonString(Schema.Record(Schema.String, Schema.Json))
const decodePins = Schema.decodeUnknownSync(
  Schema.Array(Schema.Struct({ tool: Schema.String, hash: Schema.String, changed: Schema.NullOr(Schema.String) })),
)
const decodeNames = Schema.decodeUnknownSync(Schema.Array(Schema.Struct({ tool: Schema.String })))
const decodeChanged = Schema.decodeUnknownSync(
  Schema.Array(
    Schema.Struct({
      server: Schema.String,
      tool: Schema.String,
      agreed: Definition,
      changed: Definition,
      changedAt: Schema.Date,
      hash: Schema.String,
    }),
  ),
)
