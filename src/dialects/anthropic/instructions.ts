/**
 * Messages of the role `system` in a thread. All models have the top-level `system`; newer ones take instructions in the thread
 * too, behind what a user says and before what the model says. Source:
 * https://platform.claude.com/docs/en/build-with-claude/mid-conversation-system-messages
 */
import { cut, type JsonEdit, set } from "../../protocol/json/json-edit.ts"
import type { InstructionPlace, SentInstructions } from "../carry/carried-request.ts"
import type { VendorRequest } from "../chat-dialect.ts"
import { isObject, type JsonObject } from "../parse/json.ts"
import { makersName } from "../vendor/family.ts"
import { claudeVersion } from "./thinking.ts"

export const instructionDocs = "https://platform.claude.com/docs/en/build-with-claude/mid-conversation-system-messages"

/** The positions of messages by their roles; undefined for those that are no instructions. */
export const instructionPlaces = (roles: ReadonlyArray<string>): ReadonlyArray<InstructionPlace | undefined> => {
  const before = othersBefore(roles)
  const after = othersBefore(roles.toReversed()).toReversed()
  return roles.map((role, at) => {
    if (role !== "system") return undefined
    if (before[at] === undefined) return "first"
    if (before[at] === "user") return after[at] === "user" ? "elsewhere" : "after a user"
    return after[at] === undefined ? "at the end" : "elsewhere"
  })
}

/** The role of the last message before each that is no instruction. */
const othersBefore = (roles: ReadonlyArray<string>): ReadonlyArray<string | undefined> => {
  let last: string | undefined
  return roles.map((role) => {
    const before = last
    if (role !== "system") last = role
    return before
  })
}

type Named = Pick<VendorRequest, "model" | "family">

/** Opus 4.8 and models from 5 on, but for Sonnet 5. */
export const takesInstructions = (request: Named): boolean => {
  const version = claudeVersion(request)
  return version >= 4.8 && !(version === 5 && makersName(request).includes("sonnet"))
}

/** Undefined if no message has the role. */
export const sentInstructions = (body: JsonObject): SentInstructions | undefined => {
  const messages = Array.isArray(body["messages"]) ? body["messages"].filter(isObject) : []
  const places = instructionPlaces(messages.map(({ role }) => String(role)))
  const found = messages.flatMap(({ content }, at) => {
    const place = places[at]
    return place === undefined ? [] : [{ path: ["messages", at], place, content: blocksIn(content) }]
  })
  return found.length === 0 ? undefined : { system: blocksIn(body["system"]), messages: found }
}

const blocksIn = (content: unknown): ReadonlyArray<unknown> => {
  if (typeof content === "string") return content.trim() === "" ? [] : [{ type: "text", text: content }]
  return Array.isArray(content) ? content : []
}

/** The instructions that the model takes at their position; a model that is not known keeps those that some models take. */
export const instructionEdits = (
  request: Named,
  sent: SentInstructions | undefined,
  isCloud: boolean,
): ReadonlyArray<JsonEdit> => {
  if (sent === undefined) return []
  const isKnown = claudeVersion(request) > 0
  const staysInPlace = !isKnown || (takesInstructions(request) && !isCloud)
  const moved = sent.messages.filter(({ place }) => {
    if (place === "first") return true
    return place === "after a user" ? !staysInPlace : isKnown && place === "elsewhere"
  })
  const last = isKnown ? sent.messages.filter(({ place }) => place === "at the end") : []
  return [
    ...last.map(({ path }) => set("user", ...path, "role")),
    ...moved.map(({ path }) => cut(...path)),
    ...(moved.length === 0 ? [] : [set([...sent.system, ...moved.flatMap(({ content }) => content)], "system")]),
  ]
}
