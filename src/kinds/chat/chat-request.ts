/** An exchange as its API asked for it. */
import type { ExchangeRequest } from "../../protocol/exchange.ts"
import { OwnPrompt, type Prompt, type PromptContent } from "./prompt.ts"

export interface ChatRequest extends Omit<ExchangeRequest, "thread" | "tools"> {
  readonly prompt: Prompt
  /** The most web searches that the vendor may make by itself, if it can. */
  readonly searches?: number | undefined
}

/** A body of so many bytes stays as it came, instead of as what was read of it. */
const longBytes = 16 * 1024

/** Where a prompt can be read once more. */
export interface PromptSource {
  readonly body: Uint8Array
  /** Keeps nothing of what was read before. */
  readonly read: (body: Uint8Array) => PromptContent
}

/** @param source absent if its prompt must stay as it is */
export const chatRequestOf = ({ thread, tools, ...request }: ExchangeRequest, source?: PromptSource): ChatRequest => ({
  ...request,
  prompt: new OwnPrompt(
    { thread, ...(tools !== undefined && { tools }) },
    source === undefined || source.body.length < longBytes ? undefined : () => source.read(source.body),
  ),
})
