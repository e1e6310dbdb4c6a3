/**
 * The outcome of each part of a request, for the 16 pairs of a client's API and a vendor's dialect. Found by trying: a
 * client's request is what the same API's dialect would send, since a dialect has two directions.
 */
import { Result } from "effect"
import { type ClientApiName, clientApiNames } from "../../src/dialects/carry/carried-request.ts"
import type { VendorRequest } from "../../src/dialects/chat-dialect.ts"
import { clientApis } from "../../src/dialects/client/client-apis.ts"
import { chatDialects } from "../../src/dialects/index.ts"
import { chatProfiles } from "../../src/dialects/openai-chat/profiles.ts"
import { makeChatDialect } from "../../src/dialects/openai-chat/vendor.ts"
import { parseObject } from "../../src/dialects/parse/json.ts"
import { signFor } from "../../src/dialects/vendor/signature.ts"
import { extrasOf, levelOf } from "../../src/kinds/chat/allowed-params.ts"
import { vendorRequestOf } from "../../src/kinds/chat/plan.ts"
import { promptOf } from "../../src/kinds/chat/sent-prompt.ts"
import { checkCall } from "../../src/kinds/decode.ts"
import type { Cacheable, MediaBlock, Message, ToolResultBlock } from "../../src/protocol/block.ts"
import { ExchangeRequest } from "../../src/protocol/exchange.ts"
import type { ExtraParams } from "../../src/protocol/extra-params.ts"
import { isFunctionTool } from "../../src/protocol/tool.ts"

/** Models that take a budget for their reasoning, where there are some. */
const models: Readonly<Record<ClientApiName, string>> = {
  "openai-chat": "upstream",
  "openai-responses": "upstream",
  anthropic: "claude-sonnet-4-5",
  gemini: "gemini-2.5-flash",
}

const plain: VendorRequest = {
  model: "main",
  thread: [{ role: "user", blocks: [{ t: "text", v: "Hello" }] }],
  tools: [],
  maxTokens: 4096,
  stop: [],
  canReason: true,
  cache: { enabled: true, skipWrite: false },
  stream: true,
}

const picture = { t: "image", mime: "image/png", data: "iVBORw0KGgo=" } as const

const beside = (block: MediaBlock): Partial<VendorRequest> => ({
  thread: [{ role: "user", blocks: [{ t: "text", v: "Hello" }, block] }],
})

/** Instructions that are kept. */
const kept = (cacheable: Cacheable): Partial<VendorRequest> => ({
  thread: [{ role: "system", blocks: [{ t: "text", v: "Be brief", cacheable }] }, ...plain.thread],
})

/** A turn of a vendor that reasons, sent back. */
const reasoned = (dialect: ClientApiName): Partial<VendorRequest> => {
  const signer = dialect === "anthropic" || dialect === "gemini" ? dialect : "openai"
  const signature = signFor(signer, dialect === "openai-responses" ? "rs_1:c2VhbGVk" : "c2lnbmF0dXJl")
  return {
    thread: [
      ...plain.thread,
      {
        role: "assistant",
        blocks: [
          { t: "reasoning", v: "Thought", signature },
          { t: "text", v: "Hi" },
        ],
      },
      ...plain.thread,
    ],
  }
}

const tools = [{ name: "weather", inputSchema: { type: "object", properties: {} } }]
const calledWith = (result: Pick<ToolResultBlock, "v" | "blocks">): VendorRequest["thread"] => [
  ...plain.thread,
  { role: "assistant", blocks: [{ t: "tool_call", id: "call_1", name: "weather", input: {} }] },
  { role: "tool", blocks: [{ t: "tool_result", id: "call_1", ...result }] },
]

type Part = readonly [name: string, request: (client: ClientApiName) => Partial<VendorRequest>]

const signedReasoning = "its own vendor's reasoning"

/** A value of each parameter that not every vendor has. */
export const extraExamples: Required<Omit<ExtraParams, "vendorOptions">> = {
  seed: 7,
  frequencyPenalty: 0.5,
  presencePenalty: 0.5,
  topK: 40,
  minP: 0.1,
  logprobs: 3,
  logitBias: { "50256": -100 },
  verbosity: "low",
  serviceTier: "priority",
  prediction: "Hello",
  stopTokens: [7],
  n: 3,
}

/** A request for each part that has that part, written by the client's own API. */
const parts: ReadonlyArray<Part> = [
  ["instructions", () => ({ thread: [{ role: "system", blocks: [{ t: "text", v: "Be brief" }] }, ...plain.thread] })],
  ["images", () => beside(picture)],
  ["detail of images", () => beside({ ...picture, detail: "low" })],
  ["images by URL", () => beside({ t: "image", mime: "image/png", url: "https://example.com/a.png" })],
  ["files", () => beside({ t: "file", name: "a.pdf", mime: "application/pdf", data: "JVBERi0=" })],
  [
    "files by URL",
    () => beside({ t: "file", name: "a.pdf", mime: "application/pdf", url: "https://example.com/a.pdf" }),
  ],
  ["tools", () => ({ tools })],
  ["tool choice", () => ({ tools, toolChoice: { name: "weather" } })],
  ["parallel tool calls", () => ({ tools, parallelToolCalls: false })],
  ["calls and results", () => ({ tools, thread: calledWith({ v: "Rain" }) })],
  ["pictures in results", () => ({ tools, thread: calledWith({ blocks: [{ t: "text", v: "Rain" }, picture] }) })],
  ["structured output", () => ({ output: { schema: { type: "object", properties: {} }, strict: true } })],
  [
    "any JSON object",
    () => ({ anyJson: true, thread: [{ role: "user", blocks: [{ t: "text", v: "Hello in JSON" }] }] }),
  ],
  ["temperature", () => ({ temperature: 0.5 })],
  ["top p", () => ({ topP: 0.5 })],
  ["stop sequences", () => ({ stop: ["END"] })],
  ["reasoning effort", () => ({ reasoning: "high" })],
  ["reasoning budget", () => ({ reasoning: "medium", reasoningBudget: 2048 })],
  ["effort without reasoning", () => ({ effort: "low" })],
  ["reasoning that is not shown", () => ({ reasoning: "high", reasoningDisplay: "omitted" })],
  [signedReasoning, reasoned],
  ["cache breakpoints", () => kept(true)],
  ["breakpoints of an hour", () => kept("1h")],
  ["cache key", () => ({ cache: { enabled: true, skipWrite: false, key: "thread" } })],
  ["videos", () => beside({ t: "video", mime: "video/mp4", data: "AAAAIGZ0eXA=" })],
  ["sound", () => beside({ t: "audio", mime: "audio/wav", data: "UklGRiQAAAA=" })],
  ...Object.entries(extraExamples).map(([name, value]): Part => [name, () => ({ extras: { [name]: value } })]),
]

type Outcome = "carried" | "refused" | "without effect" | "no words"

const bodyOf = (dialect: ClientApiName, request: VendorRequest) =>
  Result.getOrUndefined(chatDialects[dialect].encode({ ...request, model: models[dialect] }))?.body

/** A client of OpenAI's API may say what other vendors with this API understand. */
const anyChat = makeChatDialect({ ...chatProfiles.openai, extras: chatProfiles.generic.extras, videos: true })

const saidBy = (client: ClientApiName, request: VendorRequest) =>
  client === "openai-chat"
    ? Result.getOrUndefined(anyChat.encode({ ...request, model: models[client] }))?.body
    : bodyOf(client, request)

/** The request with which one is compared: a part may need another part. */
const without = (name: string, part: Partial<VendorRequest>): VendorRequest => {
  switch (name) {
    case "tool choice":
    case "parallel tool calls":
      return { ...plain, tools }
    case "detail of images":
      return { ...plain, ...beside(picture) }
    case "pictures in results":
      return { ...plain, tools, thread: calledWith({ v: "Rain" }) }
    case "any JSON object":
      return { ...plain, thread: [{ role: "user", blocks: [{ t: "text", v: "Hello in JSON" }] }] }
    case "breakpoints of an hour":
      return { ...plain, ...kept(true) }
    case "reasoning that is not shown":
      return { ...plain, reasoning: "high" }
    case "reasoning budget":
      return { ...plain, reasoning: "medium" }
    case signedReasoning:
    case "cache breakpoints":
      return { ...plain, thread: (part.thread ?? []).map(unmarked) }
    default:
      return plain
  }
}

/** A message without reasoning and breakpoints. */
const unmarked = (message: Message): Message =>
  message.role === "assistant"
    ? { ...message, blocks: message.blocks.filter(({ t }) => t !== "reasoning") }
    : message.role === "system"
      ? { ...message, blocks: message.blocks.map(({ t, v }) => ({ t, v })) }
      : message

const outcomeOf = (client: ClientApiName, vendor: ClientApiName, [name, request]: Part): Outcome => {
  const part = request(client)
  const base = without(name, part)
  const sent = saidBy(client, { ...plain, ...part })
  if (sent === undefined || sent === saidBy(client, base)) return "no words"
  const asked = through(client, sent)
  if (asked === undefined) return "refused"
  const body = bodyOf(vendor, asked)
  if (body === undefined) return "refused"
  const plainBody = bodyOf(vendor, through(client, saidBy(client, base) ?? "") ?? base)
  return body === plainBody ? "without effect" : "carried"
}

/** A client's request as a vendor's dialect gets it; undefined if it is refused. */
const through = (client: ClientApiName, body: string): VendorRequest | undefined => {
  const place = { model: "main", stream: true, isArray: false, counts: false }
  const decoded = clientApis[client].decode(parseObject(body) ?? {}, place)
  if (Result.isFailure(decoded)) return undefined
  const checked = checkCall(ExchangeRequest, { ...decoded.success.exchange, model: "main" }, null)
  if (Result.isFailure(checked)) return undefined
  const { request } = checked.success
  const { params = {} } = request
  const { thread, tools = [] } = promptOf(request)
  const reasoning = levelOf(params)
  const allowed = {
    ...params,
    maxTokens: plain.maxTokens,
    extras: extrasOf(params, {}),
    ...(reasoning !== undefined && { reasoning }),
  }
  return {
    model: "main",
    thread,
    tools: tools.filter(isFunctionTool),
    ...vendorRequestOf(
      request,
      allowed,
      new Set(["tools", "images", "files", "videos", "audio", "reasoning", "cache"]),
    ),
  }
}

const named = (client: ClientApiName, vendor: ClientApiName, outcome: Outcome): string =>
  parts.flatMap((part) => (outcomeOf(client, vendor, part) === outcome ? [part[0]] : [])).join(", ") || "-"

/** The table in Markdown; a row names what is not carried. */
export const pairTable = (): string => {
  const rows = clientApiNames.flatMap((client) =>
    clientApiNames.map((vendor) => {
      const cells = (["no words", "refused", "without effect"] as const).map((outcome) =>
        named(client, vendor, outcome),
      )
      return `| ${[clientApis[client].name, ticked(vendor), ...cells].join(" | ")} |`
    }),
  )
  return `Tried: ${parts.map(([name]) => name).join(", ")}.

| client | served by | not in the client's API | refused, or the next target | without effect |
| ------ | --------- | ----------------------- | --------------------------- | -------------- |
${rows.join("\n")}
`
}

const ticked = (text: string) => `\`${text}\``
