/** The thread that reads large requests and writes them for vendors, so that streams do not wait for that. */
import { createHash } from "node:crypto"
import { readlinkSync } from "node:fs"
import { constants as osConstants, setPriority } from "node:os"
import { basename } from "node:path"
import { parentPort } from "node:worker_threads"
import { Effect, Result } from "effect"
import { onOneLine } from "../../batches/line.ts"
import { textOfLine } from "../../batches/lines-of.ts"
import type { DecodedCall } from "../../calls/held-call.ts"
import { messagesApi } from "../../dialects/anthropic/client.ts"
import { converseApi } from "../../dialects/bedrock/converse-client.ts"
import { bedrockCountApi } from "../../dialects/bedrock/count-client.ts"
import { invokeApi } from "../../dialects/bedrock/invoke-client.ts"
import { cohereChatApi, cohereV1Api } from "../../dialects/cohere/client.ts"
import { generateApi } from "../../dialects/gemini/client.ts"
import { dialectOf } from "../../dialects/index.ts"
import { chatApi } from "../../dialects/openai-chat/client.ts"
import { completionApi } from "../../dialects/openai-chat/completion-client.ts"
import { responsesApi } from "../../dialects/openai-responses/client.ts"
import { summarisingApi } from "../../dialects/openai-responses/compaction.ts"
import { keptInput } from "../../dialects/openai-responses/items.ts"
import type { ChatRequest } from "../../kinds/chat/chat-request.ts"
import type { Prompt, PromptParams } from "../../kinds/chat/prompt.ts"
import { messagesFrom } from "../../kinds/chat/thread-texts.ts"
import { decodeExchange } from "../../kinds/decode.ts"
import { joinChunks } from "../../media/free-chunk.ts"
import {
  type Masking,
  maskBody,
  receivedMasking,
  type SentMasking,
  textsWithMarks,
} from "../../policies/masks/mask-request.ts"
import { everyPart } from "../../policies/parts.ts"
import type { Vendor } from "../../protocol/catalogue/vendor.ts"
import type { Decoded } from "../../protocol/json/json-body.ts"
import { canonicalJson } from "../../protocol/values/canonical.ts"
import { openaiLine } from "../compatible/batches/openai-lines.ts"
import { readCompatible } from "../compatible/request.ts"
import {
  type Answer,
  type Ask,
  type FromWorker,
  isQuestion,
  type ReadReply,
  type SentIn,
  type TextOf,
} from "./protocol.ts"

const apis = new Map(
  [
    chatApi,
    completionApi,
    responsesApi,
    summarisingApi,
    messagesApi,
    invokeApi,
    converseApi,
    bedrockCountApi,
    cohereChatApi,
    cohereV1Api,
    generateApi,
  ].map((api) => [api.name, api]),
)

/** The priority of the thread: if both want a core, the event loop comes first. Only Linux has priorities of threads. */
const stepBack = (): void => {
  try {
    setPriority(Number(basename(readlinkSync("/proc/thread-self"))), osConstants.priority.PRIORITY_BELOW_NORMAL)
  } catch {
    // The thread keeps its usual priority.
  }
}
stepBack()

/** Prompts of requests that have not ended, with the bodies that they were read from. */
const prompts = new Map<number, { readonly prompt: Prompt; readonly source: Uint8Array }>()

parentPort?.on("message", (message: unknown) => {
  if (!isQuestion(message)) return
  const { ask, message: asked } = message
  if (asked.op === "end") {
    prompts.delete(asked.id)
    return
  }
  const reply = answered(asked)
  const told: Answer = { ask, reply }
  parentPort?.postMessage(told, reply.kind === "encoded" || reply.kind === "line" ? givenAway(reply.body) : [])
})

/** A short body is a part of memory that Node shares among buffers, and cannot be transferred: it is copied. */
const givenAway = ({ buffer, byteLength }: Uint8Array): Array<ArrayBuffer> =>
  buffer instanceof ArrayBuffer && buffer.byteLength === byteLength ? [buffer] : []

const answered = (asked: Ask): FromWorker => {
  try {
    return answer(asked)
  } catch (cause) {
    return { kind: "failed", message: cause instanceof Error ? cause.message : String(cause) }
  }
}

const answer = (asked: Ask): FromWorker => {
  if (asked.op === "read") return readMasked(asked)
  if (asked.op === "line") return readLine(asked)
  if (asked.op === "texts") {
    const { parts, masking } = asked
    return { kind: "texts", texts: textsWithMarks(joinChunks(parts), masking && maskingIn(masking)) }
  }
  const known = prompts.get(asked.id)
  if (known === undefined) return { kind: "failed", message: "there is no such request" }
  const { prompt, source } = known
  if (asked.op === "encode") return encode(prompt, source, asked.vendor, asked.params)
  return { kind: "text", tokens: 0, ...textOf(prompt, asked.of, asked.parts) }
}

const readLine = ({ parts, endpoint, mostBytes }: Extract<Ask, { readonly op: "line" }>): FromWorker => {
  const read = openaiLine(textOfLine(joinChunks(parts)), endpoint, mostBytes)
  if (Result.isFailure(read)) return { kind: "fault", fault: read.failure }
  const { id, path, body } = read.success
  return { kind: "line", id, path, body: typeof body === "string" ? Buffer.from(onOneLine(body)) : body }
}

/** Reads a request with its marks. */
const readMasked = ({ id, parts, sentIn, masking, threadFrom }: Extract<Ask, { readonly op: "read" }>): ReadReply => {
  const { body, masked } = maskBody(joinChunks(parts), masking && maskingIn(masking))
  const reply = read(id, body, sentIn, threadFrom)
  if (masked === undefined || "refused" in reply.outcome) return reply
  const { hits, marks } = masked
  return { ...reply, outcome: { ...reply.outcome, masked: { hits, entries: marks.entries() } } }
}

/** Compiled masks; few organisations send large requests at a time. */
const compiledMasks = new Map<string, Masking>()
const mostCompiled = 20

const maskingIn = (sent: SentMasking): Masking => {
  const name = JSON.stringify(sent.policies)
  const known = compiledMasks.get(name)
  if (known !== undefined) return { ...known, key: sent.key }
  const made = receivedMasking(sent)
  if (compiledMasks.size >= mostCompiled) compiledMasks.clear()
  compiledMasks.set(name, made)
  return made
}

const read = (id: number, body: Uint8Array, sentIn: SentIn | undefined, threadFrom: number | undefined): ReadReply => {
  if (sentIn === undefined) {
    const outcome = keep(id, body, decodeExchange(body))
    const isAsked = threadFrom !== undefined && !("refused" in outcome)
    return { kind: "read", outcome: isAsked ? { ...outcome, input: messagesFrom(body, threadFrom) } : outcome }
  }
  const api = apis.get(sentIn.api)
  if (api === undefined) throw new Error(`There is no API ${sentIn.api}`)
  const { sent, decoded } = readCompatible(api, sentIn, body, sentIn.aliases, sentIn.place)
  const outcome = keep(id, body, decoded)
  const { inputFrom } = sentIn
  const input = inputFrom === undefined || "refused" in outcome ? undefined : keptInput(body, inputFrom)
  return { kind: "read", ...(sent !== undefined && { sent }), outcome: { ...outcome, ...(input && { input }) } }
}

const keep = (id: number, source: Uint8Array, decoded: Decoded<DecodedCall<ChatRequest>>): ReadReply["outcome"] => {
  if (Result.isFailure(decoded)) {
    const { message, detail } = decoded.failure
    return { refused: message, detail }
  }
  const { request, payloadHash } = decoded.success
  const { prompt, ...rest } = request
  prompts.set(id, { prompt, source })
  const { kinds, hasTools, tokens, hasRemoteMedia, canUnseal } = prompt
  return { request: rest, payloadHash, facts: { kinds, hasTools, tokens, hasRemoteMedia, canUnseal } }
}

const textOf = (prompt: Prompt, of: TextOf, parts = everyPart): { readonly text: string; readonly tokens?: number } => {
  if (of === "parts") return Effect.runSync(prompt.parts)
  if (of === "reviewed") return { text: Effect.runSync(prompt.reviewed(parts)) }
  if (of === "reviewedOnce") return { text: Effect.runSync(prompt.reviewed(parts, "engine")) }
  const sameness = Effect.runSync(prompt[of])
  return {
    text: sameness === undefined ? "" : createHash("sha256").update(canonicalJson(sameness)).digest("base64url"),
  }
}

/** The body that is sent to a vendor, which is transferred: a copy if it is the client's own, which is needed again. */
const keptBeside = (source: Uint8Array, body: Uint8Array): Uint8Array =>
  body.buffer === source.buffer ? Buffer.from(body) : body

const encode = (prompt: Prompt, source: Uint8Array, vendor: Vendor, params: PromptParams): FromWorker => {
  const { wire, omittedTools, omitted, clamped, carried, functionsOfTexts, written } = prompt.encode(
    { dialect: dialectOf(vendor), vendor },
    params,
  )
  if (Result.isFailure(wire)) return { kind: "unfit", ...wire.failure, omittedTools, omitted }
  const { path, headers, body } = wire.success
  return {
    kind: "encoded",
    path,
    headers,
    body: typeof body === "string" ? Buffer.from(body) : keptBeside(source, body),
    omittedTools,
    functionsOfTexts,
    omitted,
    clamped,
    carried,
    written: written?.(),
  }
}
