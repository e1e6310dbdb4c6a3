/**
 * The prompt of an exchange as vendors get it: results of calls that the gateway made are messages of their own, approvals are
 * none, and tools of servers are not among its tools. Pure.
 */
import type { ExactPlaces } from "../../dialects/parse/exact-places.ts"
import type { ApprovalBlock, Message, SentMessage, ToolCallBlock, ToolResultBlock } from "../../protocol/block.ts"
import type { ExchangeRequest } from "../../protocol/exchange.ts"
import { isServerTools, type ServerTools, type Tool } from "../../protocol/tool.ts"
import type { PromptContent } from "./prompt.ts"

type Sent = Pick<ExchangeRequest, "thread" | "tools">

/** A message, with the position of each of its blocks in the client's thread. */
interface PlacedMessage {
  readonly message: Message
  readonly at: number
  readonly blocks: ReadonlyArray<number>
}

const isPlain = (message: SentMessage): message is Message =>
  message.role === "assistant"
    ? !message.blocks.some(({ t }) => t === "tool_result")
    : message.role !== "tool" || !message.blocks.some(({ t }) => t === "approval")

export const promptOf = ({ thread, tools }: Sent): PromptContent => ({
  thread: thread.every(isPlain) ? thread : placed(thread).map(({ message }) => message),
  ...(tools !== undefined && { tools: tools.filter(isModelTool) }),
})

const isModelTool = (tool: NonNullable<Sent["tools"]>[number]): tool is Tool => !isServerTools(tool)

export const serversOf = ({ tools = [] }: Sent): ReadonlyArray<ServerTools> => tools.filter(isServerTools)

/** The calls that the client has approved, and that have no result yet. */
export const approvedCalls = ({ thread }: Sent): ReadonlyArray<ToolCallBlock> => {
  const calls = new Map<string, ToolCallBlock>()
  const approved = new Map<string, ToolCallBlock>()
  for (const { blocks } of thread) {
    for (const block of blocks) {
      if (block.t === "tool_call") calls.set(block.id, block)
      else if (block.t === "tool_result") approved.delete(block.id)
      else if (block.t === "approval" && block.approve) {
        const call = calls.get(block.id)
        if (call !== undefined) approved.set(block.id, call)
      }
    }
  }
  return [...approved.values()]
}

/** The positions of JSON in the prompt as vendors get it. */
export const placesInPrompt = (
  { thread, tools = [] }: Sent,
  exact: ExactPlaces | undefined,
): ExactPlaces | undefined => {
  if (exact === undefined || (thread.every(isPlain) && !tools.some(isServerTools))) return exact
  const places = new Map<string, { readonly message: number; readonly block: number }>()
  for (const [message, { at, blocks }] of placed(thread).entries()) {
    for (const [block, from] of blocks.entries()) places.set(`${at}.${from}`, { message, block })
  }
  const numbers = new Map(tools.flatMap((tool, at) => (isServerTools(tool) ? [] : [at])).map((at, tool) => [at, tool]))
  return {
    ...exact,
    blocks: exact.blocks.flatMap((each) => {
      const place = places.get(`${each.message}.${each.block}`)
      return place === undefined ? [] : [{ ...each, ...place }]
    }),
    tools: exact.tools.flatMap((each) => {
      const tool = numbers.get(each.tool)
      return tool === undefined ? [] : [{ ...each, tool }]
    }),
  }
}

const placed = (thread: ReadonlyArray<SentMessage>): ReadonlyArray<PlacedMessage> =>
  thread.flatMap((message, at): ReadonlyArray<PlacedMessage> => {
    if (message.role === "assistant") return roundsIn(message, at)
    if (message.role === "tool") return answersIn(message, at)
    return [{ message, at, blocks: message.blocks.map((_, block) => block) }]
  })

type Of<Role extends SentMessage["role"]> = Extract<SentMessage, { readonly role: Role }>

/** A reply of several rounds: the blocks of a round, and then the results of its calls. */
const roundsIn = (message: Of<"assistant">, at: number): ReadonlyArray<PlacedMessage> => {
  const rounds: Array<PlacedMessage> = []
  const blocks = [...message.blocks.entries()]
  for (let from = 0; from < blocks.length; ) {
    const isResult = blocks[from]?.[1].t === "tool_result"
    const next = blocks.findIndex(([place, { t }]) => place > from && (t === "tool_result") !== isResult)
    const round = blocks.slice(from, next === -1 ? undefined : next)
    const places = round.map(([place]) => place)
    const results = round.flatMap(([, block]) => (block.t === "tool_result" ? [block] : []))
    const own = round.flatMap(([, block]) => (block.t === "tool_result" ? [] : [block]))
    rounds.push({
      message: isResult ? { role: "tool", blocks: results } : { ...message, blocks: own },
      at,
      blocks: places,
    })
    from += round.length
  }
  return rounds
}

/** Answers to calls: a refusal is a result, and an approved call gets its own. */
const answersIn = (message: Of<"tool">, at: number): ReadonlyArray<PlacedMessage> => {
  const answers = [...message.blocks.entries()].flatMap(([place, block]) => {
    if (block.t === "tool_result") return [{ place, block }]
    return block.approve ? [] : [{ place, block: refusal(block) }]
  })
  if (answers.length === 0) return []
  return [
    {
      message: { ...message, blocks: answers.map(({ block }) => block) },
      at,
      blocks: answers.map(({ place }) => place),
    },
  ]
}

const refusal = ({ id, reason }: ApprovalBlock): ToolResultBlock => ({
  t: "tool_result",
  id,
  v: reason === undefined ? "The user does not allow this call." : `The user does not allow this call: ${reason}`,
  isError: true,
})
