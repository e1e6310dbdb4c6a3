/**
 * The events of a stream under policies: text is written as soon as no match can begin in it any more, masks replace
 * what they find, and the marks of the request become its values again. A vendor's own frames are held or edited whole. All
 * events keep their order.
 */

import type { VendorFrame } from "../../dialects/carry/vendor-frame.ts"
import type { VendorEvent } from "../../dialects/chat-dialect.ts"
import type { EventEncoder } from "../../dialects/client/client-api.ts"
import type { JsonObject } from "../../dialects/parse/json.ts"
import type { ErrorBody } from "../../protocol/error.ts"
import type { CloseEvent, Delta, ImageDelta, OpenEvent, ToolResultDelta, WarnEvent } from "../../protocol/event.ts"
import type { JsonPath } from "../../protocol/json/json-edit.ts"
import type { Segment } from "../../protocol/kinds/transcription.ts"
import type { Usage } from "../../protocol/usage.ts"
import type { Channel } from "./channel.ts"
import { Channels } from "./channels.ts"
import { isOnlyText, isSameText, textOf, wholeAt, withText } from "./delta-texts.ts"
import {
  frameOf,
  frameWith,
  isStreamed,
  kindOf,
  type Leaf,
  leavesOf,
  nameOf,
  placeOf,
  repeats,
  withTexts,
} from "./frame-texts.ts"
import { editJsonTexts } from "./reply-blocks.ts"
import type { ReplyReview } from "./reply-review.ts"
import { type Piece, pieceOf, type Waiting, type WaitingDelta } from "./waiting.ts"

export class ReviewedEvents implements EventEncoder {
  readonly heartbeat: string
  readonly contentType?: string
  readonly trailers?: NonNullable<EventEncoder["trailers"]>
  readonly toolResult?: (delta: ToolResultDelta) => string
  readonly segment?: (segment: Segment) => string
  readonly picture?: (delta: typeof ImageDelta.Type) => string
  readonly sound?: NonNullable<EventEncoder["sound"]>
  readonly frame?: NonNullable<EventEncoder["frame"]>
  readonly #inner: EventEncoder
  readonly #review: ReplyReview
  readonly #channels: Channels
  #waiting: Array<Waiting> = []
  /** Whether the client gets the vendor's frames. */
  #isCarried = false

  constructor(inner: EventEncoder, review: ReplyReview) {
    this.#inner = inner
    this.#review = review
    this.#channels = new Channels(review)
    this.heartbeat = inner.heartbeat
    if (inner.contentType !== undefined) this.contentType = inner.contentType
    if (inner.trailers !== undefined) this.trailers = inner.trailers
    const sound: EventEncoder["sound"] = (bytes, mime) => inner.sound?.(bytes, mime) ?? ""
    const picture: EventEncoder["picture"] = (delta) => inner.picture?.(delta) ?? ""
    const segment = (each: Segment) => this.#segment(each)
    const frame: EventEncoder["frame"] = (each, events, at) => this.#frame(each, events, at)
    const toolResult = (delta: ToolResultDelta) => this.#toolResult(delta)
    if (inner.toolResult !== undefined) this.toolResult = toolResult
    if (inner.sound !== undefined) this.sound = sound
    if (inner.picture !== undefined) this.picture = picture
    if (inner.segment !== undefined) this.segment = segment
    if (inner.frame !== undefined) this.frame = frame
  }

  open(data: typeof OpenEvent.Type): string {
    return this.#inner.open(data)
  }

  delta(delta: Delta, json?: string): string {
    if (this.#isCarried || this.#isDenied) return ""
    const whole = this.#withWholeTexts(delta)
    if (whole === undefined) return this.#written()
    const text = textOf(delta)
    if (text === undefined || text === "") return this.#after({ kind: "delta", delta: whole, json, piece: undefined })
    const channel = this.#channels.of(delta)
    const piece = pieceOf(channel, text)
    // Most parts are clear at once: then nothing waits.
    if (this.#waiting.length === 0 && channel.isClear) return this.#inner.delta(delta, json)
    return this.#after({ kind: "delta", delta, json, piece })
  }

  warn(data: WarnEvent): string {
    return this.#inner.warn(data)
  }

  usage(data: Usage): string {
    return this.#inner.usage(data)
  }

  close(data: typeof CloseEvent.Type): string {
    return this.#inner.close(data)
  }

  error(data: ErrorBody): string {
    return this.#inner.error(data)
  }

  /** The events that may go on after an answer of an engine. */
  more(): string {
    return this.#written()
  }

  /** The reply has ended: the events that waited, without those that wait for engines. */
  rest(): string {
    this.#channels.end()
    return this.#written()
  }

  /** After the end: the events that waited for engines. */
  async answered(): Promise<string> {
    let text = ""
    for (const channel of this.#waitedFor()) {
      await channel.settled
      text += this.#written()
    }
    return text
  }

  #waitedFor(): ReadonlyArray<Channel> {
    const channels = this.#waiting.flatMap((waiting) =>
      waiting.kind === "frame" ? waiting.pieces.map(({ channel }) => channel) : (waiting.piece?.channel ?? []),
    )
    return [...new Set(channels)]
  }

  get #isDenied(): boolean {
    return this.#review.denial !== undefined
  }

  #frame(frame: VendorFrame, events: ReadonlyArray<VendorEvent>, place: number): string {
    this.#isCarried = true
    if (this.#isDenied) return ""
    const read = frame.envelope === undefined ? frameOf(frame.json) : undefined
    const leaves = read === undefined ? [] : [...leavesOf(read)]
    const pieces = this.#meant(events, place, leaves)
    if (read !== undefined) pieces.push(...this.#otherPieces(read, leaves, pieces.length > 0))
    const whole = leaves.filter((leaf) => !isStreamed(leaf))
    const reviewed = read === undefined ? frame : this.#withWhole(frame, whole, read)
    if (reviewed === undefined) return this.#written()
    if (this.#waiting.length === 0 && pieces.every(({ channel }) => channel.isClear)) {
      return this.#inner.frame?.(reviewed, events, place) ?? ""
    }
    return this.#after({ kind: "frame", frame: reviewed, pieces })
  }

  /** The texts of a frame that its meaning has. @param leaves of the frame, from which they are taken */
  #meant(events: ReadonlyArray<VendorEvent>, place: number, leaves: Array<Leaf>): Array<Piece> {
    const pieces: Array<Piece> = []
    for (let next = place + 1; next < events.length; next++) {
      const event = events[next]
      if (event === undefined || event.kind === "frame") break
      const text = event.kind === "delta" ? textOf(event.delta) : undefined
      if (event.kind !== "delta" || text === undefined || text === "") continue
      const at = leaves.findIndex((leaf) => leaf.text === text && !leaf.isName && !leaf.isNumber)
      const [leaf] = at === -1 ? [] : leaves.splice(at, 1)
      pieces.push(pieceOf(this.#channels.of(event.delta), text, leaf?.path))
    }
    return pieces
  }

  /** The other texts of a frame that may go on in the next one. */
  #otherPieces(read: JsonObject, leaves: ReadonlyArray<Leaf>, hasWords: boolean): ReadonlyArray<Piece> {
    const streamed = leaves.filter(isStreamed)
    if (streamed.length === 0) return []
    if (!hasWords) this.#channels.pauseWords()
    const place = placeOf(read)
    const named = streamed.map((leaf) => ({ name: nameOf(leaf, read, place), leaf }))
    const channels = this.#channels.others(new Map(named.map(({ name, leaf }) => [name, kindOf(leaf, place)])))
    return named.flatMap(({ name, leaf: { text, path } }) => {
      const channel = channels.get(name)
      return channel === undefined ? [] : [pieceOf(channel, text, path)]
    })
  }

  /** The frame with texts that are whole in it reviewed; undefined if one is denied. */
  #withWhole(frame: VendorFrame, leaves: ReadonlyArray<Leaf>, read: JsonObject): VendorFrame | undefined {
    const changed: Array<readonly [path: JsonPath, text: string]> = []
    for (const { path, text, isJson, ofCall, isOwn, isName } of leaves) {
      if (isOwn && !this.#review.restores) continue
      const part = isOwn ? "own" : ofCall ? "toolArguments" : "text"
      const made = this.#review.whole(text, part, isJson, repeats(read))
      if (made === undefined) return undefined
      if (made !== text && !isName) changed.push([path, made])
    }
    return changed.length === 0 ? frame : { ...frame, json: withTexts(frame.json, changed) }
  }

  /** A delta with the texts that are whole in it reviewed, a tool's name and a vendor's block; undefined if one is denied. */
  #withWholeTexts(delta: Delta): Delta | undefined {
    if (delta.t === "tool_call") {
      const { name } = delta
      return name === undefined || this.#review.whole(name, "toolArguments", false) !== undefined ? delta : undefined
    }
    if (delta.t !== "vendor") return delta
    const v = editJsonTexts(delta.v, (text, part, isJson) => this.#review.whole(text, part, isJson) ?? "")
    if (this.#isDenied) return undefined
    return v === delta.v ? delta : { ...delta, v }
  }

  /** The result of a call ends the texts before it. It has been reviewed in a call of its own. */
  #toolResult(delta: ToolResultDelta): string {
    if (this.#isDenied) return ""
    this.#channels.end()
    return this.#after({ kind: "result", delta, piece: undefined })
  }

  #segment(segment: Segment): string {
    if (this.#isDenied) return ""
    const text = this.#review.whole(segment.text, "text", false)
    return text === undefined ? "" : (this.#inner.segment?.({ ...segment, text }) ?? "")
  }

  #after(waiting: Waiting): string {
    this.#waiting.push(waiting)
    return this.#written()
  }

  /** The events that are clear, as they are written; parts of one text that follow one another are one event. */
  #written(): string {
    let text = ""
    let joined: Delta | undefined
    const flush = () => {
      if (joined !== undefined) text += this.#inner.delta(joined)
      joined = undefined
    }
    let count = 0
    for (let at = 0; at < this.#waiting.length; at++) {
      const first = this.#waiting[at]
      if (first === undefined) break
      const made = this.#made(first, at)
      if (made === undefined) break
      if (typeof made === "string") {
        flush()
        text += made
      } else if (joined !== undefined && isOnlyText(made) && isSameText(joined, made)) {
        joined = withText(joined, `${textOf(joined)}${textOf(made)}`)
      } else {
        flush()
        joined = made
      }
      // The rest of a part goes on waiting in its place.
      if (this.#waiting[at] !== first) break
      count++
    }
    flush()
    if (this.#isDenied) this.#waiting = []
    else if (count === this.#waiting.length) this.#waiting.length = 0
    else if (count > 0) this.#waiting.splice(0, count)
    return text
  }

  #made(waiting: Waiting, at: number): Delta | string | undefined {
    if (waiting.kind === "result") return this.#inner.toolResult?.(waiting.delta) ?? ""
    return waiting.kind === "frame" ? this.#madeFrame(waiting) : this.#madeDelta(waiting, at)
  }

  /**
   * A waiting part of a text, or the clear beginning of it; the rest goes on waiting. Text if it is written already; undefined
   * if nothing of it is clear.
   */
  #madeDelta(waiting: WaitingDelta, place: number): Delta | string | undefined {
    const { delta, json, piece } = waiting
    if (piece === undefined) return this.#inner.delta(delta, json)
    const { channel, at, text } = piece
    const end = at + text.length
    if (channel.clearTo >= end) {
      const made = channel.written(text, at)
      if (made === "" && isOnlyText(delta)) return ""
      if (isOnlyText(delta)) return withText(delta, made)
      return this.#inner.delta(made === text ? delta : withText(delta, made, true), made === text ? json : undefined)
    }
    const clear = wholeAt(text, channel.clearTo - at)
    if (clear <= 0 || !isOnlyText(delta)) return undefined
    const rest = text.slice(clear)
    this.#waiting[place] = {
      kind: "delta",
      delta: withText(delta, rest),
      json: undefined,
      piece: { channel, at: at + clear, text: rest },
    }
    const made = channel.written(text.slice(0, clear), at)
    return made === "" ? "" : withText(delta, made)
  }

  #madeFrame({ frame, pieces }: Extract<Waiting, { readonly kind: "frame" }>): string | undefined {
    if (pieces.some(({ channel, at, text }) => channel.clearTo < at + text.length)) return undefined
    const changed = pieces.flatMap(({ channel, at, text, path = [] }) => {
      const made = channel.written(text, at)
      return made === text ? [] : [[path, made] as const]
    })
    return this.#inner.frame?.(changed.length === 0 ? frame : frameWith(frame, changed), [], 0)
  }
}
