/** The rounds of an exchange with tools of servers: the calls that the gateway makes for the model, and their results. */
import { Effect } from "effect"
import type { OfferedTools } from "../../calls/offered-tools.ts"
import type { AnswerBlock, Message, ReplyBlock, ToolCallBlock, ToolResultBlock } from "../../protocol/block.ts"
import type { ToolChoice } from "../../protocol/exchange.ts"
import type { AskedServers } from "./chat-request.ts"
import type { AddedPrompt } from "./prompt.ts"
import { withinRound } from "./round-results.ts"

/** The most rounds of calls if the client does not say. */
export const usualRounds = 8
/** Calls of one round that are made at once. */
const atOnce = 8
/** Calls of one round; a model that writes more gets an error for the others. */
const mostCalls = 64

interface RoundsOptions {
  readonly offered: OfferedTools
  readonly asked: AskedServers
  readonly maxRounds: number
  /** The beginning of the ids of its calls. */
  readonly requestId: string
  /** The same for approved calls: a repeated exchange has the same. */
  readonly approvedId: string
}

export class ToolRounds {
  readonly #options: RoundsOptions
  readonly #thread: Array<Message> = []
  readonly #blocks: Array<AnswerBlock> = []
  #rounds = 0
  #calls = 0
  #hasApproved = false
  #isCalling = false
  #trailing: ReadonlyArray<ToolResultBlock> = []

  constructor(options: RoundsOptions) {
    this.#options = options
  }

  get added(): AddedPrompt {
    return { thread: [...this.#thread], tools: this.#options.offered.functions }
  }

  /** The blocks of the reply before the present request's. */
  get blocks(): ReadonlyArray<AnswerBlock> {
    return this.#blocks
  }

  /** Whether calls are made now. */
  get isCalling(): boolean {
    return this.#isCalling
  }

  /** Results after the last request's blocks, where its other calls are the client's. */
  get trailing(): ReadonlyArray<ToolResultBlock> {
    return this.#trailing
  }

  /** The choice after a round: a forced call was made, and after the last round the model must answer. */
  get toolChoice(): ToolChoice {
    return this.#rounds >= this.#options.maxRounds ? "none" : "auto"
  }

  /** Makes the calls that the client has approved, once. @returns their results */
  readonly approved: Effect.Effect<ReadonlyArray<ToolResultBlock>> = Effect.suspend(() => {
    const { asked, offered, approvedId } = this.#options
    if (this.#hasApproved) return Effect.succeed([])
    this.#hasApproved = true
    const calls = asked.approved.filter(({ name }) => offered.has(name)).slice(0, mostCalls)
    if (calls.length === 0) return Effect.succeed([])
    return Effect.map(
      Effect.forEach(calls, (call) => offered.call(call, `${approvedId}.${call.id}`.slice(0, 128)), {
        concurrency: atOnce,
      }),
      (made) => {
        const results = withinRound(made)
        this.#thread.push({ role: "tool", blocks: results })
        this.#blocks.push(...results)
        return results
      },
    )
  })

  /**
   * Makes the calls of a request's blocks that are the gateway's.
   * @returns undefined if there are none; otherwise their results, and whether the model is asked again
   */
  make(
    blocks: ReadonlyArray<ReplyBlock>,
  ): Effect.Effect<{ readonly results: ReadonlyArray<ToolResultBlock>; readonly goesOn: boolean } | undefined> {
    const { offered, maxRounds } = this.#options
    const calls = blocks.filter((block) => block.t === "tool_call")
    const own = calls.filter(({ name }) => offered.has(name) && !offered.needsApproval(name))
    if (own.length === 0 || this.#rounds >= maxRounds) return Effect.succeed(undefined)
    this.#rounds++
    this.#isCalling = true
    return Effect.map(
      Effect.forEach([...own.entries()], ([at, call]) => (at < mostCalls ? this.#call(call) : tooMany(call)), {
        concurrency: atOnce,
      }),
      (made) => {
        this.#isCalling = false
        const results = withinRound(made)
        const goesOn = own.length === calls.length
        if (goesOn) {
          this.#thread.push({ role: "assistant", blocks }, { role: "tool", blocks: results })
          this.#blocks.push(...blocks, ...results)
        } else this.#trailing = results
        return { results, goesOn }
      },
    )
  }

  #call(call: ToolCallBlock): Effect.Effect<ToolResultBlock> {
    const { offered, requestId } = this.#options
    this.#calls++
    return offered.call(call, `${requestId}.${this.#calls}`)
  }
}

const tooMany = ({ id }: ToolCallBlock): Effect.Effect<ToolResultBlock> =>
  Effect.succeed({ t: "tool_result", id, v: `At most ${mostCalls} calls are made at once.`, isError: true })
