/** The events of calls of servers' tools in a streamed response. Source: /responses-streaming, `response.mcp_call`. */
import type { ToolCallDelta, ToolResultDelta } from "../../protocol/event.ts"
import { type CalledTool, type NamedServers, toolOfServer } from "../vendor/server-tools.ts"
import { callItemId } from "./client-servers.ts"
import { approvedItem, callItem, requestItem } from "./server-items.ts"

/** The stream that the events are part of. */
interface Stream {
  readonly event: (type: string, data: object) => string
  /** Adds an item. @returns its number */
  readonly add: (item: () => object) => number
  /** Ends the items before. */
  readonly endOthers: () => string
}

interface OpenCall {
  readonly id: string
  readonly index: number
  readonly tool: CalledTool
  args: string
  answer: ToolResultDelta | undefined
}

const itemOf = (call: OpenCall): object => (call.tool.needsApproval ? requestItem(call) : callItem(call))

export class ServerCalls {
  readonly #servers: NamedServers
  readonly #stream: Stream
  readonly #calls = new Map<number, OpenCall>()

  constructor(servers: NamedServers, stream: Stream) {
    this.#servers = servers
    this.#stream = stream
  }

  /** Takes a part of a call. @returns undefined if the call is the client's own */
  take(delta: typeof ToolCallDelta.Type): string | undefined {
    const known = this.#calls.get(delta.i)
    if (known !== undefined) return this.#argued(known, delta.args ?? "")
    const tool = toolOfServer(this.#servers, delta.name ?? "")
    if (tool === undefined) return undefined
    const end = this.#stream.endOthers()
    const call: OpenCall = {
      id: delta.id ?? "",
      index: this.#stream.add(() => itemOf(call)),
      tool,
      args: "",
      answer: undefined,
    }
    this.#calls.set(delta.i, call)
    return end + (tool.needsApproval ? "" : this.#begun(call)) + this.#argued(call, delta.args ?? "")
  }

  /** Takes the result of a call, of this response or approved in it. */
  answer(delta: ToolResultDelta): string {
    const call = [...this.#calls.values()].find(({ id }) => id === delta.id)
    if (call === undefined) return this.#approved(delta)
    call.answer = delta
    const { event } = this.#stream
    return event("response.mcp_call_arguments.done", { ...placeOf(call), arguments: call.args }) + this.#ended(call)
  }

  /** Calls that wait for approval are whole at the end. */
  end(): string {
    const { event } = this.#stream
    return [...this.#calls.values()]
      .filter(({ tool }) => tool.needsApproval)
      .map((call) => {
        const at = { output_index: call.index, item: itemOf(call) }
        return event("response.output_item.added", at) + event("response.output_item.done", at)
      })
      .join("")
  }

  #argued(call: OpenCall, args: string): string {
    if (args === "") return ""
    call.args += args
    return call.tool.needsApproval
      ? ""
      : this.#stream.event("response.mcp_call_arguments.delta", { ...placeOf(call), delta: args })
  }

  #begun(call: OpenCall): string {
    const { event } = this.#stream
    return (
      event("response.output_item.added", { output_index: call.index, item: itemOf(call) }) +
      event("response.mcp_call.in_progress", placeOf(call))
    )
  }

  #ended(call: OpenCall): string {
    const { event } = this.#stream
    const end = call.answer?.isError === true ? "failed" : "completed"
    return (
      event(`response.mcp_call.${end}`, placeOf(call)) +
      event("response.output_item.done", { output_index: call.index, item: itemOf(call) })
    )
  }

  #approved(delta: ToolResultDelta): string {
    const { event } = this.#stream
    const item = approvedItem(this.#servers, delta)
    const end = this.#stream.endOthers()
    const index = this.#stream.add(() => item)
    const place = { item_id: callItemId(delta.id), output_index: index }
    return (
      end +
      event("response.output_item.added", { output_index: index, item }) +
      event(`response.mcp_call.${delta.isError === true ? "failed" : "completed"}`, place) +
      event("response.output_item.done", { output_index: index, item })
    )
  }
}

const placeOf = ({ id, index }: OpenCall) => ({ item_id: callItemId(id), output_index: index })
