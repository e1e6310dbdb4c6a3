/** Responses of a vendor, for clients of the same API. */
import { editJsonText, type JsonEdit, type JsonPath } from "../../protocol/json-edit.ts"
import { accountEdits, type MakeRules, nameEdits } from "../carried-reply.ts"
import type { ReplyContext } from "../client-api.ts"
import { isObject } from "../json.ts"
import { responseId } from "./client-reply.ts"

const editsOf = (context: ReplyContext, ...path: JsonPath): Array<JsonEdit> => [
  ...nameEdits({ id: responseId(context), model: context.model }, ...path),
  ...accountEdits(...path),
]

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
