/** Tools of servers for models: listed for an exchange, and called for it, each call a call of its own. */
import { Effect, Layer, Result, Schema } from "effect"
import { newRequestId } from "../../calls/calls.ts"
import type { OfferedTools } from "../../calls/offered-tools.ts"
import { type CallsWithin, ServerTools, unknownServer } from "../../calls/server-tools.ts"
import type { ToolServerEntry } from "../../catalogue/snapshot.ts"
import { parseObject } from "../../dialects/parse/json.ts"
import type { Caller } from "../../identity/caller.ts"
import type { Marks } from "../../policies/masks/marks.ts"
import type { ToolCallBlock, ToolResultBlock } from "../../protocol/block.ts"
import { type ServiceError, serviceError } from "../../protocol/error.ts"
import { joinedName } from "../../protocol/mcp/joined-names.ts"
import type { JsonObject } from "../../protocol/mcp/message.ts"
import { type ServerTools as AskedTools, type FunctionTool, needsApproval } from "../../protocol/tool.ts"
import { fingerprint } from "../../protocol/values/canonical.ts"
import { CallerTools, type FoundTool } from "../../tool-servers/caller-tools.ts"
import { callerAsOwner, type SessionOwner } from "../../tool-servers/session-owner.ts"
import { ToolSessions } from "../../tool-servers/tool-sessions.ts"
import { CapturedReply } from "./captured-reply.ts"
import { modelNames } from "./model-names.ts"
import { resultOfCall } from "./result-of-call.ts"
import { makeReviewedResult } from "./reviewed-result.ts"
import { makeTool } from "./tool.ts"

/** A tool as a model knows it. */
interface ModelTool {
  readonly found: FoundTool
  readonly needsApproval: boolean
}

/** The exchange that makes calls. */
interface Calling {
  readonly caller: Caller
  readonly owner: SessionOwner
  readonly within: CallsWithin
  readonly marks: Marks | undefined
}

const isAsked = ({ allow, deny = [] }: AskedTools, name: string): boolean =>
  (allow === undefined || allow.includes(name)) && !deny.includes(name)

const readInput = Schema.decodeUnknownResult(Schema.Record(Schema.String, Schema.Json))

export const layerModelTools = Layer.effect(
  ServerTools,
  Effect.gen(function* () {
    const tools = yield* CallerTools
    const kind = makeTool(yield* ToolSessions)
    const reviewed = yield* makeReviewedResult

    const toolsOf = Effect.fnUntraced(function* (
      asked: AskedTools,
      entries: ReadonlyArray<ToolServerEntry>,
      caller: Caller,
      owner: SessionOwner,
    ): Effect.fn.Return<ReadonlyArray<ModelTool>, ServiceError> {
      const entry = entries.find(({ server }) => server.id === asked.server)
      if (entry === undefined) return yield* unknownServer(asked.server)
      const found = yield* Effect.mapError(tools.toolsOf(caller, entry, owner), ({ needed, cause }) =>
        needed === undefined
          ? serviceError("upstream_error", `The server of tools ${asked.server} does not list its tools`, { cause })
          : serviceError("forbidden", needed.message, {
              detail: {
                reason: "account_needed",
                server: needed.server,
                ...(needed.path !== undefined && { path: needed.path }),
              },
            }),
      )
      return found.flatMap((each) =>
        isAsked(asked, each.name) ? [{ found: each, needsApproval: needsApproval(asked, each.name) }] : [],
      )
    })

    const call = Effect.fnUntraced(function* (
      { found: { entry, own, name, parameters } }: ModelTool,
      { id, input }: ToolCallBlock,
      requestId: string,
      { caller, owner, within, marks }: Calling,
    ): Effect.fn.Return<ToolResultBlock> {
      const read = readInput(input)
      if (Result.isFailure(read) || "$raw" in input) return failed(id, "The arguments are no JSON object.")
      const params: JsonObject = { name: own, arguments: read.success }
      const handle = joinedName(entry.server.id, name)
      const reply = new CapturedReply()
      // The money of a batch covers its calls alone.
      const payer = { ...caller, batch: undefined }
      yield* within.run(
        {
          requestId: newRequestId(),
          caller: payer,
          kind,
          decoded: Result.succeed({
            request: {
              entry,
              method: "tools/call" as const,
              name: own,
              handle,
              prices: entry.priceOf(own),
              parameters,
              text: JSON.stringify({ jsonrpc: "2.0", id: requestId, method: "tools/call", params }),
              params,
              owner,
              client: { isStateless: true, isJoined: false, notify: () => {}, requestIdFor: undefined },
              meta: { requestId },
            },
            payloadHash: fingerprint([handle, "tools/call", params, caller.endUserId ?? null]),
          }),
        },
        reply,
      )
      const { captured } = reply
      if (captured.t === "error") return failed(id, `The call has failed: ${captured.message}`)
      const result = resultOfCall(id, parseObject(captured.text) ?? {})
      return yield* reviewed(result, { caller, requestId, account: within.engineAccount(caller), marks })
    })

    return {
      open: Effect.fnUntraced(function* (
        within: CallsWithin,
        asked: ReadonlyArray<AskedTools>,
        caller: Caller,
        marks: Marks | undefined,
      ): Effect.fn.Return<OfferedTools, ServiceError> {
        const owner = callerAsOwner(caller)
        const entries = tools.servers(caller)
        const listed = yield* Effect.forEach(asked, (each) => toolsOf(each, entries, caller, owner), {
          concurrency: "unbounded",
        })
        const named = modelNames(listed.flat(), ({ found }) => joinedName(found.entry.server.id, found.name))
        return {
          functions: [...named].map(([name, { found }]) => functionOf(name, found)),
          has: (name) => named.has(name),
          needsApproval: (name) => named.get(name)?.needsApproval === true,
          call: (block, requestId) => {
            const tool = named.get(block.name)
            return tool === undefined
              ? Effect.succeed(failed(block.id, "There is no such tool."))
              : call(tool, block, requestId, { caller, owner, within, marks })
          },
        }
      }),
    }
  }),
)

const failed = (id: string, v: string): ToolResultBlock => ({ t: "tool_result", id, v, isError: true })

const functionOf = (name: string, { definition }: FoundTool): FunctionTool => {
  const { description, inputSchema } = definition
  return {
    name,
    ...(typeof description === "string" && { description }),
    inputSchema: isJsonObject(inputSchema) ? inputSchema : { type: "object" },
  }
}

const isJsonObject = Schema.is(Schema.JsonObject)
