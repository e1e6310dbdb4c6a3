/**
 * Replies of a vendor for clients of the same API: its frames and its bodies as they came, with the edits of each API's
 * `carried-reply.ts`. What is billed is read from the same bytes beside it. Pure.
 */
import { randomUUID } from "node:crypto"
import type { ErrorBody } from "../protocol/error.ts"
import type { CloseEvent, Delta, OpenEvent, WarnEvent } from "../protocol/event.ts"
import { cut, editJsonText, type JsonEdit, type JsonPath, set } from "../protocol/json-edit.ts"
import type { Usage } from "../protocol/usage.ts"
import { chargeOf, type EventEncoder, type ReplyContext } from "./client-api.ts"
import { isObject, type JsonObject, parseObject } from "./json.ts"
import type { TextEnvelope, VendorFrame } from "./vendor-frame.ts"

/** A frame for the client. */
interface WrittenFrame {
  readonly name?: string | undefined
  readonly json: string
}

/** What becomes of a frame. */
export interface FrameEdits {
  readonly edits: ReadonlyArray<JsonEdit>
  /** Whether it comes after the settlement only. */
  readonly isHeld?: boolean
  /** Whether the charge stands in it. */
  readonly tellsCharge?: boolean
}

/** How an API's frames are edited; one for each stream. */
export interface FrameRules {
  /** Whether frames of a name are written as they came. */
  readonly isPlain?: (name: string | undefined) => boolean
  /** Undefined if it is left out. */
  readonly edit: (frame: JsonObject) => FrameEdits | undefined
  /** A frame with the usage, where the client waits for one and the vendor has sent none. */
  readonly usage?: (usage: Usage) => string
  /** What ends a stream. */
  readonly last?: string
  /** Server-sent events if absent. @param isFirst of the stream */
  readonly write?: (frame: WrittenFrame, isFirst: boolean) => string
}

/** Members that tell of the vendor's account. */
const ofAccount = ["billing", "organization", "organization_id", "project_id", "workspace_id"]

/** Takes out what tells of the vendor's account. @param path of the object that has it */
export const accountEdits = (...path: JsonPath): Array<JsonEdit> => ofAccount.map((name) => cut(...path, name))

/** The names by which a client knows a reply and its model. @param path of the object that has them */
export const nameEdits = (names: Readonly<Record<string, string>>, ...path: JsonPath): Array<JsonEdit> =>
  Object.entries(names).map(([name, value]) => set(value, ...path, name))

/** Writes a vendor's frames, or else the events of a translated reply. */
export class CarriedEvents implements EventEncoder {
  readonly heartbeat: string
  readonly contentType?: string
  readonly #translated: EventEncoder
  readonly #rules: FrameRules
  #isCarried = false
  #isFirst = true
  #template: Template | undefined
  /** Frames that come after the settlement. */
  readonly #held: Array<WrittenFrame & { readonly tellsCharge: boolean }> = []

  constructor(translated: EventEncoder, rules: FrameRules) {
    this.#translated = translated
    this.#rules = rules
    this.heartbeat = translated.heartbeat
    if (translated.contentType !== undefined) this.contentType = translated.contentType
  }

  open(data: typeof OpenEvent.Type): string {
    return this.#translated.open(data)
  }

  delta(delta: Delta, json?: string): string {
    return this.#isCarried ? "" : this.#translated.delta(delta, json)
  }

  frame(frame: VendorFrame): string {
    this.#isCarried = true
    return frame.envelope === undefined ? this.#one(frame) : this.#repeated(frame.envelope, frame.json)
  }

  warn(data: WarnEvent): string {
    return this.#translated.warn(data)
  }

  usage(data: Usage): string {
    return this.#translated.usage(data)
  }

  close(data: typeof CloseEvent.Type): string {
    const held = this.#held
    if (!this.#isCarried || held.length === 0) return this.#translated.close(data)
    const { usage, last = "" } = this.#rules
    const place = held.findLastIndex(({ tellsCharge }) => tellsCharge)
    const charge = set(chargeOf(data.usage), "x_svc")
    const ends = held.map(({ name, json }, at) =>
      this.#write({ name, json: at === place ? editJsonText(json, [charge]) : json }),
    )
    return `${ends.join("")}${place === -1 ? (usage?.(data.usage) ?? "") : ""}${last}`
  }

  error(data: ErrorBody): string {
    return this.#translated.error(data)
  }

  #one({ name, json }: WrittenFrame): string {
    if (this.#rules.isPlain?.(name) === true) return this.#write({ name, json })
    const frame = parseObject(json)
    const edits = frame && this.#rules.edit(frame)
    if (edits === undefined) return ""
    const written = { name, json: editJsonText(json, edits.edits) }
    if (edits.isHeld !== true) return this.#write(written)
    this.#held.push({ ...written, tellsCharge: edits.tellsCharge === true })
    return ""
  }

  /** A frame that has the bytes of one before it, except for its text. */
  #repeated(envelope: TextEnvelope, text: string): string {
    if (this.#template?.envelope !== envelope) this.#template = this.#learn(envelope)
    const { parts, name, json } = this.#template
    return parts === undefined
      ? this.#one({ name, json: json.replace(placeholder, () => text) })
      : parts[0] + text + parts[1]
  }

  #learn(envelope: TextEnvelope): Template {
    // The quotes of the text are the envelope's.
    const frame = frameIn(envelope.before.slice(0, -1) + placeholder + envelope.after.slice(1))
    const held = this.#held.length
    const written = this.#one({ ...frame, json: frame.json })
    const [before, after] = written.split(placeholder)
    if (held !== this.#held.length) this.#held.pop()
    return { envelope, ...frame, parts: before === undefined || after === undefined ? undefined : [before, after] }
  }

  #write(frame: WrittenFrame): string {
    const isFirst = this.#isFirst
    this.#isFirst = false
    return this.#rules.write?.(frame, isFirst) ?? sseFrame(frame)
  }
}

/** Stands for a text in JSON; no vendor can know it. */
const placeholder = `"${randomUUID()}"`

interface Template extends WrittenFrame {
  readonly envelope: TextEnvelope
  /** What stands before and after the text; undefined if the frame is not written as it comes. */
  readonly parts: readonly [before: string, after: string] | undefined
}

const frameIn = (text: string): WrittenFrame => {
  let name: string | undefined
  const data: Array<string> = []
  for (const line of text.split(/\r?\n/)) {
    if (line.startsWith("event:")) name = line.slice("event:".length).trim()
    else if (line.startsWith("data:")) data.push(line.slice("data:".length).replace(/^ /, ""))
  }
  return { name, json: data.join("\n") }
}

const sseFrame = ({ name, json }: WrittenFrame): string => {
  const data = json.includes("\n") ? json.split("\n").join("\ndata: ") : json
  return name === undefined ? `data: ${data}\n\n` : `event: ${name}\ndata: ${data}\n\n`
}

/** An object in a frame; empty if there is none. */
export const partOf = (frame: JsonObject, name: string): JsonObject => {
  const part = frame[name]
  return isObject(part) ? part : {}
}

export type MakeRules = (context: ReplyContext) => FrameRules
