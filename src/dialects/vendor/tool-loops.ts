/**
 * Calls of tools and their results, in the order that vendors require: the results directly after the turn that called, in
 * the order of its calls, each call with one result. Threads that were interrupted, or that have text between a call and its
 * result, are put in order; the text comes after the results.
 */
import { createHash } from "node:crypto"
import { Result } from "effect"
import type { Block, Message, ReplyBlock, ToolCallBlock, ToolResultBlock } from "../../protocol/block.ts"
import type { VendorRequest } from "../chat-dialect.ts"
import type { EncodeRefusal } from "../wire.ts"
import type { Met } from "./requirements.ts"

interface Step {
  readonly call: ToolCallBlock
  result: ToolResultBlock | undefined
}

/** A turn of the model, and the calls in it. */
interface Turn {
  readonly role: "assistant"
  readonly blocks: Array<ReplyBlock>
  readonly steps: Array<Step>
  isOver: boolean
}

type Other = Exclude<Message, { readonly role: "assistant" }>

/** Puts each result behind the turn that called for it. */
export const pairCalls = (request: VendorRequest): Met => {
  if (!hasToolBlocks(request.thread)) return Result.succeed(request)
  const turns: Array<Turn | Other> = []
  const steps: Array<Step> = []
  for (const message of request.thread) {
    if (message.role === "assistant") {
      const turn = turnFor(turns, message.blocks)
      for (const block of message.blocks) {
        turn.blocks.push(block)
        if (block.t !== "tool_call") continue
        const step = { call: block, result: undefined }
        turn.steps.push(step)
        steps.push(step)
      }
      continue
    }
    for (const block of message.blocks) {
      if (block.t !== "tool_result") continue
      const step = steps.find(({ call, result }) => call.id === block.id && result === undefined)
      if (step === undefined) return Result.fail(strayResult(block))
      step.result = block
    }
    endTurn(turns)
    const others = withoutResults(message)
    if (others !== undefined) turns.push(others)
  }
  return Result.succeed({ ...request, thread: turns.flatMap(inOrder) })
}

const hasToolBlocks = (thread: ReadonlyArray<Message>): boolean =>
  thread.some(({ blocks }) => blocks.some(({ t }) => t === "tool_call" || t === "tool_result"))

/** Two messages of a model, one directly after the other, are one turn if there are calls in them. */
const turnFor = (turns: Array<Turn | Other>, blocks: ReadonlyArray<ReplyBlock>): Turn => {
  const last = turns.at(-1)
  const calls = blocks.some(({ t }) => t === "tool_call")
  if (last?.role === "assistant" && "steps" in last && !last.isOver && (calls || last.steps.length > 0)) return last
  const turn: Turn = { role: "assistant", blocks: [], steps: [], isOver: false }
  turns.push(turn)
  return turn
}

const endTurn = (turns: ReadonlyArray<Turn | Other>): void => {
  const last = turns.at(-1)
  if (last?.role === "assistant") last.isOver = true
}

const withoutResults = (message: Other): Other | undefined => {
  switch (message.role) {
    case "tool":
      return undefined
    case "system":
      return message
    case "user": {
      const blocks = message.blocks.filter(({ t }) => t !== "tool_result")
      return blocks.length === 0 ? undefined : { role: "user", blocks }
    }
  }
}

const inOrder = (turn: Turn | Other): ReadonlyArray<Message> => {
  if (turn.role !== "assistant") return [turn]
  const { blocks, steps } = turn
  const said: Message = { role: "assistant", blocks }
  if (steps.length === 0) return [said]
  return [said, { role: "tool", blocks: steps.map(({ call, result }) => result ?? interrupted(call)) }]
}

/** No vendor takes a call without a result. */
const interrupted = ({ id }: ToolCallBlock): ToolResultBlock => ({
  t: "tool_result",
  id,
  v: "The call was interrupted. It has no result.",
  isError: true,
})

const strayResult = ({ id }: ToolResultBlock): EncodeRefusal => ({
  capability: "tool_results",
  message: `the result ${JSON.stringify(id.slice(0, 64))} belongs to no call before it`,
})

export interface CallIds {
  readonly fits: RegExp
  /** An id that fits, made from a text. */
  readonly make: (text: string) => string
}

/** Ids that are the beginning of a hash. */
export const hashedIds = (fits: RegExp, length: number, prefix = ""): CallIds => ({
  fits,
  make: (text) =>
    prefix +
    createHash("sha256")
      .update(text)
      .digest("hex")
      .slice(0, length - prefix.length),
})

/** Gives calls ids that a vendor takes, and no two the same. The results of {@link pairCalls} have the order of their calls. */
export const renameCalls =
  ({ fits, make }: CallIds) =>
  (request: VendorRequest): VendorRequest => {
    const { thread } = request
    const ids = thread.flatMap(({ blocks }) => blocks.flatMap((block) => (block.t === "tool_call" ? [block.id] : [])))
    if (ids.every((id) => fits.test(id)) && new Set(ids).size === ids.length) return request
    const taken = new Set<string>()
    const fresh = (id: string): string => {
      let name = fits.test(id) ? id : make(id)
      for (let n = 2; taken.has(name); n++) name = make(`${id}#${n}`)
      taken.add(name)
      return name
    }
    let names: Array<string> = []
    return {
      ...request,
      thread: thread.map((message): Message => {
        if (message.role === "assistant") {
          names = []
          return { role: "assistant", blocks: message.blocks.map((block) => renamed(block, fresh, names)) }
        }
        if (message.role !== "tool") return message
        return { role: "tool", blocks: message.blocks.map((block, at) => ({ ...block, id: names[at] ?? block.id })) }
      }),
    }
  }

const renamed = (block: ReplyBlock, fresh: (id: string) => string, names: Array<string>): ReplyBlock => {
  if (block.t !== "tool_call") return block
  const id = fresh(block.id)
  names.push(id)
  return { ...block, id }
}

/** The turn that called tools, if the thread waits for its model with their results. */
export const callingTurn = (thread: ReadonlyArray<Message>): ReadonlyArray<Block> | undefined => {
  const at = thread.findLastIndex(({ role }) => role === "assistant")
  const isAnswered = thread.slice(at + 1).some(({ blocks }) => blocks.some(({ t }) => t === "tool_result"))
  return at === -1 || !isAnswered ? undefined : thread[at]?.blocks
}
