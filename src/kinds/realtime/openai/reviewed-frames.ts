/**
 * The vendor's events of a session under policies: transcripts, text and arguments go on when no match can begin in them any
 * more. Sound is not held: it overtakes its transcript, as it does at vendors. A denied response is cancelled, and its later
 * events have no text.
 */
import { type JsonObject, objectAt, parseObject, stringAt } from "../../../dialects/parse/json.ts"
import { Channel } from "../../../policies/reply/channel.ts"
import { leavesOf, withTexts } from "../../../policies/reply/frame-texts.ts"
import type { ReplyReview } from "../../../policies/reply/reply-review.ts"
import type { Denial } from "../../../policies/review.ts"
import type { JsonPath } from "../../../protocol/json/json-edit.ts"
import type { ReviewedMessages, ReviewOf } from "../protocol.ts"

/** Events with parts of a text, and the member that has them. */
const textDelta =
  /^response\.(?:output_text|text|output_audio_transcript|audio_transcript|function_call_arguments)\.delta$/
/** Events that have texts of the model as a whole. */
const wholeTexts = /^(?:response\.|conversation\.item\.)/
const sound = /^\{\s*"type"\s*:\s*"response\.(?:output_)?audio\.delta"/

interface Waiting {
  readonly bytes: Buffer | string
  readonly text: string
  readonly channel: Channel | undefined
  readonly at: number
}

/** Part of each event with a transcript of the client's speech. */
const ofSpeech = "conversation.item.input_audio_transcription."

export class ReviewedFrames implements ReviewedMessages {
  readonly #to: ReviewOf
  /** The review of each response that has text. */
  readonly #reviews = new Map<string, ReplyReview>()
  readonly #channels = new Map<string, Channel>()
  #waiting: Array<Waiting> = []
  turns = 0

  constructor(to: ReviewOf) {
    this.#to = to
  }

  /** An event of the vendor; those that are clear are sent. */
  take(bytes: Buffer): void {
    if (sound.test(bytes.toString("latin1", 0, 96))) {
      this.#to.send(bytes)
      return
    }
    const event = parseObject(bytes.toString("utf8"))
    const type = stringAt(event, "type")
    if (event === undefined || type === undefined || !wholeTexts.test(type) || type.startsWith(ofSpeech))
      this.#push(bytes)
    else if (textDelta.test(type)) this.#delta(type, event, bytes)
    else this.#whole(type, event, bytes)
    this.#flush()
  }

  /** The later events of the responses that run have no text, and they are cancelled. */
  denySpeech(denial: Denial): void {
    for (const [responseId, review] of this.#reviews) {
      if (responseId === "" || review.denial !== undefined) continue
      review.refuse(denial)
      this.#deny(responseId)
    }
  }

  #delta(type: string, event: JsonObject, bytes: Buffer): void {
    const responseId = stringAt(event, "response_id") ?? ""
    const review = this.#reviewOf(responseId)
    if (review.denial !== undefined) return
    const name = channelName(type, event)
    const isArguments = type.includes("arguments")
    const channel =
      this.#channels.get(name) ??
      new Channel(review, { part: isArguments ? "toolArguments" : "text", isJson: isArguments })
    this.#channels.set(name, channel)
    const text = stringAt(event, "delta") ?? ""
    const at = channel.length
    channel.push(text)
    this.#push(bytes, text, channel, at)
    if (review.denial !== undefined) this.#deny(responseId)
  }

  #whole(type: string, event: JsonObject, bytes: Buffer): void {
    const responseId = stringAt(event, "response_id") ?? stringAt(objectAt(event, "response"), "id") ?? ""
    if (type.endsWith(".done")) this.#close(type === "response.done" ? undefined : channelName(type, event))
    const review = this.#reviewOf(responseId)
    const wasDenied = review.denial !== undefined
    const changed: Array<readonly [path: JsonPath, text: string]> = []
    for (const { path, text, isJson, ofCall, isName } of leavesOf(event)) {
      const made = wasDenied ? undefined : review.whole(text, ofCall ? "toolArguments" : "text", isJson)
      if (made !== text && !isName) changed.push([path, made ?? ""])
    }
    this.#push(changed.length === 0 ? bytes : withTexts(bytes.toString("utf8"), changed))
    if (!wasDenied && review.denial !== undefined) this.#deny(responseId)
    if (type !== "response.done") return
    this.#to.found(review.hits)
    this.turns++
    this.#reviews.delete(responseId)
  }

  #reviewOf(responseId: string): ReplyReview {
    const known = this.#reviews.get(responseId)
    if (known !== undefined) return known
    const made = this.#to.review()
    this.#reviews.set(responseId, made)
    return made
  }

  /** The text of a channel has ended; of all of them if it is undefined. */
  #close(name: string | undefined): void {
    for (const [each, channel] of name === undefined ? this.#channels : [[name, this.#channels.get(name)] as const]) {
      channel?.end()
      this.#channels.delete(each)
    }
  }

  #deny(responseId: string): void {
    this.#flush()
    this.#waiting = this.#waiting.filter(({ channel }) => channel === undefined)
    this.#to.denied(responseId)
  }

  #push(bytes: Buffer | string, text = "", channel?: Channel, at = 0): void {
    this.#waiting.push({ bytes, text, channel, at })
  }

  #flush(): void {
    while (this.#waiting.length > 0) {
      const [first] = this.#waiting
      if (first === undefined) break
      const { bytes, text, channel, at } = first
      if (channel !== undefined && channel.clearTo < at + text.length) break
      this.#waiting.shift()
      const made = channel?.written(text, at) ?? text
      this.#to.send(made === text ? bytes : withTexts(bytes.toString("utf8"), [[["delta"], made]]))
    }
  }
}

/** The parts of one text have these in common, and so has its end. */
const channelName = (type: string, event: JsonObject): string =>
  [
    type.replace(/\.(delta|done)$/, ""),
    ...["response_id", "item_id", "output_index", "content_index"].map((name) => String(event[name] ?? "")),
  ].join(" ")
