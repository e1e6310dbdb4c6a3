/** An exchange as the client's API asked for it. */

import type { OfferedTools } from "../../calls/offered-tools.ts"
import type { CallTarget } from "../../catalogue/snapshot.ts"
import type { ClientApiName } from "../../dialects/carry/carried-request.ts"
import type { FieldRefusal } from "../../dialects/client/fields.ts"
import type { ExactPlaces } from "../../dialects/parse/exact-places.ts"
import type { HostedTool } from "../../dialects/vendor/hosted-tools.ts"
import type { ToolCallBlock } from "../../protocol/block.ts"
import type { ExchangeRequest } from "../../protocol/exchange.ts"
import type { ServerTools } from "../../protocol/tool.ts"
import { CarriedPrompt, type SentPrompt } from "./carried-prompt.ts"
import { OwnPrompt, type Prompt, type PromptContent, type PromptSource } from "./prompt.ts"
import { approvedCalls, placesInPrompt, promptOf, serversOf } from "./sent-prompt.ts"

export interface ChatRequest extends Omit<ExchangeRequest, "thread" | "tools"> {
  readonly prompt: Prompt
  /** Servers whose tools the gateway calls for the model; absent if it names none. */
  readonly servers?: AskedServers | undefined
  /** Their tools, once they are known. */
  readonly offered?: OfferedTools | undefined
  /** Present if a vendor of the same API gets the request unchanged. */
  readonly carried?: CarriedRequest | undefined
  readonly isKept?: boolean | undefined
  /** The id under which the reply is kept, if the client's API has such ids. */
  readonly keptAs?: string | undefined
  /** The only target that has what the request names; absent if any may answer. */
  readonly pinned?: PinnedTarget | undefined
}

/** Tools of servers, as a client asks for them. */
export interface AskedServers {
  readonly tools: ReadonlyArray<ServerTools>
  /** Calls of an earlier exchange that the client has approved. */
  readonly approved: ReadonlyArray<ToolCallBlock>
}

/** A target, and whether it has the organisation's own key. */
export interface PinnedTarget {
  readonly vendor: string
  readonly targetModel: string
  readonly isOwn: boolean
}

export const isPinned = (
  { vendor, model, isOwn }: Pick<CallTarget, "vendor" | "model" | "isOwn">,
  pinned: PinnedTarget | undefined,
): boolean =>
  pinned === undefined || (vendor.id === pinned.vendor && model === pinned.targetModel && isOwn === pinned.isOwn)

/** The facts of a request in a client's own API that an exchange needs. */
export interface CarriedRequest {
  readonly api: ClientApiName
  /** The first field that only this API supports. */
  readonly lack?: FieldRefusal | undefined
  /** Ids of the client's own users. */
  readonly endUsers: ReadonlyArray<string>
  /** Tools that a vendor runs. */
  readonly hosted: ReadonlyArray<HostedTool>
  /** The most uses of all of them that the client allows. */
  readonly maxHostedUses?: number | undefined
  /** Whether its vendor may summarise the thread beside the answer. */
  readonly compacts?: boolean | undefined
}

/** The size from which a body stays as it was sent, instead of the values that were read from it. */
const longBytes = 16 * 1024

/** The body that a request was read from. */
export interface RequestSource {
  readonly body: Uint8Array
  /** The positions of JSON that is forwarded as its text. */
  readonly exact: ExactPlaces | undefined
  /** Reads the body again, and uses nothing that was read before. */
  readonly read: (body: Uint8Array) => PromptContent
}

/** @param source absent if its prompt must stay as it is */
export const chatRequestOf = ({ thread, tools, ...request }: ExchangeRequest, source?: RequestSource): ChatRequest => {
  const sent = { thread, ...(tools !== undefined && { tools }) }
  return {
    ...request,
    ...askedServers(sent),
    prompt: new OwnPrompt(promptOf(sent), source && promptSource(source, request, sent)),
  }
}

const askedServers = (sent: Pick<ExchangeRequest, "thread" | "tools">): Pick<ChatRequest, "servers"> => {
  const tools = serversOf(sent)
  return tools.length === 0 ? {} : { servers: { tools, approved: approvedCalls(sent) } }
}

/** A request that a vendor of the same API gets unchanged. */
export const carriedRequestOf = (
  { thread, tools, ...request }: ExchangeRequest,
  source: RequestSource,
  sent: Omit<SentPrompt, "body" | "asked" | "isStreamed">,
): ChatRequest => {
  const { params = {}, stream = false } = request
  const whole = { ...sent, body: source.body, asked: params, isStreamed: stream }
  const { api, own } = sent
  const { lack, hosted, maxHostedUses, compacts, endUsers } = own
  const content = { thread, ...(tools !== undefined && { tools }) }
  return {
    ...request,
    ...askedServers(content),
    prompt: new CarriedPrompt(whole, promptOf(content), promptSource(source, request, content)),
    carried: { api, lack, hosted, maxHostedUses, compacts, endUsers: [...new Set(endUsers.map(({ id }) => id))] },
  }
}

const promptSource = (
  { body, exact, read }: RequestSource,
  { params }: Pick<ExchangeRequest, "params">,
  prompt: Pick<ExchangeRequest, "thread" | "tools">,
): PromptSource => {
  const places = placesInPrompt(prompt, exact)
  return {
    readAgain: body.length < longBytes ? undefined : () => read(body),
    exact: places && { body, places },
    output: params?.output === "json" ? undefined : params?.output,
  }
}
