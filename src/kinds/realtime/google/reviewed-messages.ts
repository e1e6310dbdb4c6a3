/**
 * The vendor's messages of a session with Google's Live API under policies: transcripts and text go on when no match can begin
 * in them any more. Sound is not held: it overtakes its transcript, as it does at the vendor. In a turn that is denied, the
 * client gets no more content, sound included, and is asked to drop the rest of the sound.
 */

import { isVendorSound } from "../../../dialects/gemini-live/vendor-reader.ts"
import { isObject, type JsonObject, objectAt, objectsAt, parseObject } from "../../../dialects/parse/json.ts"
import { Channel } from "../../../policies/reply/channel.ts"
import { type Leaf, leavesOf, withTexts } from "../../../policies/reply/frame-texts.ts"
import type { ReplyReview } from "../../../policies/reply/reply-review.ts"
import type { Denial } from "../../../policies/review.ts"
import type { JsonPath } from "../../../protocol/json/json-edit.ts"
import type { ReviewedMessages, ReviewOf } from "../protocol.ts"
import { deniedInput, deniedReply } from "./own-messages.ts"

/** A part of a text in a message. */
interface Piece {
  readonly path: JsonPath
  readonly text: string
  readonly channel: Channel
  readonly at: number
}

interface Waiting {
  readonly message: Buffer | string
  readonly pieces: ReadonlyArray<Piece>
}

export class LiveReview implements ReviewedMessages {
  readonly #to: ReviewOf
  #review: ReplyReview
  /** The texts of the turn, by their names. */
  readonly #channels = new Map<string, Channel>()
  #waiting: Array<Waiting> = []
  /** The reason with which a denied turn ends; undefined while it is not denied. */
  #reason: string | undefined
  /** Whether the turn has content of the model. */
  #hasContent = false
  turns = 0

  constructor(to: ReviewOf) {
    this.#to = to
    this.#review = to.review()
  }

  take(bytes: Buffer): void {
    if (isVendorSound(bytes)) {
      this.#hasContent = true
      if (this.#reason === undefined) this.#to.send(bytes)
      return
    }
    const message = parseObject(bytes.toString("utf8"))
    if (message === undefined) return
    const content = objectAt(message, "serverContent")
    if (isContent(content) || "toolCall" in message) this.#hasContent = true
    if (this.#reason !== undefined) this.#withoutContent(message, content)
    else this.#read(bytes, message, content)
    this.#flush()
    if (content?.["turnComplete"] === true) this.#nextTurn()
  }

  denySpeech(denial: Denial, turn: number): void {
    if (turn !== this.turns || this.#reason !== undefined) return
    this.#review.refuse(denial)
    this.#deny(deniedInput)
  }

  #read(bytes: Buffer, message: JsonObject, content: JsonObject | undefined): void {
    const isEnd = content !== undefined && endings.some((name) => content[name] === true)
    const pieces: Array<Piece> = []
    const changed: Array<readonly [path: JsonPath, text: string]> = []
    for (const leaf of leavesOf(message)) {
      if (leaf.path.includes("usageMetadata") || isOwnSpeech(leaf)) continue
      const name = streamOf(leaf, content)
      if (name === undefined) {
        const { text, ofCall, isJson, isName, path } = leaf
        const made = this.#review.whole(text, ofCall ? "toolArguments" : "text", isJson)
        if (made !== text && !isName) changed.push([path, made ?? ""])
      } else pieces.push(this.#piece(name, leaf))
      if (this.#review.denial !== undefined) break
    }
    if (this.#review.denial !== undefined) {
      this.#deny(deniedReply)
      this.#withoutContent(message, content)
      return
    }
    if (isEnd) for (const channel of this.#channels.values()) channel.end()
    const text = changed.length === 0 ? bytes : withTexts(bytes.toString("utf8"), changed)
    this.#waiting.push({ message: text, pieces })
    // The end of a text may complete a match.
    if (isEnd && this.#review.denial !== undefined) this.#deny(deniedReply)
  }

  #piece(name: string, { path, text }: Leaf): Piece {
    const channel = this.#channels.get(name) ?? new Channel(this.#review, { part: "text", isJson: false })
    this.#channels.set(name, channel)
    const at = channel.length
    channel.push(text)
    return { path, text, channel, at }
  }

  /** Messages that wait lose their content, and the response is ended. */
  #deny(reason: string): void {
    this.#reason = reason
    this.#flush()
    const waiting = this.#waiting
    this.#waiting = []
    if (this.#hasContent) this.#to.send(JSON.stringify({ serverContent: { interrupted: true } }))
    for (const each of waiting) {
      const message = parseObject(each.message.toString("utf8"))
      if (message !== undefined) this.#withoutContent(message, objectAt(message, "serverContent"))
    }
    this.#to.denied("")
  }

  /** Sends a message of a denied turn without the model's content. */
  #withoutContent(message: JsonObject, content: JsonObject | undefined): void {
    const { toolCall: _toolCall, serverContent: _content, ...others } = message
    const kept = content && Object.fromEntries(Object.entries(content).filter(([name]) => withoutText.has(name)))
    const isEnd = kept?.["turnComplete"] === true
    const left = {
      ...(kept !== undefined &&
        Object.keys(kept).length > 0 && {
          serverContent: isEnd ? { ...kept, turnCompleteReason: this.#reason } : kept,
        }),
      ...others,
    }
    if (Object.keys(left).length > 0) this.#to.send(JSON.stringify(left))
  }

  #nextTurn(): void {
    this.#to.found(this.#review.hits)
    this.#review = this.#to.review()
    this.#channels.clear()
    this.#reason = undefined
    this.#hasContent = false
    this.turns++
  }

  #flush(): void {
    for (let first = this.#waiting[0]; first !== undefined; first = this.#waiting[0]) {
      const { message, pieces } = first
      if (pieces.some(({ channel, at, text }) => channel.clearTo < at + text.length)) break
      this.#waiting.shift()
      const changed = pieces.flatMap(({ path, text, channel, at }): Array<readonly [JsonPath, string]> => {
        const made = channel.written(text, at)
        return made === text ? [] : [[path, made]]
      })
      this.#to.send(changed.length === 0 ? message : withTexts(message.toString("utf8"), changed))
    }
  }
}

/** Members that end the texts of a turn. */
const endings = ["generationComplete", "turnComplete", "interrupted"]

/** Members of a turn that hold no text of the model. */
const withoutText: ReadonlySet<string> = new Set([
  ...endings,
  "inputTranscription",
  "interimInputTranscription",
  "waitingForInput",
  "interactionStatus",
])

const isContent = (content: JsonObject | undefined): boolean =>
  content !== undefined && ("modelTurn" in content || "outputTranscription" in content)

/** The client's own words go on as they are. */
const isOwnSpeech = ({ path }: Leaf): boolean =>
  path[1] === "inputTranscription" || path[1] === "interimInputTranscription"

/** The text of which a leaf is the next part; undefined if it is whole. */
const streamOf = ({ path }: Leaf, content: JsonObject | undefined): string | undefined => {
  const [root, member, list, at, last] = path
  if (root !== "serverContent") return undefined
  if (member === "outputTranscription") return list === "text" ? "transcript" : undefined
  if (member !== "modelTurn" || list !== "parts" || last !== "text" || path.length !== 5) return undefined
  const part = typeof at === "number" ? objectsAt(objectAt(content, "modelTurn"), "parts")[at] : undefined
  return isObject(part) && part["thought"] === true ? "thought" : "text"
}
