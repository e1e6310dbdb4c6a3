/** Bodies of requests about conversations. Source: https://platform.openai.com/docs/api-reference/conversations */
import { randomBytes } from "node:crypto"
import { Result } from "effect"
import { isAbsent } from "../../../dialects/client/fields.ts"
import { decodeResponsesRequest } from "../../../dialects/openai-responses/client-request.ts"
import { itemIdOf, referenceIn, textsOfItems } from "../../../dialects/openai-responses/items.ts"
import { metadataRefusal } from "../../../dialects/openai-responses/metadata.ts"
import { isObject, type JsonObject } from "../../../dialects/parse/json.ts"
import type { ConversationItem, Metadata } from "../../../kept-responses/conversation.ts"
import type { ServiceError } from "../../../protocol/error.ts"
import { ExchangeRequest } from "../../../protocol/exchange.ts"
import { type InputIssue, invalidInput } from "../../../protocol/json/issues.ts"
import { decodeJson, parsePlainly } from "../../../protocol/json/json-body.ts"

const mostItems = 20
/** The most characters of an unknown name in an error. */
const mostNameLength = 64

export interface ConversationBody {
  /** Undefined if the body has none. */
  readonly metadata: Metadata | undefined
  readonly items: ReadonlyArray<ConversationItem> | undefined
}

type Read<A> = Result.Result<A, ServiceError<"bad_request">>

const refuse = (path: string, message: string): Result.Result<never, ServiceError<"bad_request">> =>
  Result.fail(invalidInput([{ path, message }]))

/** @param fields the fields that the method has */
export const readConversationBody = (
  body: Uint8Array,
  fields: ReadonlyArray<keyof ConversationBody>,
): Read<ConversationBody> => {
  if (body.length === 0) return Result.succeed({ metadata: undefined, items: undefined })
  return Result.flatMap(parsePlainly(body), ({ json }): Read<ConversationBody> => {
    if (!isObject(json)) return refuse("", "The body must be a JSON object")
    const odd = Object.keys(json).find((name) => !fields.some((field) => field === name))
    if (odd !== undefined) return refuse(odd.slice(0, mostNameLength), "is no field of this request")
    return Result.flatMap(readMetadata(json["metadata"]), (metadata) =>
      Result.map(readItems(json["items"], body), (items) => ({ metadata, items })),
    )
  })
}

const readMetadata = (value: unknown): Read<Metadata | undefined> => {
  if (value === undefined) return Result.succeed(undefined)
  if (value === null) return Result.succeed({})
  const issue = metadataRefusal(value)
  if (issue !== undefined) return Result.fail(invalidInput([issue]))
  const pairs = isObject(value) ? Object.entries(value) : []
  return Result.succeed(
    Object.fromEntries(pairs.flatMap(([name, text]) => (typeof text === "string" ? [[name, text]] : []))),
  )
}

/** Items are read as those of a request are: an item that no request may have is refused before it is kept. */
const readItems = (value: unknown, body: Uint8Array): Read<ReadonlyArray<ConversationItem> | undefined> => {
  if (isAbsent(value)) return Result.succeed(undefined)
  if (!Array.isArray(value)) return refuse("items", "must be a list")
  if (value.length > mostItems) return refuse("items", `has ${value.length} items, more than ${mostItems}`)
  const items: ReadonlyArray<unknown> = value
  const odd = items.findIndex((item) => !isObject(item) || referenceIn(item) !== undefined)
  if (odd >= 0) return refuse(`items.${odd}`, "must be an item itself, not a reference or another value")
  const issue = items.flatMap(messageIssue)[0]
  if (issue !== undefined) return Result.fail(invalidInput([issue]))
  const unread = items.flatMap(unreadable)[0]
  if (unread !== undefined) return Result.fail(invalidInput([unread]))
  const texts = textsOfItems(body, items.length)
  return Result.succeed(items.flatMap((item, at) => (isObject(item) ? [named(item, texts[at] ?? "null")] : [])))
}

const roles: ReadonlyArray<unknown> = ["user", "assistant", "system", "developer"]

/** The reason why no request may have an item: each later response of its conversation would be refused. */
const unreadable = (item: unknown, at: number): ReadonlyArray<InputIssue> => {
  const read = decodeResponsesRequest({ model, input: [item] })
  const refusal = Result.isFailure(read) ? read.failure : read.success.own?.lack
  if (refusal !== undefined) return [{ ...refusal, path: refusal.path.replace(/^input\.0/, `items.${at}`) }]
  if (Result.isFailure(read) || isEmpty(read.success.exchange["thread"])) return []
  const checked = decodeJson(ExchangeRequest, { ...read.success.exchange, model })
  if (Result.isSuccess(checked)) return []
  const issues = checked.failure.detail?.["issues"]
  const [issue] = Array.isArray(issues) ? issues.filter(isObject) : []
  return [{ path: `items.${at}`, message: String(issue?.["message"] ?? checked.failure.message) }]
}

/** A request needs the name of a model. */
const model = "unknown"

/** An item without words is no message. */
const isEmpty = (thread: unknown): boolean => Array.isArray(thread) && thread.length === 0

/** Items that only OpenAI knows are kept as they are; messages are checked. */
const messageIssue = (item: unknown, at: number): ReadonlyArray<InputIssue> => {
  const { type = "message", role, content } = isObject(item) ? item : {}
  if (typeof type !== "string") return [{ path: `items.${at}.type`, message: "must be a string" }]
  if (type !== "message") return []
  if (!roles.includes(role)) return [{ path: `items.${at}.role`, message: `must be one of ${roles.join(", ")}` }]
  const isRead = typeof content === "string" || Array.isArray(content)
  return isRead ? [] : [{ path: `items.${at}.content`, message: "must be a string or a list" }]
}

const named = (item: JsonObject, text: string): ConversationItem => ({
  id: itemIdOf(item, randomBytes(16).toString("hex")),
  text,
})
