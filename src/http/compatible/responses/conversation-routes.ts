/** `/openai/v1/conversations`: lists of items that responses continue. */
import { Effect } from "effect"
import { HttpRouter, HttpServerResponse } from "effect/http"
import { Gate } from "../../../admission/gate.ts"
import { plainRequest } from "../../../admission/rates/caller-limits.ts"
import { WeirConfig } from "../../../config.ts"
import { chatApi } from "../../../dialects/openai-chat/client.ts"
import { conversationItem } from "../../../dialects/openai-responses/items.ts"
import type { Caller } from "../../../identity/caller.ts"
import type { ConversationItem } from "../../../kept-responses/conversation.ts"
import { ConversationItems } from "../../../kept-responses/conversation-items.ts"
import { type Conversation, Conversations } from "../../../kept-responses/conversations.ts"
import { ownerOf } from "../../../kept-responses/kept-response.ts"
import { serviceError } from "../../../protocol/error.ts"
import { invalidInput } from "../../../protocol/json/issues.ts"
import { type Authenticated, fromRouter } from "../../caller-request.ts"
import { LargeRequests } from "../../large/large-requests.ts"
import { takeRoom } from "../../large/take-room.ts"
import type { RouteError } from "../../respond.ts"
import { makeAnswerIn } from "../reply.ts"
import { readConversationBody } from "./conversation-body.ts"
import { conversationFull, conversationNotFound, tooManyConversations } from "./conversation-errors.ts"
import { keptFor } from "./keeping.ts"
import { decodeQuery, ListQuery, listReply, unknownAfter } from "./list-query.ts"

interface Names {
  readonly id: string
  readonly item: string
}

type Answer = (call: Authenticated, names: Names) => Effect.Effect<HttpServerResponse.HttpServerResponse, RouteError>

export const conversationRoutes = HttpRouter.use(
  Effect.fnUntraced(function* (router) {
    const conversations = yield* Conversations
    const conversationItems = yield* ConversationItems
    const { bodyMaxBytes } = yield* WeirConfig
    const answerIn = yield* makeAnswerIn
    const gate = yield* Gate
    const large = yield* LargeRequests

    /** The conversation, and the time for which changes of it are kept. */
    const find = Effect.fnUntraced(function* (caller: Caller, id: string) {
      const ms = keptFor(caller)
      if (ms === undefined) return yield* nothingKept("not_found")
      const conversation = yield* conversations.find(caller.org, ownerOf(caller), id)
      return conversation === undefined ? yield* conversationNotFound(id) : { conversation, ms }
    })

    const create: Answer = Effect.fnUntraced(function* ({ caller, body }) {
      const ms = keptFor(caller)
      if (ms === undefined) return yield* nothingKept("bad_request")
      const { metadata = {}, items = [] } = yield* Effect.fromResult(readConversationBody(body, ["metadata", "items"]))
      const conversation = yield* conversations.create(caller.org, ownerOf(caller), metadata, items, ms)
      return conversation === undefined ? yield* tooManyConversations : shown(conversation)
    })

    const retrieve: Answer = ({ caller }, { id }) =>
      Effect.map(find(caller, id), ({ conversation }) => shown(conversation))

    const update: Answer = Effect.fnUntraced(function* ({ caller, body }, { id }) {
      const { conversation, ms } = yield* find(caller, id)
      const { metadata } = yield* Effect.fromResult(readConversationBody(body, ["metadata"]))
      if (metadata === undefined) return yield* invalidInput([{ path: "metadata", message: "is required" }])
      if (!(yield* conversations.update(caller.org, id, metadata, ms))) return yield* conversationNotFound(id)
      return shown({ ...conversation, metadata })
    })

    const remove: Answer = Effect.fnUntraced(function* ({ caller }, { id }) {
      const isRemoved = yield* conversations.remove(caller.org, ownerOf(caller), id)
      if (!isRemoved) return yield* keptFor(caller) === undefined ? nothingKept("not_found") : conversationNotFound(id)
      return HttpServerResponse.jsonUnsafe({ id, object: "conversation.deleted", deleted: true })
    })

    const addItems: Answer = Effect.fnUntraced(function* ({ caller, body }, { id }) {
      const { ms } = yield* find(caller, id)
      const { items } = yield* Effect.fromResult(readConversationBody(body, ["items"]))
      if (items === undefined) return yield* invalidInput([{ path: "items", message: "is required" }])
      const addition = yield* conversationItems.append(caller.org, id, items, ms)
      if (addition === "missing") return yield* conversationNotFound(id)
      if (addition === "full") return yield* conversationFull
      return listReply(items.map(shownItem), false)
    })

    const listItems: Answer = Effect.fnUntraced(function* (call, { id }) {
      const query = yield* decodeQuery(ListQuery, call)
      yield* find(call.caller, id)
      const page = yield* conversationItems.list(call.caller.org, id, query)
      return page === undefined ? yield* unknownAfter : listReply(page.items.map(shownItem), page.hasMore)
    })

    const retrieveItem: Answer = Effect.fnUntraced(function* ({ caller }, { id, item }) {
      yield* find(caller, id)
      const found = yield* conversationItems.item(caller.org, id, item)
      return found === undefined ? yield* itemNotFound(item) : HttpServerResponse.jsonUnsafe(shownItem(found))
    })

    const removeItem: Answer = Effect.fnUntraced(function* ({ caller }, { id, item }) {
      const { conversation } = yield* find(caller, id)
      return (yield* conversationItems.removeItem(caller.org, id, item))
        ? shown(conversation)
        : yield* itemNotFound(item)
    })

    const add = (method: "GET" | "DELETE", path: `/${string}`, answer: Answer) =>
      router.add(method, path, (request) =>
        Effect.flatMap(HttpRouter.params, ({ id = "", item = "" }) =>
          answerIn(chatApi, fromRouter(request), (call) => answer(call, { id, item }), bodyMaxBytes),
        ),
      )
    /** Requests with a body take room for it, and count in the caller's rates as calls do. */
    const addCounted = (path: `/${string}`, answer: Answer) =>
      router.add("POST", path, (request) =>
        Effect.flatMap(HttpRouter.params, ({ id = "", item = "" }) => {
          const sent = fromRouter(request)
          const counted = (call: Authenticated) =>
            Effect.andThen(gate.admit(plainRequest(call.caller)), answer(call, { id, item }))
          return Effect.scoped(answerIn(chatApi, sent, counted, bodyMaxBytes, takeRoom(large, sent)))
        }),
      )

    yield* addCounted("/openai/v1/conversations", create)
    yield* add("GET", "/openai/v1/conversations/:id", retrieve)
    yield* addCounted("/openai/v1/conversations/:id", update)
    yield* add("DELETE", "/openai/v1/conversations/:id", remove)
    yield* addCounted("/openai/v1/conversations/:id/items", addItems)
    yield* add("GET", "/openai/v1/conversations/:id/items", listItems)
    yield* add("GET", "/openai/v1/conversations/:id/items/:item", retrieveItem)
    yield* add("DELETE", "/openai/v1/conversations/:id/items/:item", removeItem)
  }),
)

const shown = ({ id, metadata, createdAt }: Conversation) =>
  HttpServerResponse.jsonUnsafe({
    id,
    object: "conversation",
    created_at: Math.floor(createdAt.getTime() / 1000),
    metadata,
  })

const shownItem = ({ id, text }: ConversationItem) => conversationItem(id, text)

const itemNotFound = (id: string) => serviceError("not_found", `Item with id '${id.slice(0, 128)}' not found.`)

const nothingKept = (code: "not_found" | "bad_request") =>
  serviceError(code, "This organisation keeps no responses, so it has no conversations: send the whole thread instead")
