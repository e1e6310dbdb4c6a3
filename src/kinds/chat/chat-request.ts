/** An exchange as its API asked for it. */
import type { ExchangeRequest } from "../../protocol/exchange.ts"
import { OwnPrompt, type Prompt } from "./prompt.ts"

export interface ChatRequest extends Omit<ExchangeRequest, "thread" | "tools"> {
  readonly prompt: Prompt
  /** The most web searches that the vendor may make by itself, if it can. */
  readonly searches?: number | undefined
}

export const chatRequestOf = ({ thread, tools, ...request }: ExchangeRequest): ChatRequest => ({
  ...request,
  prompt: new OwnPrompt({ thread, ...(tools !== undefined && { tools }) }),
})
