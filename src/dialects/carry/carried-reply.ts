/**
 * Replies of a vendor for clients of the same API: its frames and its bodies unchanged, except for the edits of each API's
 * `carried-reply.ts`. The billed usage is read from the same bytes. Pure.
 */
import { randomUUID } from "node:crypto"
import { Sse } from "effect/encoding"
import type { ErrorBody } from "../../protocol/error.ts"
import type { CloseEvent, Delta, OpenEvent, ToolResultDelta, WarnEvent } from "../../protocol/event.ts"
import { cut, editJsonText, type JsonEdit, type JsonPath, set } from "../../protocol/json/json-edit.ts"
import type { Usage } from "../../protocol/usage.ts"
import { chargeOf, type EventEncoder, type ReplyContext } from "../client/client-api.ts"
import { type JsonObject, parseObject } from "../parse/json.ts"
import { dataOf, nameOfEvent } from "../parse/sse-frames.ts"
import type { TextEnvelope, VendorFrame } from "./vendor-frame.ts"

/** A frame for the client. */
interface WrittenFrame {
  readonly name?: string | undefined
  readonly json: string
}

/** The edits of a frame, and the time when it is written. */
export interface FrameEdits {
  readonly edits: ReadonlyArray<JsonEdit>
  /** Whether it is written only after the settlement. */
  readonly isHeld?: boolean
  /** Whether it contains the charge. */
  readonly tellsCharge?: boolean
}

/** The editor of an API's frames; one for each stream. */
export interface FrameRules {
  /** Whether frames of a name are written unchanged. */
  readonly isPlain?: (name: string | undefined) => boolean
  /** Undefined if it is left out. */
  readonly edit: (frame: JsonObject) => FrameEdits | undefined
  /** A frame with the usage, if the client waits for one and the vendor has sent none. */
  readonly usage?: (usage: Usage) => string
  /** The end of a stream, after its last frame. */
  readonly last?: string
  /** Server-sent events if absent. @param isFirst of the stream */
  readonly write?: (frame: WrittenFrame, isFirst: boolean) => string
}

/** Members about the vendor's account. */
const ofAccount = ["billing", "organization", "organization_id", "project_id", "workspace_id"]

/**
 * The edits of a reply: it gets the client's names, and loses the members about the vendor's account.
 * @param path the path of the object that has them
 */
export const replyEdits = (names: Readonly<Record<string, string>>, ...path: JsonPath): ReadonlyArray<JsonEdit> => [
  ...Object.entries(names).map(([name, value]) => set(value, ...path, name)),
  ...ofAccount.map((name) => cut(...path, name)),
]

/** Writes a vendor's frames, or else the events of a translated reply. */
export class CarriedEvents implements EventEncoder {
  readonly heartbeat: string
  readonly contentType?: string
  readonly toolResult?: NonNullable<EventEncoder["toolResult"]>
  readonly #translated: EventEncoder
  readonly #makeRules: () => FrameRules
  /** They are made with the first frame: a translated reply, and a whole one, need none. */
  #rules: FrameRules | undefined
  #isFirst = true
  #template: Template | undefined
  /** Frames that come after the settlement. */
  readonly #held: Array<WrittenFrame & { readonly tellsCharge: boolean }> = []

  constructor(translated: EventEncoder, makeRules: () => FrameRules) {
    this.#translated = translated
    this.#makeRules = makeRules
    this.heartbeat = translated.heartbeat
    if (translated.contentType !== undefined) this.contentType = translated.contentType
    const toolResult = (delta: ToolResultDelta) => translated.toolResult?.(delta) ?? ""
    if (translated.toolResult !== undefined) this.toolResult = toolResult
  }

  open(data: typeof OpenEvent.Type): string {
    return this.#translated.open(data)
  }

  delta(delta: Delta, json?: string): string {
    return this.#rules === undefined ? this.#translated.delta(delta, json) : ""
  }

  frame(frame: VendorFrame): string {
    this.#rules ??= this.#makeRules()
    return frame.envelope === undefined
      ? this.#one(this.#rules, frame)
      : this.#repeated(this.#rules, frame.envelope, frame.json)
  }

  warn(data: WarnEvent): string {
    return this.#translated.warn(data)
  }

  usage(data: Usage): string {
    return this.#translated.usage(data)
  }

  close(data: typeof CloseEvent.Type): string {
    const held = this.#held
    const rules = this.#rules
    if (rules === undefined || held.length === 0) return this.#translated.close(data)
    const { usage, last = "" } = rules
    const place = held.findLastIndex(({ tellsCharge }) => tellsCharge)
    const charge = set(chargeOf(data.usage), "x_svc")
    const ends = held.map(({ name, json }, at) =>
      this.#write(rules, { name, json: at === place ? editJsonText(json, [charge]) : json }),
    )
    return `${ends.join("")}${place === -1 ? (usage?.(data.usage) ?? "") : ""}${last}`
  }

  error(data: ErrorBody): string {
    return this.#translated.error(data)
  }

  #one(rules: FrameRules, { name, json }: WrittenFrame): string {
    if (rules.isPlain?.(name) === true) return this.#write(rules, { name, json })
    const frame = parseObject(json)
    const edits = frame && rules.edit(frame)
    if (edits === undefined) return ""
    const written = { name, json: editJsonText(json, edits.edits) }
    if (edits.isHeld !== true) return this.#write(rules, written)
    this.#held.push({ ...written, tellsCharge: edits.tellsCharge === true })
    return ""
  }

  /** A frame with the same bytes as one before it, except for its text. */
  #repeated(rules: FrameRules, envelope: TextEnvelope, text: string): string {
    if (this.#template?.envelope !== envelope) this.#template = this.#learn(rules, envelope)
    const { parts, name, json } = this.#template
    return parts === undefined
      ? this.#one(rules, { name, json: json.replace(placeholder, () => text) })
      : parts[0] + text + parts[1]
  }

  #learn(rules: FrameRules, envelope: TextEnvelope): Template {
    // The quotes of the text are a part of the envelope.
    const frame = frameIn(envelope.before.slice(0, -1) + placeholder + envelope.after.slice(1))
    const held = this.#held.length
    const written = this.#one(rules, frame)
    const [before, after] = written.split(placeholder)
    if (held !== this.#held.length) this.#held.pop()
    return { envelope, ...frame, parts: before === undefined || after === undefined ? undefined : [before, after] }
  }

  #write(rules: FrameRules, frame: WrittenFrame): string {
    const isFirst = this.#isFirst
    this.#isFirst = false
    return rules.write?.(frame, isFirst) ?? sseFrame(frame)
  }
}

/** A placeholder for a text in JSON; no vendor can know it. */
const placeholder = `"${randomUUID()}"`

interface Template extends WrittenFrame {
  readonly envelope: TextEnvelope
  /** The written text before and after the frame's own; undefined if the frame is edited otherwise. */
  readonly parts: readonly [before: string, after: string] | undefined
}

/** The frame from its text. */
const frameIn = (text: string): WrittenFrame => {
  let found: WrittenFrame = { json: "" }
  const parser = Sse.makeParser((event) => {
    if (event._tag === "Event") found = { name: nameOfEvent(event.event), json: event.data }
  })
  parser.feed(text)
  return found
}

const sseFrame = ({ name, json }: WrittenFrame): string =>
  `${name === undefined ? "" : `event: ${name}\n`}data: ${dataOf(json)}\n\n`

export type MakeRules = (context: ReplyContext) => FrameRules
