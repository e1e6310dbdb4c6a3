/**
 * A request that continues a kept response or a conversation, or references their items, with these items in their place. From here on it is a
 * request like others: policies, prices and vendors see the whole thread.
 */
import { Effect, Result, Semaphore } from "effect"
import { type AdmissionError, Gate } from "../../../admission/gate.ts"
import { callerLimits, noDemand, plainRequest } from "../../../admission/rates/caller-limits.ts"
import { WeirConfig } from "../../../config.ts"
import { isAbsent } from "../../../dialects/client/fields.ts"
import {
  inputItems,
  inputNumber,
  isItemId,
  outputItems,
  referenceIn,
  responseOfItem,
} from "../../../dialects/openai-responses/items.ts"
import { isObject, parseObject } from "../../../dialects/parse/json.ts"
import type { Caller } from "../../../identity/caller.ts"
import type { ConversationItem } from "../../../kept-responses/conversation.ts"
import { ConversationItems, mostConversationItems } from "../../../kept-responses/conversation-items.ts"
import { Conversations } from "../../../kept-responses/conversations.ts"
import { type KeptOwner, ownerOf } from "../../../kept-responses/kept-response.ts"
import { type KeptResponse, KeptResponses, type ResponseState } from "../../../kept-responses/kept-responses.ts"
import { partsInclude } from "../../../media/parts-include.ts"
import type { Org } from "../../../protocol/catalogue/tenant.ts"
import { bodyTooLarge, type ServiceError, serviceError } from "../../../protocol/error.ts"
import { invalidInput } from "../../../protocol/json/issues.ts"
import { parseBody } from "../../../protocol/json/json-body.ts"
import { cut, editJson, set } from "../../../protocol/json/json-edit.ts"
import type { StoreUnavailable } from "../../../store/unavailable.ts"
import { makeOpenSummaries } from "./compaction.ts"
import { conversationFull, conversationNotFound } from "./conversation-errors.ts"
import { makeEarlierItems } from "./earlier-items.ts"

export interface ContinuedRequest {
  readonly body: Uint8Array
  /** The number of items before those of the request itself. */
  readonly from: number
  /** The response that it continues. */
  readonly previous: string | undefined
  /** The conversation that it continues. */
  readonly conversation?: string | undefined
  /** Whether it runs without its client, who may follow it as a stream; the body asks for a stream in any case. */
  readonly background?: { readonly isStreamed: boolean } | undefined
}

type ContinueError = ServiceError | StoreUnavailable

/** Without one of these, a request is not read here. */
const marks = ['"previous_response_id"', '"item_reference"', '"background"', '"conversation"']

/** Whether a request may continue or reference kept responses, or run in the background. */
export const namesOthers = (parts: ReadonlyArray<Uint8Array>): boolean => partsInclude(parts, marks)

/** The most kept responses whose items one request may reference. */
const mostReferenced = 256
/** The most references in one request. */
const mostReferences = 1000
/** The requests of a node whose threads are read at a time: each may be as large as a body. */
const mostThreads = 8

export const makeThreads = Effect.gen(function* () {
  const kept = yield* KeptResponses
  const conversations = yield* Conversations
  const conversationItems = yield* ConversationItems
  const gate = yield* Gate
  const earlierItems = yield* makeEarlierItems
  const openSummaries = yield* makeOpenSummaries
  const { bodyMaxBytes } = yield* WeirConfig

  const historyOf = Effect.fnUntraced(function* (
    org: Org,
    owner: KeptOwner,
    previous: string,
  ): Effect.fn.Return<ReadonlyArray<string>, ContinueError> {
    const thread = yield* kept.thread(org, owner, previous, bodyMaxBytes)
    if (thread._tag === "Missing") {
      const there = yield* kept.stateOf(org, owner, thread.id)
      return yield* there === undefined || isContinuable(there.state)
        ? previousNotFound(thread.id)
        : previousUnended(thread.id, there.state)
    }
    if (thread._tag === "TooLong") return yield* bodyTooLarge(bodyMaxBytes)
    if (thread.responses.some(({ api }) => api !== undefined)) return yield* previousNotFound(previous)
    const [first] = thread.responses
    const earlier = first === undefined ? [] : yield* earlierItems(org, owner, first)
    if (earlier === undefined) return yield* previousNotFound(previous)
    return [
      ...earlier.map(({ text }) => text),
      ...thread.responses.flatMap(({ input, response }) => [...input, ...outputItems(response)]),
    ]
  })

  const itemsIn = Effect.fnUntraced(function* (
    org: Org,
    owner: KeptOwner,
    conversation: string,
  ): Effect.fn.Return<ReadonlyArray<ConversationItem>, ContinueError> {
    if ((yield* conversations.find(org, owner, conversation)) === undefined) {
      return yield* conversationNotFound(conversation)
    }
    const items = (yield* conversationItems.all(org, conversation, bodyMaxBytes)) ?? (yield* bodyTooLarge(bodyMaxBytes))
    return items.length < mostConversationItems ? items : yield* conversationFull
  })

  /** The texts of referenced items, by their ids. */
  const referenced = Effect.fnUntraced(function* (
    org: Org,
    owner: KeptOwner,
    ids: ReadonlyArray<string>,
  ): Effect.fn.Return<ReadonlyMap<string, string>, ContinueError> {
    if (ids.length > mostReferences) {
      return yield* invalidInput([{ path: "input", message: `has more than ${mostReferences} references to items` }])
    }
    const odd = ids.find((id) => !isItemId(id))
    if (odd !== undefined) return yield* itemNotFound(odd)
    const byVendor = yield* kept.ofItems(
      org,
      owner,
      ids.filter((id) => responseOfItem(id) === undefined),
    )
    const byResponse = Map.groupBy(ids, (id) => responseOfItem(id) ?? byVendor.get(id) ?? "")
    byResponse.delete("")
    if (byResponse.size > mostReferenced) {
      return yield* invalidInput([
        { path: "input", message: `references items of more than ${mostReferenced} responses` },
      ])
    }
    const texts = new Map<string, string>()
    let left = bodyMaxBytes
    const take = (id: string, text: string) => {
      if (texts.has(id)) return
      texts.set(id, text)
      left -= text.length
    }
    // One after the other: each may be as large as a body.
    for (const [responseId, asked] of byResponse) {
      const response = yield* kept.find(org, owner, responseId)
      if (response !== undefined) for (const [id, text] of itemsOf(response, asked)) take(id, text)
      if (left < 0) return yield* bodyTooLarge(bodyMaxBytes)
    }
    const others = ids.filter((id) => !texts.has(id))
    const named = yield* conversationItems.named(org, owner, others, left)
    if (named === undefined) return yield* bodyTooLarge(bodyMaxBytes)
    for (const { id, text } of named) take(id, text)
    return texts
  })

  /** The request with the items that it stands for. */
  const continued = Effect.fnUntraced(function* (
    { org, ...caller }: Caller,
    body: Uint8Array,
  ): Effect.fn.Return<ContinuedRequest, ContinueError> {
    const alone = { body, from: 0, previous: undefined }
    if (!namesOthers([body])) return alone
    const parsed = parseBody(body)
    const json = Result.isSuccess(parsed) && isObject(parsed.success) ? parsed.success : undefined
    if (json === undefined) return alone
    const { previous_response_id: previous, input, background: isBackground, store, stream } = json
    const isContinued = typeof previous === "string"
    const named = conversationIdIn(json["conversation"])
    const mentioned = Array.isArray(input) ? input.flatMap((item) => referenceIn(item) ?? []) : []
    if (!isAbsent(previous) && !isContinued) {
      return yield* invalidInput([{ path: "previous_response_id", message: "must be a string" }])
    }
    if (named._tag === "Odd") return yield* oddConversation
    if (!isAbsent(isBackground) && typeof isBackground !== "boolean") return yield* oddBackground
    const { conversation } = named
    const isConversing = conversation !== undefined
    const [referencedId] = mentioned
    if (org.keeps?.responses === undefined) {
      if (isContinued) return yield* previousNotFound(previous)
      if (isConversing) return yield* nothingKept("conversation", "send the thread")
      if (isBackground === true) return yield* nothingKept("background", "wait for the reply")
      return referencedId === undefined ? alone : yield* itemNotKept(referencedId)
    }
    const unnamed = Array.isArray(input) ? input.findIndex(isUnnamed) : -1
    if (unnamed >= 0) return yield* invalidInput([{ path: `input.${unnamed}.id`, message: "a string is required" }])
    if (isConversing && isContinued) return yield* conversationAlone
    if (isConversing && store === false) return yield* conversationNeedsStore
    if (isBackground === true && store === false) return yield* backgroundNeedsStore
    if (!isContinued && !isConversing && mentioned.length === 0 && isBackground !== true) return alone
    const owner = ownerOf({ org, ...caller })
    const earlier = isConversing ? yield* itemsIn(org, owner, conversation) : []
    const history = isContinued ? yield* historyOf(org, owner, previous) : earlier.map(({ text }) => text)
    const there = new Set(earlier.map(({ id }) => id))
    const ids = mentioned.filter((id) => !there.has(id))
    const texts = ids.length === 0 ? noTexts : yield* referenced(org, owner, ids)
    const missing = ids.find((id) => !texts.has(id))
    if (missing !== undefined) return yield* itemNotFound(missing)
    const known = new Set(history)
    const own = inputItems(body).flatMap((text, at) => {
      const id = Array.isArray(input) ? referenceIn(input[at]) : undefined
      if (id !== undefined && there.has(id)) return []
      const item = id === undefined ? undefined : texts.get(id)
      if (item === undefined) return [text]
      // SDKs reference items of the thread that they continue, and some items twice.
      if (known.has(item)) return []
      known.add(item)
      return [item]
    })
    const items = { path: ["input"], json: `[${[...history, ...own].join(",")}]` }
    const whole = editJson(body, [
      ...(previous === undefined ? [] : [cut("previous_response_id")]),
      ...(isConversing ? [cut("conversation")] : []),
      ...(isBackground === true ? [cut("background"), set(true, "stream")] : []),
      items,
    ])
    if (whole.length > bodyMaxBytes) return yield* bodyTooLarge(bodyMaxBytes)
    return {
      body: whole,
      from: history.length,
      previous: isContinued ? previous : undefined,
      conversation,
      background: isBackground === true ? { isStreamed: stream === true } : undefined,
    }
  })
  const reading = yield* Semaphore.make(mostThreads)
  /** Nothing is read for a caller whose rates have no room; a request that is refused here counts as any other. */
  return (caller: Caller, body: Uint8Array): Effect.Effect<ContinuedRequest, ContinueError | AdmissionError> => {
    const read = Effect.flatMap(reading.withPermit(continued(caller, body)), (request) =>
      Effect.map(openSummaries(caller.org, request.body), (whole) => ({ ...request, body: whole })),
    )
    if (!namesOthers([body])) return read
    const counted = Effect.suspend(() => gate.admit(plainRequest(caller)))
    return Effect.andThen(
      gate.look(callerLimits(caller, { ...noDemand, tokens: 1 })),
      Effect.tapError(read, () => Effect.ignore(counted)),
    )
  }
})

const noTexts: ReadonlyMap<string, string> = new Map()

/** The items of a response among those that are asked for. */
const itemsOf = (
  { input, response }: KeptResponse,
  ids: ReadonlyArray<string>,
): ReadonlyArray<readonly [id: string, text: string]> => {
  const byId = new Map<unknown, string>()
  for (const text of [...input, ...outputItems(response)]) byId.set(parseObject(text)?.["id"], text)
  return ids.flatMap((id) => {
    const number = inputNumber(id)
    const text = byId.get(id) ?? (number === undefined ? undefined : input[number])
    return text === undefined ? [] : [[id, text] as const]
  })
}

/** Source: the error of OpenAI's API for an id that it does not know. */
const previousNotFound = (id: string) => {
  const message = `Previous response with id '${id.slice(0, 128)}' not found.`
  const issues = [{ path: "previous_response_id", message }]
  return serviceError("bad_request", message, { detail: { reason: "previous_response_not_found", issues } })
}

const isContinuable = (state: ResponseState): boolean => state === "completed" || state === "incomplete"

/** A response that runs, or has ended without a reply. */
const previousUnended = (id: string, state: ResponseState) => {
  const isRunning = state === "queued" || state === "in_progress"
  const why = isRunning
    ? "is still in progress: continue it when it has ended"
    : `has ${ended[state]}: nothing continues it`
  return invalidInput([{ path: "previous_response_id", message: `the response ${id.slice(0, 128)} ${why}` }])
}
const ended: Readonly<Partial<Record<ResponseState, string>>> = { failed: "failed", cancelled: "been cancelled" }

type NamedConversation =
  | { readonly _tag: "Named"; readonly conversation: string | undefined }
  | { readonly _tag: "Odd" }

/** `conversation` in a request: an id, or an object with it. */
const conversationIdIn = (value: unknown): NamedConversation => {
  if (isAbsent(value)) return { _tag: "Named", conversation: undefined }
  const id = isObject(value) ? value["id"] : value
  return typeof id === "string" ? { _tag: "Named", conversation: id } : { _tag: "Odd" }
}

const oddConversation = invalidInput([
  { path: "conversation", message: "must be the id of a conversation, or an object with it as `id`" },
])

const oddBackground = invalidInput([{ path: "background", message: "must be true or false" }])

/** A field that only organisations have that keep responses. */
const nothingKept = (path: string, instead: string) =>
  invalidInput([{ path, message: `the organisation keeps no responses: ${instead}` }])

const isUnnamed = (item: unknown): boolean =>
  isObject(item) && item["type"] === "item_reference" && typeof item["id"] !== "string"

const conversationAlone = invalidInput([
  { path: "conversation", message: "cannot be used together with previous_response_id" },
])

const conversationNeedsStore = invalidInput([
  { path: "store", message: "must not be false: the conversation keeps the items of the response" },
])

const backgroundNeedsStore = invalidInput([
  { path: "store", message: "must not be false: a response in the background is read later" },
])

/** Source: the error of OpenAI's API, which SDKs look for. */
const notPersisted = (id: string, instead: string) => {
  const message = `Item with id '${id.slice(0, 128)}' not found. Items are not persisted when \`store\` is set to false. ${instead}`
  return serviceError("bad_request", message, { detail: { issues: [{ path: "input", message }] } })
}
const itemNotFound = (id: string) =>
  notPersisted(id, "Try again with `store` set to true, or remove this item from your input.")
const itemNotKept = (id: string) =>
  notPersisted(id, "The organisation keeps no responses: send the item itself, as SDKs do with store: false.")
