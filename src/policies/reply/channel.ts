/** One text of a streamed reply under review: the words of a reply, its reasoning, or the arguments of one call. */
import type { ReviewedPart } from "../../protocol/catalogue/policy.ts"
import { type Found, TextWindow } from "../text/window.ts"
import type { EngineGate } from "./engine-gate.ts"
import { type ReplyReview, type TextEdit, withEdits } from "./reply-review.ts"
import type { PartRules } from "./reply-rules.ts"

export interface ChannelKind {
  readonly part: ReviewedPart
  /** Whether its text is JSON. */
  readonly isJson: boolean
}

export class Channel {
  readonly #review: ReplyReview
  readonly #rules: PartRules
  readonly #window: TextWindow
  readonly #isJson: boolean
  /** Undefined if no engine is asked. */
  readonly #gate: EngineGate | undefined
  /** The end of the text that was written before this channel. */
  readonly #writtenTo: number
  /** Edits in their order, of which the first ones are done. */
  readonly #edits: Array<TextEdit> = []
  #done = 0
  #maskedTo: number
  /** The end of the text so far. */
  length: number
  /** The end of the text that the rules let go on. */
  #ruled = 0

  /** @param before the end of the same text, which was written when other text came; a match may begin in it */
  constructor(review: ReplyReview, { part, isJson }: ChannelKind, before = "") {
    this.#review = review
    this.#isJson = isJson
    this.#rules = review.rulesOf(part)
    this.#window = new TextWindow(this.#rules.set, isJson)
    this.#gate = review.gate(part, before.length)
    this.#writtenTo = before.length
    this.#maskedTo = before.length
    this.length = before.length
    if (before === "") return
    this.#window.push(before)
    this.#take()
  }

  /** The end of the text that may go on. */
  get clearTo(): number {
    return this.#gate === undefined ? this.#ruled : Math.min(this.#ruled, this.#gate.clearTo)
  }

  /** Whether all of its text may go on as it is. */
  get isClear(): boolean {
    return this.clearTo === this.length && this.#done === this.#edits.length
  }

  /** Waits for the engines, after the end of its text. */
  get settled(): Promise<void> | undefined {
    return this.#gate?.settled
  }

  push(text: string): void {
    this.length += text.length
    this.#window.push(text)
    this.#take()
    if (this.#review.denial === undefined) this.#gate?.push(text)
  }

  /** Its text has ended. */
  end(): void {
    this.#gate?.end()
    if (this.#ruled === this.length) return
    this.#window.end()
    this.#take()
  }

  /** Other text comes: nothing waits any more. @returns the text that was not clear */
  pause(): string {
    const waiting = this.#window.after(this.#ruled)
    this.end()
    return waiting
  }

  #take(): void {
    const { clearTo, found } = this.#window
    if (this.#review.denial !== undefined) return
    const fresh = this.#writtenTo === 0 ? found : found.filter((match) => this.#isFresh(match))
    if (fresh.length === 0) {
      this.#ruled = clearTo
      return
    }
    const { edits, deniedAt } = this.#review.decide(fresh, this.#rules, this.#isJson, this.#maskedTo)
    for (const edit of edits) this.#edits.push(edit)
    this.#maskedTo = this.#edits.at(-1)?.end ?? this.#maskedTo
    this.#ruled = deniedAt ?? clearTo
  }

  /** Whether a match is not all in the text that was written before; a mark that begins there cannot be put back. */
  #isFresh({ start, end, rule }: Found): boolean {
    return end > this.#writtenTo && (start >= this.#writtenTo || this.#rules.policies[rule] !== undefined)
  }

  /** The clear text of a part with its edits. @param at the offset of the part */
  written(text: string, at: number): string {
    if (this.#done === this.#edits.length) return text
    const made = withEdits(text, at, this.#edits, this.#done)
    while ((this.#edits[this.#done]?.end ?? Number.POSITIVE_INFINITY) <= at + text.length) this.#done++
    return made
  }
}
