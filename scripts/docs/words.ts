/**
 * The names of each word of twp/1 in the APIs of clients and of vendors. Found by trying: a request with the word, and one
 * without, is written for each vendor, and the first place where they differ is the word's; a client's API supports the word if its
 * dialect reads it back from its own text. A reply likewise, the other way round.
 */
import { Result } from "effect"
import { type ClientApiName, clientApiNames } from "../../src/dialects/carry/carried-request.ts"
import { clientApis } from "../../src/dialects/client/client-apis.ts"
import { chatDialects } from "../../src/dialects/index.ts"
import { pathOf } from "../../src/dialects/parse/exact-places.ts"
import { isObject, parseObject } from "../../src/dialects/parse/json.ts"
import { extrasOf, levelOf } from "../../src/kinds/chat/allowed-params.ts"
import { vendorRequestOf } from "../../src/kinds/chat/plan.ts"
import { encodePrompt } from "../../src/kinds/chat/prompt.ts"
import { promptOf } from "../../src/kinds/chat/sent-prompt.ts"
import { UsageMeter } from "../../src/kinds/chat/usage-meter.ts"
import { writeJson } from "../../src/protocol/json/json-text.ts"
import { textsAt } from "../../src/protocol/json/json-texts.ts"
import { type Asked, replyWords, requestWords, type Said, type Word } from "./word-examples.ts"

/** Models that have as many of the words as any of their vendor. */
const models = {
  "openai-chat": "gpt-5.4",
  "openai-responses": "gpt-5.4",
  anthropic: "claude-opus-4-7",
  gemini: "gemini-3-pro",
  bedrock: "us.anthropic.claude-sonnet-4-5-20250929-v1:0",
  cohere: "command-a-03-2025",
} as const
type DialectName = keyof typeof models
const dialectNames = [...clientApiNames, "bedrock", "cohere"] as const

const isClientApi = (name: DialectName): name is ClientApiName => clientApiNames.some((known) => known === name)

const capabilities = new Set(["tools", "images", "files", "videos", "audio", "reasoning", "cache"] as const)

/** The body that a vendor gets; undefined if it takes none. */
const bodyFor = (name: DialectName, { params = {}, ...asked }: Asked): string | undefined => {
  const { thread, tools = [] } = promptOf(asked)
  const level = levelOf(params)
  const { reasoning: _, ...others } = params
  const allowed = {
    ...others,
    maxTokens: 4096,
    extras: extrasOf(params, {}),
    ...(level !== undefined && { reasoning: level }),
  }
  const request = { ...vendorRequestOf({ model: "main", params }, allowed, capabilities), model: models[name] }
  const { wire } = encodePrompt(chatDialects[name], { thread, tools }, request, false)
  return Result.isFailure(wire) ? undefined : Buffer.from(wire.success.body).toString("utf8")
}

/** A request of a client's API in the format of twp/1, with the JSON of its calls unchanged. */
const readBy = (name: ClientApiName, body: string): string => {
  const place = { model: "main", stream: false, isArray: false, counts: false }
  const decoded = clientApis[name].decode(parseObject(body) ?? {}, place)
  if (Result.isFailure(decoded)) return ""
  const { exchange, exact } = decoded.success
  const places = exact?.blocks.map(({ path }) => pathOf(path)) ?? []
  return writeJson([exchange, textsAt(Buffer.from(body), places)])
}

const requestCell = (name: DialectName, { without, with: asked, at, beside }: Word<Asked>): string => {
  const own = beside?.[name]
  const offering = (request: Asked): Asked =>
    own === undefined ? request : { ...request, tools: [...(request.tools ?? []), own] }
  const before = bodyFor(name, offering(without)) ?? "{}"
  const after = bodyFor(name, offering(at?.[name] ?? asked))
  if (after === undefined) return "refused"
  const difference = differenceOf(asWritten(before), asWritten(after))
  if (difference === "") return "-"
  const isRead = !isClientApi(name) || readBy(name, before) !== readBy(name, after)
  return `${ticked(difference)}${isRead ? "" : " (to vendors)"}`
}

const usage = {
  inTokens: 1,
  outTokens: 1,
  cacheReadTokens: 0,
  cacheWriteTokens: 0,
  cost: "1",
  balance: "2",
  currency: "USD",
  cacheNetSaving: "0",
}

const replyOf = (name: ClientApiName, said: Said): string =>
  writeJson(
    clientApis[name].whole(
      { requestId: "req_1", model: "main", createdS: 1, includesUsage: true },
      { requestId: "req_1", model: "main", usage, ...said },
    ),
  )

/** The meaning of a vendor's reply, in the format of twp/1. */
const saidIn = (name: ClientApiName, json: string): string => {
  const meter = new UsageMeter({ keepsBlocks: true })
  const events = chatDialects[name].decodeBody(json)
  for (const event of events) meter.add(event)
  return writeJson([meter.blocks(), events.filter(({ kind }) => kind === "stop")])
}

const replyCell = (name: ClientApiName, { without, with: said }: Word<Said>): string => {
  const [before, after] = [replyOf(name, without), replyOf(name, said)]
  const difference = differenceOf(asWritten(before), asWritten(after))
  if (difference === "") return "-"
  return `${ticked(difference)}${saidIn(name, before) === saidIn(name, after) ? " (to clients)" : ""}`
}

/** JSON with its numbers as they are written. */
const asWritten = (text: string): unknown =>
  JSON.parse(
    text.replaceAll(/"(?:[^"\\]|\\.)*"|-?\d[\d.eE+-]*/g, (part) => (part.startsWith('"') ? part : `"${part}"`)),
  )

/** The first place where two values differ, and what is there; empty if nowhere. */
const differenceOf = (before: unknown, after: unknown, path = ""): string => {
  if (isObject(before) && isObject(after)) {
    const names = [...new Set([...Object.keys(after), ...Object.keys(before)])]
    return firstOf(names, (name) => differenceOf(before[name], after[name], path === "" ? name : `${path}.${name}`))
  }
  if (Array.isArray(before) && Array.isArray(after)) {
    const indexes = Array.from({ length: Math.max(before.length, after.length) }, (_, index) => index)
    return firstOf(indexes, (index) => differenceOf(before[index], after[index], `${path}[]`))
  }
  return JSON.stringify(before) === JSON.stringify(after) ? "" : path + firstWordIn(after)
}

/** The way to the first word in a value; what is no word is said by its path. */
const firstWordIn = (value: unknown): string => {
  if (isObject(value)) {
    const [name] = "type" in value ? ["type"] : Object.keys(value)
    return name === undefined ? "" : `.${name}${firstWordIn(value[name])}`
  }
  if (Array.isArray(value)) return `[]${firstWordIn(value[0])}`
  return typeof value === "boolean" || (typeof value === "string" && /^\w{1,24}$/.test(value)) ? `: ${value}` : ""
}

const firstOf = <A>(values: ReadonlyArray<A>, look: (value: A) => string): string => {
  for (const value of values) {
    const found = look(value)
    if (found !== "") return found
  }
  return ""
}

const ticked = (text: string) => `\`${text}\``

const tableOf = <A, Name extends string>(
  names: ReadonlyArray<Name>,
  words: ReadonlyArray<Word<A>>,
  cell: (name: Name, word: Word<A>) => string,
): string => {
  const line = (cells: ReadonlyArray<string>) => `| ${cells.join(" | ")} |`
  return [
    line(["word", "twp/1", ...names.map(ticked)]),
    line(Array.from({ length: names.length + 2 }, () => "---")),
    ...words.map((word) => line([word.word, ticked(word.place), ...names.map((name) => cell(name, word))])),
  ].join("\n")
}

/** The tables in Markdown. */
export const wordTables =
  (): string => `In a request: the first position of the field; \`-\` is left out, \`refused\` goes to the model's next target.

${tableOf(dialectNames, requestWords, requestCell)}

In a reply:

${tableOf(clientApiNames, replyWords, replyCell)}
`
