/**
 * A client's messages of a session with Google's Live API, after the first one. Pure. A message has exactly one of the known
 * fields; its other fields go on, and the vendor judges them. Source: https://ai.google.dev/api/live#client-messages
 */
import { isObject, type JsonObject, parseObject } from "../parse/json.ts"
import type { ClientEvent, EventRefusal, SessionLimits } from "../realtime-dialect.ts"
import { addedBy } from "./added.ts"
import { fieldAt, formIn, twiceIn } from "./fields.ts"
import { soundBytes } from "./sound.ts"

const type = '"(?:mimeType|mime_type)"\\s*:\\s*"audio/pcm(?:;rate=(\\d{4,5}))?"'
const data = '"data"\\s*:\\s*"([A-Za-z0-9+/_-]*={0,2})"'
/** Sound and nothing else: it is forwarded unchanged. */
const plainSound = new RegExp(
  `^\\s*\\{\\s*"(?:realtimeInput|realtime_input)"\\s*:\\s*\\{\\s*"audio"\\s*:\\s*\\{\\s*` +
    `(?:${type}\\s*,\\s*${data}|${data}\\s*,\\s*${type})\\s*\\}\\s*\\}\\s*\\}\\s*$`,
)

export const isPlainSound = (bytes: Buffer): boolean => plainSound.test(bytes.toString("latin1"))

export const readLiveMessage = (bytes: Buffer, limits: SessionLimits): ClientEvent => {
  const sound = plainSound.exec(bytes.toString("latin1"))
  if (sound !== null) {
    const [, rate, before, after, rateAfter] = sound
    const { length } = before ?? after ?? ""
    return { is: "audio", audioBytes: soundBytes(length, rate ?? rateAfter, "input"), sent: bytes }
  }
  const message = parseObject(bytes.toString("utf8"))
  if (message === undefined) return refuse({ message: "The message is not a JSON object" })
  const found = kinds.flatMap((name) => formIn(message, name) ?? [])
  const [name] = found
  if (name === undefined) return refuse(unknown(message))
  if (found.length > 1) return refuse({ message: `A message has one of ${found.join(", ")}`, param: name })
  const twice = twiceIn(message)
  if (twice !== undefined) return refuse({ message: `${twice} is given in two forms`, param: twice })
  const content = message[name]
  if (!isObject(content)) return refuse({ message: `${name} must be an object`, param: name })
  return eventOf(message, name, content, limits)
}

const kinds = ["setup", "clientContent", "realtimeInput", "toolResponse", "contextUpdate"] as const

const eventOf = (message: JsonObject, name: string, content: JsonObject, limits: SessionLimits): ClientEvent => {
  // The message is written again, because readers disagree on a key that comes twice.
  const sent = JSON.stringify(message)
  const added = addedBy(content)
  const common = { added, sent, maxOutTokens: undefined, eventId: undefined }
  switch (name) {
    case "setup":
      return refuse({ message: "setup must be the first message, and comes once", param: name })
    case "clientContent":
    case "client_content":
      return fieldAt(content, "turnComplete") === true
        ? { is: "respond", ...common }
        : { is: "added", added, sent, mayAnswer: false }
    case "contextUpdate":
    case "context_update": {
      const refusal = toolsRefusal(content, limits)
      if (refusal !== undefined) return refuse({ ...refusal, param: `${name}.${refusal.param}` })
      return { is: "update", ...common, inBytesPerSecond: undefined }
    }
    default:
      // The model begins again with a result, in the turn that it had begun.
      return { is: "added", added, sent, mayAnswer: true, begins: /^tool/.test(name) }
  }
}

const refuse = (refusal: EventRefusal): ClientEvent => ({ is: "refused", refusal })

const unknown = (message: JsonObject): EventRefusal => {
  const [name] = Object.keys(message)
  return name === undefined
    ? { message: "The message is empty" }
    : { message: `Unknown name "${name.slice(0, 64)}": Cannot find field.` }
}

/** Searches and code are billed beside tokens: a price list has no price for those of a session. */
export const toolsRefusal = (
  content: JsonObject,
  { hasTools }: Pick<SessionLimits, "hasTools">,
): { readonly message: string; readonly param: string } | undefined => {
  const tools = fieldAt(content, "tools")
  if (tools === undefined) return undefined
  if (!Array.isArray(tools)) return { message: "must be an array", param: "tools" }
  if (tools.length > 0 && !hasTools) return { message: "are not supported by this model", param: "tools" }
  const areFunctions = tools.every(
    (tool) => isObject(tool) && Object.keys(tool).every((name) => name === formIn(tool, "functionDeclarations")),
  )
  return areFunctions ? undefined : { message: "may only have functionDeclarations", param: "tools" }
}
