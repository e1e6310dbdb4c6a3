/**
 * The channels of a stream: one for the words of each reply, one for its reasoning, one for each call, and one for each text of
 * a vendor's frames that has no other meaning. Text that comes between does not hide a match: words go on where they were.
 */
import type { Delta } from "../../protocol/event.ts"
import { Channel, type ChannelKind } from "./channel.ts"
import type { ReplyReview } from "./reply-review.ts"

const words: ChannelKind = { part: "text", isJson: false }

export class Channels {
  readonly #review: ReplyReview
  /** The words or the reasoning of each reply, of which more may come. */
  readonly #spoken = new Map<number, { readonly name: string; readonly channel: Channel }>()
  /** Calls may come at the same time, each in parts. */
  readonly #calls = new Map<string, Channel>()
  /** Other texts of the last frame that had some. */
  #others = new Map<string, Channel>()
  /** The end of each text that was written because other text came. */
  readonly #paused = new Map<string, string>()

  constructor(review: ReplyReview) {
    this.#review = review
  }

  /** The channel of a delta's text. */
  of(delta: Delta): Channel {
    const { reply = 0 } = delta
    return delta.t === "tool_call" ? this.#call(delta, reply) : this.#words(delta.t, reply)
  }

  /** The channels of the other texts of a frame, by their names; those of frames before it are paused. */
  others(kinds: ReadonlyMap<string, ChannelKind>): ReadonlyMap<string, Channel> {
    for (const [name, channel] of this.#others) if (!kinds.has(name)) this.#pause(name, channel)
    this.#others = new Map([...kinds].map(([name, kind]) => [name, this.#others.get(name) ?? this.#made(name, kind)]))
    return this.#others
  }

  /** Text of another kind comes: the words wait no more. */
  pauseWords(reply?: number): void {
    for (const [each, { name, channel }] of this.#spoken) {
      if (reply !== undefined && each !== reply) continue
      this.#pause(`${each} ${name}`, channel)
      this.#spoken.delete(each)
    }
  }

  /** The reply has ended. */
  end(): void {
    for (const { channel } of this.#spoken.values()) channel.end()
    for (const channel of [...this.#calls.values(), ...this.#others.values()]) channel.end()
    this.#spoken.clear()
    this.#calls.clear()
    this.#others.clear()
  }

  #words(name: string, reply: number): Channel {
    const known = this.#spoken.get(reply)
    if (known?.name === name) return known.channel
    this.pauseWords(reply)
    const channel = this.#made(`${reply} ${name}`, words)
    this.#spoken.set(reply, { name, channel })
    return channel
  }

  #call({ i, text }: Extract<Delta, { readonly t: "tool_call" }>, reply: number): Channel {
    this.pauseWords(reply)
    const name = `${reply} ${i}`
    const known = this.#calls.get(name)
    if (known !== undefined) return known
    const channel = new Channel(this.#review, { part: "toolArguments", isJson: text === undefined })
    this.#calls.set(name, channel)
    return channel
  }

  #made(name: string, kind: ChannelKind): Channel {
    const channel = new Channel(this.#review, kind, this.#paused.get(name))
    this.#paused.delete(name)
    return channel
  }

  #pause(name: string, channel: Channel): void {
    const waiting = channel.pause()
    if (waiting !== "") this.#paused.set(name, waiting)
  }
}
