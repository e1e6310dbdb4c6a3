/** Calls of servers' tools that the gateway makes, as items of a response. Source: /responses/object, `mcp_call`. */
import type { AnswerBlock, ToolCallBlock, ToolResultBlock } from "../../protocol/block.ts"
import type { ReplyContext } from "../client/client-api.ts"
import { argumentsText } from "../parse/exact-json.ts"
import { type NamedServers, type ToolOfServer, toolOfServer } from "../vendor/server-tools.ts"
import { callItemId, requestItemId } from "./client-servers.ts"

type Answer = Pick<ToolResultBlock, "v" | "blocks" | "isError">

interface ServerCall {
  readonly id: string
  readonly tool: ToolOfServer
  /** JSON. */
  readonly args: string
  readonly isApproved?: boolean
  /** Undefined while the call runs. */
  readonly answer?: Answer | undefined
}

export const callItem = ({ id, tool, args, isApproved = false, answer }: ServerCall): object => {
  const text = answer && textOf(answer)
  const isFailed = answer?.isError === true
  return {
    type: "mcp_call",
    id: callItemId(id),
    server_label: tool.label,
    name: tool.name,
    arguments: args,
    approval_request_id: isApproved ? requestItemId(id) : null,
    output: isFailed ? null : (text ?? null),
    error: isFailed ? (text ?? "") : null,
    status: answer === undefined ? "in_progress" : isFailed ? "failed" : "completed",
  }
}

/** A call that waits until the client approves it. */
export const requestItem = ({ id, tool, args }: ServerCall): object => ({
  type: "mcp_approval_request",
  id: requestItemId(id),
  server_label: tool.label,
  name: tool.name,
  arguments: args,
})

const textOf = ({ v, blocks = [] }: Answer): string =>
  v ?? blocks.map((block) => (block.t === "text" ? block.v : `[${block.t}]`)).join("\n")

/** The item of an approved call, which was asked for in an earlier response. */
export const approvedItem = (
  { approved }: NamedServers,
  { id, ...answer }: Answer & { readonly id: string },
): object => {
  const { args = "{}", ...tool } = approved.get(id) ?? { label: "", name: "" }
  return callItem({ id, tool, args, isApproved: true, answer })
}

/** The item of a block about a server's tool: null if another item has it, undefined if it is another block. */
export const serverItem = (
  { servers }: ReplyContext,
  block: AnswerBlock,
  blocks: ReadonlyArray<AnswerBlock>,
): object | null | undefined => {
  if (servers === undefined) return undefined
  if (block.t === "tool_result") {
    return blocks.some((each) => each.t === "tool_call" && each.id === block.id) ? null : approvedItem(servers, block)
  }
  if (block.t !== "tool_call") return undefined
  const tool = toolOfServer(servers, block.name)
  if (tool === undefined) return undefined
  const answer = blocks.find((each): each is ToolResultBlock => each.t === "tool_result" && each.id === block.id)
  const call = { id: block.id, tool, args: argumentsText(block satisfies ToolCallBlock), answer }
  return answer === undefined && tool.needsApproval ? requestItem(call) : callItem(call)
}
