/** Responses of a vendor, for clients of the same API. */
import { editJsonText, type JsonEdit, type JsonPath, set } from "../../protocol/json/json-edit.ts"
import { type MakeRules, replyEdits } from "../carry/carried-reply.ts"
import type { ReplyContext } from "../client/client-api.ts"
import { isObject } from "../parse/json.ts"
import { conversationIn, responseId } from "./response-object.ts"

const editsOf = (context: ReplyContext, ...path: JsonPath): ReadonlyArray<JsonEdit> => {
  const { model, kept } = context
  const edits = replyEdits({ id: responseId(context), model }, ...path)
  if (kept === undefined) return edits
  const { conversation } = conversationIn(context)
  return [
    ...edits,
    set(true, ...path, "store"),
    set(kept.previous ?? null, ...path, "previous_response_id"),
    ...(kept.isBackground ? [set(true, ...path, "background")] : []),
    ...(conversation === undefined ? [] : [set(conversation, ...path, "conversation")]),
  ]
}

export const carriedResponse = (context: ReplyContext, json: string): string => editJsonText(json, editsOf(context))

/** Events with the whole response in them. */
const ofResponse: ReadonlySet<string> = new Set([
  "response.created",
  "response.queued",
  "response.in_progress",
  "response.completed",
  "response.incomplete",
])

export const responseRules: MakeRules = (context) => ({
  isPlain: (name) => name !== undefined && !ofResponse.has(name),
  edit: (event) => {
    const isEnd = event["type"] === "response.completed" || event["type"] === "response.incomplete"
    const { response } = event
    const edits = isObject(response) ? editsOf(context, "response") : []
    return { edits, isHeld: isEnd, tellsCharge: isEnd }
  },
})
