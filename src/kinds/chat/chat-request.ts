/** An exchange as its API asked for it. */
import type { ExchangeRequest } from "../../protocol/exchange.ts"
import { OwnPrompt, type Prompt, type PromptContent } from "./prompt.ts"

export interface ChatRequest extends Omit<ExchangeRequest, "thread" | "tools"> {
  readonly prompt: Prompt
  /** The most web searches that the vendor may make by itself, if it can. */
  readonly searches?: number | undefined
}

/** @param readAgain reads the same prompt once more, if it need not stay in memory */
export const chatRequestOf = (
  { thread, tools, ...request }: ExchangeRequest,
  readAgain?: () => PromptContent,
): ChatRequest => ({
  ...request,
  prompt: new OwnPrompt({ thread, ...(tools !== undefined && { tools }) }, readAgain),
})

/** A body of so many bytes stays as it came, instead of as what was read of it. */
export const isLong = ({ length }: Uint8Array): boolean => length >= 16 * 1024
