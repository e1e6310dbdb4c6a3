/** An exchange as its API asked for it. */

import type { ClientApiName } from "../../dialects/carried-request.ts"
import type { FieldRefusal } from "../../dialects/fields.ts"
import type { ExchangeRequest } from "../../protocol/exchange.ts"
import { CarriedPrompt, type SentPrompt } from "./carried-prompt.ts"
import { OwnPrompt, type Prompt, type PromptContent } from "./prompt.ts"

export interface ChatRequest extends Omit<ExchangeRequest, "thread" | "tools"> {
  readonly prompt: Prompt
  /** The most web searches that the vendor may make by itself, if it can. */
  readonly searches?: number | undefined
  /** Present if a vendor of the same API gets it as it came. */
  readonly carried?: CarriedRequest | undefined
}

/** The facts of a request in a client's own API that an exchange needs. */
export interface CarriedRequest {
  readonly api: ClientApiName
  /** The first thing for which only this API has words. */
  readonly lack?: FieldRefusal | undefined
  /** Ids of the client's own users. */
  readonly endUsers: ReadonlyArray<string>
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
  prompt: new OwnPrompt({ thread, ...(tools !== undefined && { tools }) }, readAgain(source)),
})

/** A request that a vendor of the same API gets as it came. */
export const carriedRequestOf = (
  { thread, tools, ...request }: ExchangeRequest,
  source: PromptSource,
  sent: Omit<SentPrompt, "body" | "asked" | "isStreamed">,
): ChatRequest => {
  const { params = {}, stream = false } = request
  const whole = { ...sent, body: source.body, asked: params, isStreamed: stream }
  const { api, own } = sent
  return {
    ...request,
    prompt: new CarriedPrompt(whole, { thread, ...(tools !== undefined && { tools }) }, readAgain(source)),
    carried: { api, lack: own.lack, endUsers: [...new Set(own.endUsers.map(({ id }) => id))] },
  }
}

const readAgain = (source: PromptSource | undefined) =>
  source === undefined || source.body.length < longBytes ? undefined : () => source.read(source.body)
